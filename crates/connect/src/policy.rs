//! What the operator allows outgoing requests to reach.

use std::net::{IpAddr, SocketAddr};

use crate::address;

/// Ports from 1024 on where something other than a web server is likely to listen.
const CLOSED_PORTS: [u16; 80] = [
    1080, 1099, 1433, 1434, 1521, 1719, 1720, 1723, 1883, 2049, 2181, 2375, 2376, 2379, 2380, 2483,
    2484, 3128, 3268, 3269, 3306, 3389, 3659, 4045, 4190, 4222, 4369, 5060, 5061, 5432, 5433, 5671,
    5672, 5900, 5901, 5984, 5985, 5986, 6000, 6379, 6380, 6432, 6443, 6566, 6665, 6666, 6667, 6668,
    6669, 6679, 6697, 7000, 7001, 7199, 7474, 7687, 8086, 8125, 8200, 8300, 8500, 8600, 9042, 9092,
    9160, 9200, 9300, 10080, 10250, 10255, 11211, 15672, 25672, 26257, 26379, 27017, 27018, 27019,
    50000, 61616,
];

/// Names, and all names below them, that mean something else on every network.
const LOCAL_NAMES: [&str; 19] = [
    "alt",
    "consul",
    "corp",
    "home",
    "home.arpa",
    "in-addr.arpa",
    "internal",
    "intranet",
    "invalid",
    "ip6.arpa",
    "lan",
    "local",
    "localdomain",
    "localhost",
    "metadata.goog",
    "onion",
    "private",
    "svc",
    "test",
];

/// The operator's rules for outgoing requests; the default is the strictest.
#[derive(Debug, Clone, Default)]
pub struct Policy {
    /// Also plain `http`, on port 80 and from 1024 on.
    pub allow_http: bool,
    /// Also `http`, bare addresses, every port and private networks: for tests and private
    /// installations, where everyone who may name an address is trusted with the network.
    pub allow_private: bool,
    /// Hosts that are this service itself, as `host` or `host:port`: a request there would be a
    /// loop. Never reachable, whatever else is allowed.
    pub own_hosts: Vec<String>,
    /// Where this service listens: the same loop, under whatever name or notation.
    pub own_sockets: Vec<SocketAddr>,
    /// Public addresses of this service and its database, closed as if they were private.
    pub own_addresses: Vec<IpAddr>,
}

impl Policy {
    /// True when a connection to this address may be made.
    pub fn admits_address(&self, ip: IpAddr) -> bool {
        let ip = ip.to_canonical();
        let own = || self.own_addresses.iter().any(|own| own.to_canonical() == ip);
        self.allow_private || (address::is_public(ip) && !own())
    }

    /// True when a connection there would reach this service itself.
    pub(crate) fn is_own_socket(&self, ip: IpAddr, port: u16) -> bool {
        let ip = ip.to_canonical();
        self.own_sockets.iter().any(|own| {
            let own_ip = own.ip().to_canonical();
            // The address of nobody in particular leads to this machine, like loopback.
            let is_loopback = |ip: IpAddr| ip.is_loopback() || ip.is_unspecified();
            let leads_here = match own_ip {
                own_ip if own_ip.is_unspecified() => {
                    is_loopback(ip) || address::is_of_this_machine(ip)
                }
                own_ip if own_ip.is_loopback() => is_loopback(ip),
                own_ip => own_ip == ip,
            };
            own.port() == port && leads_here
        })
    }

    pub(crate) fn admits_scheme(&self, scheme: &str) -> bool {
        match scheme {
            "https" => true,
            "http" => self.allow_http || self.allow_private,
            _ => false,
        }
    }

    pub(crate) fn admits_port(&self, port: u16) -> bool {
        match port {
            0 => false,
            _ if self.allow_private => true,
            443 => true,
            80 => self.allow_http,
            _ => port >= 1024 && CLOSED_PORTS.binary_search(&port).is_err(),
        }
    }

    /// True for a name of the public DNS; `name` is in lower case, without a dot at the end.
    pub(crate) fn admits_name(&self, name: &str) -> bool {
        // A name of one label is completed by the search list of this machine: a local name.
        self.allow_private
            || (name.contains('.') && !LOCAL_NAMES.iter().any(|local| is_within(name, local)))
    }

    /// True when the host, as the URL standard writes it, is this service.
    pub(crate) fn is_own_host(&self, host: &str, port: u16) -> bool {
        let with_port = format!("{host}:{port}");
        self.own_hosts.iter().any(|own| {
            let own = own.trim_end_matches('.');
            own.eq_ignore_ascii_case(host) || own.eq_ignore_ascii_case(&with_port)
        })
    }
}

fn is_within(name: &str, parent: &str) -> bool {
    name.strip_suffix(parent).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_port_table_is_sorted_for_the_search() {
        assert!(CLOSED_PORTS.is_sorted());
    }

    #[test]
    fn ports_open_only_where_web_servers_listen() {
        let strict = Policy::default();
        for port in [0, 1, 22, 25, 80, 442, 444, 1023, 2049, 3306, 5432, 6379, 9200, 11211, 27017] {
            assert!(!strict.admits_port(port), "{port}");
        }
        for port in [443, 1024, 3000, 8080, 8443, 65535] {
            assert!(strict.admits_port(port), "{port}");
        }
        assert!(Policy { allow_http: true, ..Policy::default() }.admits_port(80));
    }

    #[test]
    fn the_service_is_recognised_by_where_it_listens() {
        let listening = |own: &str| Policy {
            own_sockets: vec![own.parse().expect("a socket address")],
            allow_private: true,
            ..Policy::default()
        };
        let leads = |own: &str, ip: &str, port: u16| {
            listening(own).is_own_socket(ip.parse().expect("an address"), port)
        };

        for own in ["127.0.0.1:8080", "0.0.0.0:8080", "[::]:8080", "[::1]:8080"] {
            for ip in ["127.0.0.1", "127.9.9.9", "::1", "::ffff:127.0.0.1", "0.0.0.0", "::"] {
                assert!(leads(own, ip, 8080), "{own} {ip}");
                assert!(!leads(own, ip, 8081), "{own} {ip}");
            }
            // A documentation address, so no machine has it.
            assert!(!leads(own, "192.0.2.1", 8080), "{own}");
        }
        assert!(leads("192.0.2.1:8080", "::ffff:192.0.2.1", 8080));
        assert!(!leads("192.0.2.1:8080", "127.0.0.1", 8080));
    }

    #[test]
    fn own_addresses_are_closed_in_every_notation() {
        let own_addresses = vec!["93.184.216.34".parse().expect("an address")];
        let policy = Policy { own_addresses, ..Policy::default() };

        for text in ["93.184.216.34", "::ffff:93.184.216.34", "127.0.0.1"] {
            assert!(!policy.admits_address(text.parse().expect("an address")), "{text}");
        }
        assert!(policy.admits_address("93.184.216.35".parse().expect("an address")));
    }
}

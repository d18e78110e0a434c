//! Which network addresses belong to the public internet.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, UdpSocket};

/// IPv4 networks that are not the public internet, with their prefix lengths.
const CLOSED_V4: [(Ipv4Addr, u32); 16] = [
    (Ipv4Addr::new(0, 0, 0, 0), 8),
    (Ipv4Addr::new(10, 0, 0, 0), 8),
    (Ipv4Addr::new(100, 64, 0, 0), 10),
    (Ipv4Addr::new(127, 0, 0, 0), 8),
    // Azure's metadata and agent host: a public number, answered inside every machine there.
    (Ipv4Addr::new(168, 63, 129, 16), 32),
    (Ipv4Addr::new(169, 254, 0, 0), 16),
    (Ipv4Addr::new(172, 16, 0, 0), 12),
    (Ipv4Addr::new(192, 0, 0, 0), 24),
    (Ipv4Addr::new(192, 0, 2, 0), 24),
    (Ipv4Addr::new(192, 88, 99, 0), 24),
    (Ipv4Addr::new(192, 168, 0, 0), 16),
    (Ipv4Addr::new(198, 18, 0, 0), 15),
    (Ipv4Addr::new(198, 51, 100, 0), 24),
    (Ipv4Addr::new(203, 0, 113, 0), 24),
    // Multicast.
    (Ipv4Addr::new(224, 0, 0, 0), 4),
    // Reserved, the broadcast address included.
    (Ipv4Addr::new(240, 0, 0, 0), 4),
];

/// The only IPv6 space handed out for the public internet.
///
/// Outside of it lie loopback, v4-compatible `::/96`, NAT64 `64:ff9b::/96` and `64:ff9b:1::/48`,
/// discard `100::/64`, segment routing `5f00::/16`, unique local `fc00::/7`, link-local
/// `fe80::/10`, site-local `fec0::/10`, multicast `ff00::/8`, and space nobody owns, which
/// overlay networks like to borrow.
const GLOBAL_UNICAST: (Ipv6Addr, u32) = (Ipv6Addr::new(0x2000, 0, 0, 0, 0, 0, 0, 0), 3);

/// Networks inside [`GLOBAL_UNICAST`] that are not the public internet.
const CLOSED_V6: [(Ipv6Addr, u32); 4] = [
    // Protocol assignments: Teredo 2001::/32, benchmarking, ORCHID 2001:10::/28 and 2001:20::/28.
    (Ipv6Addr::new(0x2001, 0, 0, 0, 0, 0, 0, 0), 23),
    // Documentation.
    (Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 0), 32),
    // 6to4: carries any IPv4 address inside.
    (Ipv6Addr::new(0x2002, 0, 0, 0, 0, 0, 0, 0), 16),
    // Documentation, the larger block.
    (Ipv6Addr::new(0x3fff, 0, 0, 0, 0, 0, 0, 0), 20),
];

/// True when the address can only be a host on the public internet.
///
/// A v4-mapped address is judged by the IPv4 address inside.
pub fn is_public(ip: IpAddr) -> bool {
    match ip.to_canonical() {
        IpAddr::V4(ip) => !CLOSED_V4.into_iter().any(|network| holds_v4(network, ip)),
        IpAddr::V6(ip) => {
            holds_v6(GLOBAL_UNICAST, ip)
                && !CLOSED_V6.into_iter().any(|network| holds_v6(network, ip))
        }
    }
}

/// True when one of this machine's own interfaces has the address.
///
/// Only such an address can be bound to; nothing is sent.
pub(crate) fn is_of_this_machine(ip: IpAddr) -> bool {
    UdpSocket::bind((ip, 0)).is_ok()
}

fn holds_v4((network, prefix): (Ipv4Addr, u32), ip: Ipv4Addr) -> bool {
    (network.to_bits() ^ ip.to_bits()) >> (Ipv4Addr::BITS - prefix) == 0
}

fn holds_v6((network, prefix): (Ipv6Addr, u32), ip: Ipv6Addr) -> bool {
    (network.to_bits() ^ ip.to_bits()) >> (Ipv6Addr::BITS - prefix) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    /// First and last address of a closed range, then the public neighbours where there are any.
    type Row = (&'static str, &'static str, &'static [&'static str]);

    const V4: &[Row] = &[
        ("0.0.0.0", "0.255.255.255", &["1.0.0.0"]),
        ("10.0.0.0", "10.255.255.255", &["9.255.255.255", "11.0.0.0"]),
        ("100.64.0.0", "100.127.255.255", &["100.63.255.255", "100.128.0.0"]),
        ("127.0.0.0", "127.255.255.255", &["126.255.255.255", "128.0.0.0"]),
        ("168.63.129.16", "168.63.129.16", &["168.63.129.15", "168.63.129.17"]),
        ("169.254.0.0", "169.254.255.255", &["169.253.255.255", "169.255.0.0"]),
        ("172.16.0.0", "172.31.255.255", &["172.15.255.255", "172.32.0.0"]),
        ("192.0.0.0", "192.0.0.255", &["191.255.255.255", "192.0.1.0"]),
        ("192.0.2.0", "192.0.2.255", &["192.0.1.255", "192.0.3.0"]),
        ("192.88.99.0", "192.88.99.255", &["192.88.98.255", "192.88.100.0"]),
        ("192.168.0.0", "192.168.255.255", &["192.167.255.255", "192.169.0.0"]),
        ("198.18.0.0", "198.19.255.255", &["198.17.255.255", "198.20.0.0"]),
        ("198.51.100.0", "198.51.100.255", &["198.51.99.255", "198.51.101.0"]),
        ("203.0.113.0", "203.0.113.255", &["203.0.112.255", "203.0.114.0"]),
        ("224.0.0.0", "239.255.255.255", &["223.255.255.255"]),
        ("240.0.0.0", "255.255.255.255", &[]),
    ];

    const V6: &[Row] = &[
        ("::", "::1", &[]),
        ("::", "::ffff:ffff", &[]),
        ("::127.0.0.1", "::8.8.8.8", &[]),
        ("64:ff9b::", "64:ff9b::ffff:ffff", &[]),
        ("64:ff9b:1::", "64:ff9b:1:ffff:ffff:ffff:ffff:ffff", &[]),
        ("100::", "100::ffff:ffff:ffff:ffff", &[]),
        ("200::", "1fff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", &["2000::"]),
        ("2001::", "2001:0:ffff:ffff:ffff:ffff:ffff:ffff", &["2000:ffff::"]),
        ("2001:10::", "2001:1f:ffff:ffff:ffff:ffff:ffff:ffff", &[]),
        ("2001:20::", "2001:2f:ffff:ffff:ffff:ffff:ffff:ffff", &[]),
        ("2001::", "2001:1ff:ffff:ffff:ffff:ffff:ffff:ffff", &["2001:200::"]),
        (
            "2001:db8::",
            "2001:db8:ffff:ffff:ffff:ffff:ffff:ffff",
            &["2001:db7:ffff::", "2001:db9::"],
        ),
        ("2002::", "2002:ffff:ffff:ffff:ffff:ffff:ffff:ffff", &["2001:ffff::", "2003::"]),
        ("3fff::", "3fff:fff:ffff:ffff:ffff:ffff:ffff:ffff", &["3ffe:ffff::", "3fff:1000::"]),
        ("4000::", "5eff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", &["3fff:ffff::"]),
        ("5f00::", "5f00:ffff:ffff:ffff:ffff:ffff:ffff:ffff", &[]),
        ("fc00::", "fdff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", &[]),
        ("fd00:ec2::254", "fd20:ce::254", &[]),
        ("fe80::", "febf:ffff:ffff:ffff:ffff:ffff:ffff:ffff", &[]),
        ("fec0::", "feff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", &[]),
        ("ff00::", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", &[]),
    ];

    fn public(text: &str) -> bool {
        is_public(text.parse().expect("an address"))
    }

    #[test]
    fn every_closed_range_is_closed_to_its_edges_and_no_further() {
        for (first, last, neighbours) in V4.iter().chain(V6) {
            assert!(!public(first), "{first}");
            assert!(!public(last), "{last}");
            for neighbour in *neighbours {
                assert!(public(neighbour), "{neighbour}");
            }
        }
    }

    #[test]
    fn a_mapped_address_is_judged_by_the_one_inside() {
        for (first, last, neighbours) in V4 {
            assert!(!public(&format!("::ffff:{first}")), "{first}");
            assert!(!public(&format!("::ffff:{last}")), "{last}");
            for neighbour in *neighbours {
                assert!(public(&format!("::ffff:{neighbour}")), "{neighbour}");
            }
        }
    }

    #[test]
    fn well_known_public_hosts_are_public() {
        for text in ["1.1.1.1", "8.8.8.8", "93.184.216.34", "2606:4700::1111", "2a00:1450::1"] {
            assert!(public(text), "{text}");
        }
    }
}

//! A URL given by a user, judged before anything is looked up.

use url::{Host, Url};

use crate::policy::Policy;

/// Longest URL accepted, given or redirected to; signed links reach a few thousand characters.
const MAX_LENGTH: usize = 8192;

/// Why a URL is not fetched. Each sentence is meant for the person who gave the URL.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    #[error("This is not a valid web address.")]
    Malformed,
    #[error("The web address is too long.")]
    TooLong,
    #[error("The web address contains a control character or a backslash.")]
    Characters,
    #[error("The web address must begin with https://.")]
    Scheme,
    #[error("The web address must not contain a user name or a password.")]
    Credentials,
    #[error("The web address must name its host; a bare IP address is not allowed.")]
    BareAddress,
    #[error("The host name of the web address is not a public name.")]
    LocalName,
    #[error("The web address leads back to this service.")]
    OwnHost,
    #[error("The port of the web address is not allowed.")]
    Port,
    #[error("The host of the web address is not on the public internet.")]
    PrivateNetwork,
    #[error("The request method is not allowed.")]
    Method,
}

/// A URL that has passed every check possible without the network.
///
/// The addresses its host resolves to are judged when it is connected to, each time anew.
#[derive(Debug, Clone)]
pub struct Target {
    url: Url,
    host: Host,
    port: u16,
}

impl Target {
    /// Parses the way browsers do, so that every notation of an address is seen as what it is.
    pub fn parse(text: &str, policy: &Policy) -> Result<Self, Refused> {
        check_text(text)?;
        let url = Url::parse(text).map_err(|_| Refused::Malformed)?;
        Self::judge(url, policy)
    }

    /// Judges a redirect from here as strictly as a URL given by a user.
    pub fn join(&self, location: &str, policy: &Policy) -> Result<Self, Refused> {
        check_text(location)?;
        let url = self.url.join(location).map_err(|_| Refused::Malformed)?;
        Self::judge(url, policy)
    }

    fn judge(mut url: Url, policy: &Policy) -> Result<Self, Refused> {
        if !policy.admits_scheme(url.scheme()) {
            return Err(Refused::Scheme);
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(Refused::Credentials);
        }
        drop_final_dot(&mut url)?;
        url.set_fragment(None);
        let host = url.host().ok_or(Refused::Malformed)?.to_owned();
        let port = url.port_or_known_default().ok_or(Refused::Malformed)?;
        match &host {
            Host::Domain(name) if !is_well_formed(name) => return Err(Refused::Malformed),
            Host::Domain(name) if !policy.admits_name(name) => return Err(Refused::LocalName),
            Host::Ipv4(_) | Host::Ipv6(_) if !policy.allow_private => {
                return Err(Refused::BareAddress);
            }
            Host::Domain(_) | Host::Ipv4(_) | Host::Ipv6(_) => {}
        }
        if policy.is_own_host(&host.to_string(), port) {
            return Err(Refused::OwnHost);
        }
        if !policy.admits_port(port) {
            return Err(Refused::Port);
        }
        Ok(Self { url, host, port })
    }

    /// The URL as it is requested: canonical, without a fragment.
    pub fn url(&self) -> &str {
        self.url.as_str()
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    pub(crate) fn is_encrypted(&self) -> bool {
        self.url.scheme() == "https"
    }

    pub(crate) fn host(&self) -> &Host {
        &self.host
    }

    /// The value of the `Host` header: the port is named only where it is not the usual one.
    pub(crate) fn authority(&self) -> &str {
        &self.url[url::Position::BeforeHost..url::Position::AfterPort]
    }

    pub(crate) fn path_and_query(&self) -> &str {
        &self.url[url::Position::BeforePath..url::Position::AfterQuery]
    }
}

/// Refuses what the URL standard repairs in silence: two readers may repair it differently.
fn check_text(text: &str) -> Result<(), Refused> {
    if text.len() > MAX_LENGTH {
        return Err(Refused::TooLong);
    }
    if text.contains(|char: char| char.is_control() || char == '\\') || text.contains("%00") {
        return Err(Refused::Characters);
    }
    Ok(())
}

/// `example.com.` and `example.com` are one host, and only the second is in certificates.
fn drop_final_dot(url: &mut Url) -> Result<(), Refused> {
    let Some(Host::Domain(name)) = url.host() else { return Ok(()) };
    let Some(name) = name.strip_suffix('.').map(ToOwned::to_owned) else { return Ok(()) };
    url.set_host(Some(&name)).map_err(|_| Refused::Malformed)
}

fn is_well_formed(name: &str) -> bool {
    let is_plain =
        |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-_".contains(&byte);
    name.len() <= 253
        && name
            .split('.')
            .all(|label| (1..=63).contains(&label.len()) && label.bytes().all(is_plain))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn strict(text: &str) -> Result<Target, Refused> {
        Target::parse(text, &Policy::default())
    }

    #[test]
    fn an_ordinary_url_is_kept_as_it_is() {
        let target = strict("https://cdn.example.com:8443/a%20b/c.jpg?x=1&y=2#part").expect("fine");

        assert_eq!(target.url(), "https://cdn.example.com:8443/a%20b/c.jpg?x=1&y=2");
        assert_eq!(target.authority(), "cdn.example.com:8443");
        assert_eq!(target.path_and_query(), "/a%20b/c.jpg?x=1&y=2");
        assert_eq!(target.host(), &Host::Domain("cdn.example.com".to_owned()));
    }

    #[test]
    fn the_usual_port_and_a_final_dot_are_left_out() {
        let target = strict("https://Example.COM.:443").expect("fine");

        assert_eq!(target.url(), "https://example.com/");
        assert_eq!((target.authority(), target.port()), ("example.com", 443));
    }

    #[test]
    fn own_hosts_are_compared_as_whole_hosts() {
        let own_hosts = vec!["Social.Example.com".to_owned(), "example.org:8443".to_owned()];
        let policy = Policy { own_hosts, ..Policy::default() };
        let judge = |text| Target::parse(text, &policy).map(|_| ());

        assert_eq!(judge("https://social.example.com./media/1"), Err(Refused::OwnHost));
        assert_eq!(judge("https://social.example.com:9000/"), Err(Refused::OwnHost));
        assert_eq!(judge("https://example.org:8443/"), Err(Refused::OwnHost));
        assert_eq!(judge("https://example.org/"), Ok(()));
        assert_eq!(judge("https://antisocial.example.com/"), Ok(()));
    }

    #[test]
    fn a_private_installation_still_speaks_only_http_and_carries_no_password() {
        let policy = Policy { allow_private: true, ..Policy::default() };
        let judge = |text| Target::parse(text, &policy).map(|_| ());

        assert_eq!(judge("http://127.0.0.1:22/"), Ok(()));
        assert_eq!(judge("https://[::1]/"), Ok(()));
        assert_eq!(judge("http://minio:9000/media"), Ok(()));
        assert_eq!(judge("ftp://minio/"), Err(Refused::Scheme));
        assert_eq!(judge("http://a:b@minio/"), Err(Refused::Credentials));
    }
}

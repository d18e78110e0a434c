//! How a request to the outside can fail.

use std::fmt;
use std::io;

use crate::target::Refused;

/// A failed request, in sentences for the user on whose behalf it was made.
///
/// Nothing here names an address the host resolved to: that would tell a stranger how the
/// network inside looks.
#[derive(Debug, thiserror::Error)]
pub enum FetchError {
    #[error(transparent)]
    Refused(#[from] Refused),
    #[error("The host name of the web address could not be found.")]
    Dns(#[source] io::Error),
    #[error("No connection to the server could be made.")]
    Connect(#[source] io::Error),
    #[error("No secure connection to the server could be made; is its certificate valid?")]
    Tls(#[source] io::Error),
    #[error("The server took too long {phase}.")]
    Timeout { phase: Phase },
    #[error("The server answered with status {0}.")]
    Status(u16),
    #[error("The server sent more than the {limit} bytes allowed.")]
    TooLarge { limit: u64 },
    #[error("The server sends too slowly.")]
    TooSlow,
    #[error("The server redirects too many times.")]
    TooManyRedirects,
    #[error("The connection ended before the whole answer had come.")]
    Truncated,
    #[error("The server does not keep to the HTTP protocol: {what}.")]
    Protocol {
        what: &'static str,
        #[source]
        source: Option<hyper::Error>,
    },
    #[error("What the server sent could not be stored.")]
    Sink(#[source] io::Error),
    #[error("What was to be sent could not be read.")]
    Source(#[source] hyper::Error),
}

/// The part of a request during which time ran out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    Lookup,
    Connect,
    Handshake,
    Answer,
    Body,
}

impl fmt::Display for Phase {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Lookup => "to be found by name",
            Self::Connect => "to accept the connection",
            Self::Handshake => "to secure the connection",
            Self::Answer => "to answer",
            Self::Body => "to send its whole answer",
        })
    }
}

impl FetchError {
    /// The stable name of the failure in the API.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Refused(_) => "url_not_allowed",
            Self::Dns(_) => "dns_failed",
            Self::Connect(_) => "connect_failed",
            Self::Tls(_) => "tls_failed",
            Self::Timeout { .. } => "timeout",
            Self::Status(_) => "bad_status",
            Self::TooLarge { .. } => "too_large",
            Self::TooSlow => "too_slow",
            Self::TooManyRedirects => "too_many_redirects",
            Self::Truncated => "truncated",
            Self::Protocol { .. } => "protocol_error",
            Self::Sink(_) | Self::Source(_) => "storage_failed",
        }
    }

    /// True when no byte of a single request can have reached the server, so that sending it
    /// again cannot do its work twice.
    pub fn surely_not_sent(&self) -> bool {
        match self {
            Self::Refused(_) | Self::Dns(_) | Self::Connect(_) | Self::Tls(_) => true,
            Self::Timeout { phase } => match phase {
                Phase::Lookup | Phase::Connect | Phase::Handshake => true,
                Phase::Answer | Phase::Body => false,
            },
            Self::Status(_)
            | Self::TooLarge { .. }
            | Self::TooSlow
            | Self::TooManyRedirects
            | Self::Truncated
            | Self::Protocol { .. }
            | Self::Sink(_)
            | Self::Source(_) => false,
        }
    }

    /// True when whatever answered at the address does not speak HTTP at all.
    pub fn is_foreign_tongue(&self) -> bool {
        matches!(self, Self::Protocol { source: Some(error), .. } if error.is_parse())
    }

    pub(super) fn protocol(what: &'static str) -> Self {
        Self::Protocol { what, source: None }
    }

    /// A failure while the request was on its way or the answer was read.
    pub(super) fn during_exchange(error: hyper::Error) -> Self {
        if error.is_parse() {
            return Self::Protocol { what: "its answer cannot be read", source: Some(error) };
        }
        // The only thing of ours that hyper can stumble over is the body it was given.
        if error.is_user() {
            return Self::Source(error);
        }
        if error.is_incomplete_message() || ended_early(&error) {
            return Self::Truncated;
        }
        Self::Protocol { what: "the connection broke", source: Some(error) }
    }
}

fn ended_early(error: &hyper::Error) -> bool {
    let mut source = std::error::Error::source(error);
    while let Some(error) = source {
        if let Some(error) = error.downcast_ref::<io::Error>() {
            return error.kind() == io::ErrorKind::UnexpectedEof;
        }
        source = error.source();
    }
    false
}

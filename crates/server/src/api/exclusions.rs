//! What is deliberately out of reach for API keys.

/// Method, path and the reason why a key cannot go there.
#[rustfmt::skip]
pub(crate) const EXCLUSIONS: &[(&str, &str, &str)] = &[
    ("POST", "/api/auth/sign-in", "signing in happens in a browser"),
    ("POST", "/api/auth/sign-out", "signing out happens in a browser"),
    ("GET", "/api/internal/*", "the same handlers for browser sessions"),
    ("POST", "/api/internal/brands", "brands are created in a session"),
    ("PATCH", "/api/internal/brands/:id", "brands are renamed in a session"),
    ("DELETE", "/api/internal/brands/:id", "brands are deleted in a session"),
    ("PUT", "/uploads/:id", "takes one signed upload; the signature is the credential"),
    ("GET", "/media/:workspace/:blob", "serves stored bytes; the signature is the credential"),
    ("GET", "/metrics", "for the operator, on a listener of its own"),
];

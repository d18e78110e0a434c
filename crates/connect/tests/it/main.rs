//! The client and the storage as their callers see them.

mod blobs;
mod download;
mod hostile;
mod lookup;
mod patience;
mod peer;
mod redirects;
mod request;
mod tls;
mod upload;
mod wiring;

//! Everything the service speaks to over the network.

pub mod address;
pub mod blobs;
pub mod http;
pub mod platforms;
pub mod policy;
pub mod target;

pub use blobs::{Blob, BlobError, Blobs};
pub use http::{
    AnswerLimits, DownloadLimits, Downloaded, FetchError, Http, Network, Overflow, Phase, Upload,
};
pub use policy::Policy;
pub use target::{Refused, Target};

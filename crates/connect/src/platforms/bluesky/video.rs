//! The service that prepares videos for the network before they are posted.

use std::time::Duration;

use campanile_model::{
    publish::{Class, Failure},
    time::{MINUTE, Millis, SECOND},
};
use serde::Deserialize;
use serde_json::Value;
use tokio::time::{Instant, sleep};
use url::Url;

use super::fault::{Fault, Said};
use super::files::Files;
use super::xrpc::Server;
use crate::platforms::Asset;

const PATIENCE: Duration = Duration::from_secs(600);
const PAUSE: Duration = Duration::from_millis(1500);
/// How long the service may use the token it is given; the network allows an hour.
const TOKEN_LASTS: Millis = 30 * MINUTE;

pub(super) struct Service<'a> {
    pub(super) files: &'a Files<'a>,
    pub(super) address: &'a str,
}

/// What the service makes of a video.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Job {
    job_id: String,
    state: String,
    blob: Option<Value>,
    error: String,
    failure_code: String,
    message: String,
}

impl Job {
    /// The description says that a job comes wrapped; the service has been seen not to.
    fn read(answer: &Value) -> Option<Self> {
        let job = answer.get("jobStatus").unwrap_or(answer);
        let job: Self = serde_json::from_value(job.clone()).ok()?;
        (!job.job_id.is_empty() || job.blob.is_some()).then_some(job)
    }

    /// A video that the service has seen before fails as a job, and brings its blob all the same.
    fn outcome(self) -> Option<Result<Value, Failure>> {
        if let Some(blob) = self.blob {
            return Some(Ok(blob));
        }
        if self.state != "JOB_STATE_FAILED" {
            return None;
        }
        let class = match self.failure_code.as_str() {
            "pds_upload_failure" | "generic_failure" | "" => Class::Transient,
            _ => Class::Rejected,
        };
        let code = [self.error, self.failure_code].into_iter().find(|code| !code.is_empty());
        let code = code.unwrap_or_else(|| "video_failed".to_owned());
        let message = match self.message.as_str() {
            "" => "the video service could not use the video",
            message => message,
        };
        Some(Err(Failure::new(class, code, message)))
    }
}

impl Service<'_> {
    /// The blob of the prepared video; `None` when the service does not work for this server.
    pub(super) async fn process(&self, asset: &Asset) -> Result<Option<Value>, Failure> {
        let Some(token) = self.token().await? else { return Ok(None) };
        let Some(job) = self.submit(asset, &token).await? else { return Ok(None) };
        let job_id = job.job_id.clone();
        match job.outcome() {
            Some(outcome) => outcome.map(Some),
            None => self.wait(&job_id).await.map(Some),
        }
    }

    /// A token with which the service may put the video on the account's server.
    async fn token(&self) -> Result<Option<String>, Failure> {
        #[derive(Deserialize)]
        struct Granted {
            token: String,
        }
        let server = &self.files.server;
        let Some(host) = host(server.origin) else { return Ok(None) };
        let audience = format!("did:web:{host}");
        let end = ((server.now + TOKEN_LASTS) / SECOND).to_string();
        let parameters =
            [("aud", audience.as_str()), ("lxm", "com.atproto.repo.uploadBlob"), ("exp", &end)];
        match server.query::<Granted>("com.atproto.server.getServiceAuth", &parameters).await {
            Ok(granted) => Ok(Some(granted.token)),
            // Not every server can give such tokens.
            Err(Fault::Said(said))
                if !said.is_about_credentials() && said.failure().class == Class::Rejected =>
            {
                Ok(None)
            }
            Err(fault) => Err(fault.failure()),
        }
    }

    async fn submit(&self, asset: &Asset, token: &str) -> Result<Option<Job>, Failure> {
        let server = &self.files.server;
        let service = Server::new(server.http, self.address, server.now).with_token(token);
        let name = asset.storage_path.rsplit('/').next().unwrap_or("video.mp4");
        let parameters = [("did", self.files.access.account.remote_id.as_str()), ("name", name)];
        let body = self.files.stream(asset).await?;
        let method = "app.bsky.video.uploadVideo";
        let answer = service.send_file(method, &parameters, &asset.media_type, body).await;
        match answer {
            Ok(answer) => Job::read(&answer).map(Some).ok_or_else(|| Fault::Garbled.failure()),
            Err(fault) => self.refused(&fault),
        }
    }

    /// Elsewhere than at the network's own servers, a video can do without the service.
    fn refused(&self, fault: &Fault) -> Result<Option<Job>, Failure> {
        if let Fault::Said(said) = fault
            && let Some(job) = serde_json::from_slice(&said.body).ok().as_ref().and_then(Job::read)
        {
            return Ok(Some(job));
        }
        let is_own =
            host(self.files.server.origin).is_some_and(|host| host.ends_with(".bsky.network"));
        match fault {
            Fault::Lost(error) if error.surely_not_sent() && !is_own => Ok(None),
            Fault::Said(said) if is_elsewhere(said) && !is_own => Ok(None),
            Fault::Said(said) if said.is("DailyLimitExceeded") => {
                Err(Failure { class: Class::Quota, ..said.failure() })
            }
            // The account's own token is not what was refused here.
            Fault::Said(said) if said.status.as_u16() == 401 => {
                Err(Failure { class: Class::Rejected, ..said.failure() })
            }
            fault => Err(fault.failure()),
        }
    }

    async fn wait(&self, job_id: &str) -> Result<Value, Failure> {
        let server = &self.files.server;
        let service = Server::new(server.http, self.address, server.now);
        let end = Instant::now() + PATIENCE;
        while Instant::now() < end {
            sleep(PAUSE).await;
            // One question that goes unanswered says nothing about the job.
            let answer = service.query("app.bsky.video.getJobStatus", &[("jobId", job_id)]).await;
            if let Some(outcome) = answer.ok().as_ref().and_then(Job::read).and_then(Job::outcome) {
                return outcome;
            }
        }
        let message = "the video service is still working on the video";
        let waited = Millis::try_from(PATIENCE.as_millis()).unwrap_or_default();
        Err(Failure::new(Class::Transient, "video_processing", message).until(server.now + waited))
    }
}

/// The service has no such call, or does not want this account.
fn is_elsewhere(said: &Said) -> bool {
    matches!(said.status.as_u16(), 401 | 403 | 404 | 405 | 501)
}

fn host(origin: &str) -> Option<String> {
    Url::parse(origin).ok()?.host_str().map(ToOwned::to_owned)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_job_is_read_wrapped_or_bare() {
        let bare = json!({ "jobId": "j1", "state": "JOB_STATE_ENCODING", "progress": 3 });

        for answer in [bare.clone(), json!({ "jobStatus": bare })] {
            let job = Job::read(&answer).unwrap();

            assert_eq!(job.job_id, "j1");
            assert!(job.outcome().is_none());
        }
        assert!(Job::read(&json!({ "error": "Unauthorized" })).is_none());
        assert!(Job::read(&json!("text")).is_none());
    }

    #[test]
    fn a_blob_counts_whatever_the_state() {
        let job = json!({
            "jobId": "j", "state": "JOB_STATE_FAILED", "error": "already_exists",
            "blob": { "$type": "blob" },
        });

        let outcome = Job::read(&job).unwrap().outcome().unwrap();

        assert_eq!(outcome.unwrap(), json!({ "$type": "blob" }));
    }

    #[test]
    fn a_video_that_cannot_be_used_is_not_tried_again() {
        for (failure_code, class) in [
            ("validation_failure", Class::Rejected),
            ("encoding_failure", Class::Rejected),
            ("pds_upload_failure", Class::Transient),
            ("generic_failure", Class::Transient),
        ] {
            let job = json!({
                "jobId": "j", "state": "JOB_STATE_FAILED", "failureCode": failure_code,
                "message": "why",
            });

            let failure = Job::read(&job).unwrap().outcome().unwrap().unwrap_err();

            assert_eq!((failure.class, failure.code.as_str()), (class, failure_code));
            assert_eq!(failure.message, "why");
        }
    }
}

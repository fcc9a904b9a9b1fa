// SPDX-License-Identifier: MIT OR Apache-2.0
//! aws-sdk-s3.

use std::error::Error;
use std::fmt;

use atomic_breaker_server::{
    Config as Rules, Failure, Outcome, Resource, ServiceError, Timed, breaker,
};
use aws_sdk_s3::config::{
    BehaviorVersion, Credentials, Region, retry::RetryConfig, timeout::TimeoutConfig,
};
use aws_sdk_s3::error::{ErrorMetadata, ProvideErrorMetadata, SdkError};
use aws_sdk_s3::primitives::{ByteStream, ByteStreamError};
use aws_sdk_s3::{Client, Config};

use crate::{Current, Errors, PART, guarded};

pub struct Objects {
    endpoint: String,
    client: Current<Client>,
    server: Resource,
}

impl Objects {
    pub fn new(endpoint: &str, rules: Rules) -> Self {
        Self {
            endpoint: endpoint.to_owned(),
            client: Current::new(connect(endpoint)),
            server: Resource::new(breaker(rules)),
        }
    }

    pub async fn get(
        &self,
        bucket: &str,
        key: &str,
    ) -> Result<Vec<u8>, ServiceError<Timed<Failed>>> {
        self.run(async |client| {
            let object = client.get_object().bucket(bucket).key(key).send().await?;
            // Part of the call: a body can hang as well.
            Ok(object.body.collect().await?.to_vec())
        })
        .await
    }

    pub async fn put(
        &self,
        bucket: &str,
        key: &str,
        object: Vec<u8>,
    ) -> Result<(), ServiceError<Timed<Failed>>> {
        self.run(async |client| {
            let put = client.put_object().bucket(bucket).key(key);
            put.body(ByteStream::from(object)).send().await?;
            Ok(())
        })
        .await
    }

    pub async fn run<T>(
        &self,
        request: impl AsyncFnOnce(Client) -> Result<T, Failed>,
    ) -> Result<T, ServiceError<Timed<Failed>>> {
        let call = async { request(self.client.get()).await };
        guarded(&self.server, Errors(classify), || self.repair(), call).await
    }

    /// A client with connections of its own; new ones resolve the name again.
    fn repair(&self) {
        self.client.replace(connect(&self.endpoint));
    }

    pub fn server(&self) -> &Resource {
        &self.server
    }
}

fn connect(endpoint: &str) -> Client {
    let config = Config::builder()
        .behavior_version(BehaviorVersion::latest())
        .endpoint_url(endpoint)
        .force_path_style(true)
        .region(Region::new("us-east-1"))
        .credentials_provider(Credentials::new("key", "secret", None, None, "example"))
        // Three tries by default, which are one call to the breaker. Retry around it.
        .retry_config(RetryConfig::disabled())
        .timeout_config(TimeoutConfig::builder().connect_timeout(PART).build())
        // On loopback; without this line it is one with TLS, by the features that the crate has by default.
        .http_client(aws_smithy_http_client::Builder::new().build_http());
    Client::from_conf(config.build())
}

/// The same for all operations.
#[derive(Debug)]
pub enum Failed {
    Request(Box<SdkError<ErrorMetadata>>),
    Body(ByteStreamError),
}

impl<E: ProvideErrorMetadata> From<SdkError<E>> for Failed {
    fn from(error: SdkError<E>) -> Self {
        Self::Request(Box::new(
            error.map_service_error(|error| error.meta().clone()),
        ))
    }
}

impl From<ByteStreamError> for Failed {
    fn from(error: ByteStreamError) -> Self {
        Self::Body(error)
    }
}

impl fmt::Display for Failed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Request(error) => error.fmt(f),
            Self::Body(error) => error.fmt(f),
        }
    }
}

impl Error for Failed {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Request(error) => error.source(),
            Self::Body(error) => error.source(),
        }
    }
}

pub fn classify(error: &Failed) -> Outcome {
    let Failed::Request(error) = error else {
        // Lost in the middle of an object.
        return Failure::new().into();
    };
    match &**error {
        // Never sent: a name of a bucket that cannot be one.
        SdkError::ConstructionFailure(_) => Outcome::Ignored,
        SdkError::DispatchFailure(error) if error.is_user() => Outcome::Ignored,
        SdkError::ServiceError(answer) => {
            match (answer.raw().status().as_u16(), answer.err().code()) {
                // The credentials or the clock of this program: no request of it succeeds.
                (_, Some("ExpiredToken" | "InvalidAccessKeyId" | "RequestTimeTooSkewed")) => {
                    Failure::new().into()
                }
                // Not implemented: another request may be.
                (501, _) => Outcome::Success,
                // `SlowDown` is a 503.
                (429 | 500.., _) => Failure::new().into(),
                // No such key, no right to it, a condition that does not hold.
                _ => Outcome::Success,
            }
        }
        _ => Failure::new().into(),
    }
}

// SPDX-License-Identifier: MIT OR Apache-2.0
//! The result of a try, and its meaning for each party.

use std::error::Error;
use std::fmt;
use std::time::Duration;

use atomic_breaker_http::{GrpcClassifier, GrpcCode, HttpClassifier, Outcome};
use http::{HeaderMap, HeaderValue, Response};

/// The result of a try.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reply {
    /// Answered well.
    Served,
    /// An HTTP status without a hint.
    Status(u16),
    /// An HTTP status with `Retry-After`, in seconds.
    Later(u16, u32),
    /// A gRPC code other than OK.
    Grpc(GrpcCode),
    /// A gRPC code with a push-back, in milliseconds.
    PushedBack(GrpcCode, u32),
    /// No connection, or it broke.
    Refused,
    /// No answer within the limit of a try.
    TimedOut,
}

/// A call got no response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoResponse;

impl fmt::Display for NoResponse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("no response")
    }
}

impl Error for NoResponse {}

/// The client's next act after a try.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// The response is returned, and the try counts as a success for the retry budget.
    Success,
    /// The response is returned.
    Return,
    /// It is tried again, after that time at the earliest.
    Retry(Option<Duration>),
}

impl Reply {
    /// Returns whether the caller got an answer to its request.
    pub fn is_served(self) -> bool {
        self == Self::Served
    }

    /// Returns whether a breaker that knows nothing of HTTP counts it as an error: 5xx, any gRPC code other than OK,
    /// which tonic returns as an `Err`, and calls without a response. A 4xx is an answer.
    pub fn is_error(self) -> bool {
        match self {
            Self::Served => false,
            Self::Status(status) | Self::Later(status, _) => status >= 500,
            Self::Grpc(_) | Self::PushedBack(..) | Self::Refused | Self::TimedOut => true,
        }
    }

    /// As a response of HTTP, or of gRPC with its code at the head.
    ///
    /// # Errors
    /// Calls without a response.
    ///
    /// # Panics
    /// At a status that is none.
    pub fn response(self) -> Result<Response<()>, NoResponse> {
        let mut response = Response::new(());
        let mut set = |name, value: u32| {
            response
                .headers_mut()
                .insert(name, HeaderValue::from(value))
        };
        let status = match self {
            Self::Served => 200,
            Self::Status(status) => status,
            Self::Later(status, seconds) => {
                set("retry-after", seconds);
                status
            }
            Self::Grpc(code) => {
                set("grpc-status", code as u32);
                200
            }
            Self::PushedBack(code, ms) => {
                set("grpc-status", code as u32);
                set("grpc-retry-pushback-ms", ms);
                200
            }
            Self::Refused | Self::TimedOut => return Err(NoResponse),
        };
        *response.status_mut() = status.try_into().expect("a status");
        Ok(response)
    }

    /// The next act of the preset's retries, for any breaker.
    pub fn next(self) -> Next {
        let http = HttpClassifier::new();
        let grpc = GrpcClassifier::new();
        let (outcome, hint) = match self {
            Self::Served => return Next::Success,
            Self::Refused | Self::TimedOut => return Next::Retry(None),
            Self::Grpc(code) => (grpc.code(code, &HeaderMap::new()), None),
            Self::PushedBack(code, _) => {
                let response = self.response().expect("a response");
                let headers = response.headers();
                (grpc.code(code, headers), grpc.retry_hint(headers))
            }
            Self::Status(_) | Self::Later(..) => {
                let response = self.response().expect("a response");
                (http.response(&response), http.retry_hint(&response))
            }
        };
        match (outcome, hint) {
            (Outcome::Success, _) => Next::Success,
            (Outcome::Ignored, None) => Next::Return,
            (Outcome::Ignored | Outcome::Failure(_), hint) => Next::Retry(hint),
        }
    }
}

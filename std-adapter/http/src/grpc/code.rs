// SPDX-License-Identifier: MIT OR Apache-2.0
//! The codes of gRPC, and where they come from.

use std::fmt;

use http::{HeaderMap, HeaderName, StatusCode};

use crate::{Failure, Outcome};

pub(super) const GRPC_STATUS: HeaderName = HeaderName::from_static("grpc-status");

/// The status of a gRPC call: the [status codes] with their numbers.
///
/// ```
/// use atomic_breaker_http::{Failure, GrpcCode};
/// use http::StatusCode;
///
/// assert_eq!(GrpcCode::from(14), GrpcCode::Unavailable);
/// assert_eq!(GrpcCode::from(99), GrpcCode::Unknown);
/// assert_eq!(GrpcCode::DeadlineExceeded.to_string(), "DEADLINE_EXCEEDED");
/// assert_eq!(GrpcCode::from_http(StatusCode::NOT_FOUND), GrpcCode::Unimplemented);
/// assert_eq!(GrpcCode::Internal.outcome(), Failure::new().into());
/// ```
///
/// [status codes]: https://github.com/grpc/grpc/blob/master/doc/statuscodes.md
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(i32)]
pub enum GrpcCode {
    /// Success.
    Ok = 0,
    /// The call was cancelled, usually by the caller.
    Cancelled = 1,
    /// An error without details, or an unknown code.
    Unknown = 2,
    /// The request is invalid.
    InvalidArgument = 3,
    /// The deadline has passed, here or at the server.
    DeadlineExceeded = 4,
    /// The requested entity does not exist.
    NotFound = 5,
    /// The entity to be created already exists.
    AlreadyExists = 6,
    /// The caller is not allowed to do that.
    PermissionDenied = 7,
    /// A quota or some space is exhausted.
    ResourceExhausted = 8,
    /// The system is not in the required state.
    FailedPrecondition = 9,
    /// Aborted because of a conflict with another call.
    Aborted = 10,
    /// Beyond the valid range.
    OutOfRange = 11,
    /// The server does not support the method.
    Unimplemented = 12,
    /// An internal error of the server.
    Internal = 13,
    /// The server cannot be reached, or not now.
    Unavailable = 14,
    /// Data is lost or corrupted.
    DataLoss = 15,
    /// The caller is not authenticated.
    Unauthenticated = 16,
}

impl GrpcCode {
    /// All codes, in the order of their numbers.
    pub const ALL: [Self; 17] = [
        Self::Ok,
        Self::Cancelled,
        Self::Unknown,
        Self::InvalidArgument,
        Self::DeadlineExceeded,
        Self::NotFound,
        Self::AlreadyExists,
        Self::PermissionDenied,
        Self::ResourceExhausted,
        Self::FailedPrecondition,
        Self::Aborted,
        Self::OutOfRange,
        Self::Unimplemented,
        Self::Internal,
        Self::Unavailable,
        Self::DataLoss,
        Self::Unauthenticated,
    ];

    /// The `grpc-status` of headers or trailers; `None` if there is none. Anything except the numbers 0 to 16, written
    /// without a sign, white space or a leading zero, is [`Unknown`](Self::Unknown).
    pub fn read(metadata: &HeaderMap) -> Option<Self> {
        let number = match metadata.get(GRPC_STATUS)?.as_bytes() {
            [digit @ b'0'..=b'9'] => i32::from(digit - b'0'),
            [b'1', digit @ b'0'..=b'6'] => 10 + i32::from(digit - b'0'),
            _ => -1,
        };
        Some(Self::from(number))
    }

    /// The code of a response that has no `grpc-status`, such as that of a proxy, according to the table [HTTP to
    /// gRPC Status Code Mapping][table].
    ///
    /// [table]: https://github.com/grpc/grpc/blob/master/doc/http-grpc-status-mapping.md
    pub fn from_http(status: StatusCode) -> Self {
        match status.as_u16() {
            400 => Self::Internal,
            401 => Self::Unauthenticated,
            403 => Self::PermissionDenied,
            404 => Self::Unimplemented,
            429 | 502 | 503 | 504 => Self::Unavailable,
            _ => Self::Unknown,
        }
    }

    /// The outcome of a call with this code, unless a rule says [otherwise](crate::GrpcClassifier::codes): failures of
    /// weight 1, and successes if the server has responded. `Cancelled` is ignored, and so is `ResourceExhausted`,
    /// which concerns [one tenant](crate::Scope::Quota). `Unknown` is a failure, as HTTP's 500 is.
    pub fn outcome(self) -> Outcome {
        match self {
            Self::Unavailable
            | Self::Internal
            | Self::DataLoss
            | Self::Unknown
            | Self::DeadlineExceeded => Failure::new().into(),
            Self::Cancelled | Self::ResourceExhausted => Outcome::Ignored,
            _ => Outcome::Success,
        }
    }
}

/// The number, the same as in `tonic::Code`. Numbers beyond these are [`Unknown`](GrpcCode::Unknown).
impl From<i32> for GrpcCode {
    fn from(number: i32) -> Self {
        let index = usize::try_from(number).unwrap_or(usize::MAX);
        Self::ALL.get(index).copied().unwrap_or(Self::Unknown)
    }
}

/// The name as the specification writes it: `DEADLINE_EXCEEDED`.
impl fmt::Display for GrpcCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut name = String::new();
        for letter in format!("{self:?}").chars() {
            if letter.is_ascii_uppercase() && !name.is_empty() {
                name.push('_');
            }
            name.push(letter.to_ascii_uppercase());
        }
        f.pad(&name)
    }
}

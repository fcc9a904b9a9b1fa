//! The codes of gRPC, and where they come from.

use std::fmt;

use http::{HeaderMap, HeaderName, StatusCode};

const GRPC_STATUS: HeaderName = HeaderName::from_static("grpc-status");

/// How a call of gRPC ended: the [status codes] with their numbers.
///
/// ```
/// use atomic_breaker_std::http::GrpcCode;
///
/// assert_eq!(GrpcCode::from(14), GrpcCode::Unavailable);
/// assert_eq!(GrpcCode::Unavailable as i32, 14);
/// assert_eq!(GrpcCode::from(99), GrpcCode::Unknown);
/// assert_eq!(GrpcCode::DeadlineExceeded.to_string(), "DEADLINE_EXCEEDED");
/// ```
///
/// [status codes]: https://github.com/grpc/grpc/blob/master/doc/statuscodes.md
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(i32)]
pub enum GrpcCode {
    /// It went well.
    Ok = 0,
    /// Somebody cancelled it, mostly the caller.
    Cancelled = 1,
    /// An error that says no more, or that nobody knows.
    Unknown = 2,
    /// The request is wrong.
    InvalidArgument = 3,
    /// The time was up, here or at the server.
    DeadlineExceeded = 4,
    /// What was asked for is not there.
    NotFound = 5,
    /// What was to be made is there.
    AlreadyExists = 6,
    /// The caller may not do that.
    PermissionDenied = 7,
    /// A quota, or room, is used up.
    ResourceExhausted = 8,
    /// The system is not in a state for that.
    FailedPrecondition = 9,
    /// Another call was in the way.
    Aborted = 10,
    /// Beyond the end.
    OutOfRange = 11,
    /// The server does not know the method.
    Unimplemented = 12,
    /// The server broke its own rules.
    Internal = 13,
    /// The server cannot be reached, or not now.
    Unavailable = 14,
    /// Data is lost or broken.
    DataLoss = 15,
    /// The caller did not say who it is.
    Unauthenticated = 16,
}

impl GrpcCode {
    /// All codes, in the order of their numbers.
    ///
    /// ```
    /// use atomic_breaker_std::http::GrpcCode;
    ///
    /// assert!((0..).zip(GrpcCode::ALL).all(|(number, code)| code as i32 == number));
    /// ```
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

    /// The `grpc-status` of headers or trailers; `None` where there is none. What is not one of the
    /// numbers 0 to 16, written without a sign, white space or a leading zero, is
    /// [`Unknown`](Self::Unknown).
    ///
    /// ```
    /// use atomic_breaker_std::http::GrpcCode;
    /// use http::HeaderMap;
    ///
    /// let mut trailers = HeaderMap::new();
    /// assert_eq!(GrpcCode::read(&trailers), None);
    /// trailers.insert("grpc-status", "5".parse()?);
    /// assert_eq!(GrpcCode::read(&trailers), Some(GrpcCode::NotFound));
    /// trailers.insert("grpc-status", "five".parse()?);
    /// assert_eq!(GrpcCode::read(&trailers), Some(GrpcCode::Unknown));
    /// # Ok::<(), http::header::InvalidHeaderValue>(())
    /// ```
    pub fn read(metadata: &HeaderMap) -> Option<Self> {
        let number = match metadata.get(GRPC_STATUS)?.as_bytes() {
            [digit @ b'0'..=b'9'] => i32::from(digit - b'0'),
            [b'1', digit @ b'0'..=b'6'] => 10 + i32::from(digit - b'0'),
            _ => -1,
        };
        Some(Self::from(number))
    }

    /// The code of a response that has no `grpc-status`, as when a proxy answered, by the table
    /// [HTTP to gRPC Status Code Mapping][table].
    ///
    /// ```
    /// use atomic_breaker_std::http::GrpcCode;
    /// use http::StatusCode;
    ///
    /// assert_eq!(GrpcCode::from_http(StatusCode::BAD_GATEWAY), GrpcCode::Unavailable);
    /// assert_eq!(GrpcCode::from_http(StatusCode::NOT_FOUND), GrpcCode::Unimplemented);
    /// assert_eq!(GrpcCode::from_http(StatusCode::OK), GrpcCode::Unknown);
    /// ```
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

    /// The name as the specification writes it, such as `"UNAVAILABLE"`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ok => "OK",
            Self::Cancelled => "CANCELLED",
            Self::Unknown => "UNKNOWN",
            Self::InvalidArgument => "INVALID_ARGUMENT",
            Self::DeadlineExceeded => "DEADLINE_EXCEEDED",
            Self::NotFound => "NOT_FOUND",
            Self::AlreadyExists => "ALREADY_EXISTS",
            Self::PermissionDenied => "PERMISSION_DENIED",
            Self::ResourceExhausted => "RESOURCE_EXHAUSTED",
            Self::FailedPrecondition => "FAILED_PRECONDITION",
            Self::Aborted => "ABORTED",
            Self::OutOfRange => "OUT_OF_RANGE",
            Self::Unimplemented => "UNIMPLEMENTED",
            Self::Internal => "INTERNAL",
            Self::Unavailable => "UNAVAILABLE",
            Self::DataLoss => "DATA_LOSS",
            Self::Unauthenticated => "UNAUTHENTICATED",
        }
    }
}

/// The number, as `tonic::Code` has it, too. Numbers beyond are [`Unknown`](GrpcCode::Unknown).
impl From<i32> for GrpcCode {
    fn from(number: i32) -> Self {
        let index = usize::try_from(number).unwrap_or(usize::MAX);
        Self::ALL.get(index).copied().unwrap_or(Self::Unknown)
    }
}

impl fmt::Display for GrpcCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

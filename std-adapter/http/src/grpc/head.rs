//! What the head of a response says, and whom a code concerns.

use http::{StatusCode, header::CONTENT_TYPE};

use crate::error_rule::is_quota;
use crate::{GrpcCode, Outcome, ResponseHead, Scope};

/// What the head of a response says.
pub(super) enum Head {
    /// The call is over.
    Code(GrpcCode),
    /// The code arrives at the end of the body; if it does not, this counts.
    Later { without: Option<GrpcCode> },
}

/// Whom a call that ended with this code concerns.
pub(super) fn scope_of_code(code: GrpcCode, outcome: Outcome) -> Scope {
    if code == GrpcCode::ResourceExhausted && outcome == Outcome::Ignored {
        Scope::Quota
    } else {
        Scope::Call
    }
}

/// What the head of a response says, by the rules of gRPC.
pub(super) fn head(response: &impl ResponseHead) -> Head {
    if let Some(code) = GrpcCode::read(response.headers()) {
        return Head::Code(code);
    }
    if is_quota(response.status()) {
        return Head::Code(GrpcCode::ResourceExhausted);
    }
    if response.status() != StatusCode::OK {
        return Head::Code(GrpcCode::from_http(response.status()));
    }
    let kind = response.headers().get(CONTENT_TYPE);
    let kind = kind.map_or(&b""[..], |kind| kind.as_bytes());
    let starts_with = |name: &[u8]| {
        kind.get(..name.len())
            .is_some_and(|start| start.eq_ignore_ascii_case(name))
    };
    if starts_with(b"application/grpc-web") {
        Head::Later { without: None }
    } else if kind.is_empty() || starts_with(b"application/grpc") {
        // Without a content type it may still be gRPC: the end of the body decides.
        Head::Later {
            without: Some(GrpcCode::Unknown),
        }
    } else {
        Head::Code(GrpcCode::Unknown)
    }
}

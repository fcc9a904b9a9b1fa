//! What HTTP and gRPC responses say about the server that sent them.

mod at_end;
mod body;
mod classifier;
mod grpc;
mod head;
mod reason;
mod retry_after;
mod rules;

pub use at_end::{AtEnd, HttpBodyRule};
pub use body::{BodyRule, ReportingBody};
pub use classifier::HttpClassifier;
pub use grpc::{CodeRule, GrpcAtHead, GrpcBodyRule, GrpcClassifier, GrpcCode, UsualCodes};
pub use head::ResponseHead;
pub use reason::Reason;
pub use retry_after::{PushBack, RetryAfter};
pub use rules::{ErrorRule, EveryError, FailsOn, StatusRule, UsualStatuses};

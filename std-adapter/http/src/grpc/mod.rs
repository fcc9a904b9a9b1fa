//! gRPC, judged by its headers and trailers alone.

mod body;
mod classifier;
mod head;
mod options;
mod own_limit;
mod rules;

pub use body::GrpcBodyRule;
pub use classifier::GrpcClassifier;
pub use head::GrpcAtHead;
pub use own_limit::{GrpcLimits, LimitedPermit};
pub use rules::{CodeRule, UsualCodes};

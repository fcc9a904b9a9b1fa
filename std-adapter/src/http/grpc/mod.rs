//! gRPC, by its headers and trailers alone.

mod body;
mod classifier;
mod code;
mod head;
mod options;
mod rules;

pub use body::GrpcBodyRule;
pub use classifier::GrpcClassifier;
pub use code::GrpcCode;
pub use head::GrpcAtHead;
pub use rules::{CodeRule, UsualCodes};

//! gRPC, judged by its headers and trailers alone.

mod at_head;
mod classifier;
mod code;
mod own_limit;

pub use at_head::GrpcAtHead;
pub use classifier::{GrpcBodyRule, GrpcClassifier};
pub use code::GrpcCode;
pub use own_limit::{GrpcLimits, LimitedPermit};

// SPDX-License-Identifier: MIT OR Apache-2.0
//! gRPC, judged by its headers and trailers alone.

mod classifier;
mod code;
mod deadline;

pub use classifier::GrpcClassifier;
pub use code::GrpcCode;
pub use deadline::{GrpcDeadlineBody, GrpcDeadlineFuture, GrpcDeadlineLayer, GrpcDeadlineService};

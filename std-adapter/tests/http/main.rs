//! HTTP and gRPC through the public API.
#![cfg(feature = "http")]

mod bodies;
mod grpc;
mod grpc_bodies;
#[cfg(feature = "resource")]
mod leaks;
mod natural;
mod origin;
mod panicking;
mod retry_after;
#[cfg(feature = "registry")]
mod secrets;
mod sockets;
mod statuses;
mod support;

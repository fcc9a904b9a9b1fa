// SPDX-License-Identifier: MIT OR Apache-2.0
//! HTTP and gRPC through the public API.

mod bodies;
mod grpc;
mod grpc_bodies;
mod grpc_deadlines;
mod grpc_leaving;
mod leaks;
mod natural;
mod origin;
mod panicking;
mod quotas;
mod retries;
mod retry_after;
mod secrets;
mod shown;
mod sockets;
mod statuses;
mod support;
mod unavailable;

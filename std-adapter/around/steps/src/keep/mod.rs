// SPDX-License-Identifier: MIT OR Apache-2.0
//! Work that is called first, and kept only if it did not succeed.
//!
//! ```text
//!  call_or_keep ──► lane ──► step ──► done: nothing is written
//!                    │ rejects  │ failed for now
//!                    └────┬─────┘
//!                         ▼
//!                       Store ──► a worker, when it is due
//! ```
//!
//! | file | what |
//! |---|---|
//! | `call` | [`Steps::call_or_keep`](super::Steps::call_or_keep) |
//! | `undone` | work that was not done: its caller sees the error, or it is kept |
//! | `requests` | the same for HTTP requests, as a layer |

mod call;
#[cfg(feature = "http")]
pub mod requests;
mod undone;

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
//! | `refused` | work that was not done, and how it is kept |
//! | `unheard` | results that a caller must hear, or that are kept otherwise |
//! | `requests` | the same for HTTP requests, as a layer |

mod call;
mod refused;
#[cfg(all(feature = "http", target_has_atomic = "64"))]
pub mod requests;
mod unheard;

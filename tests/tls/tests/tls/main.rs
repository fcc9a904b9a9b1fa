// SPDX-License-Identifier: MIT OR Apache-2.0
//! Forty callers at once over TLS, with reqwest and hyper-util as their users have them: a host that fails most of them is
//! shut out, one beside it is not, and once it is well again it is served again.
//!
//! | file | contents |
//! |---|---|
//! | `authority` | certificates |
//! | `host` | a host that fails in a way of its own |
//! | `streams` | one that speaks HTTP/2 |
//! | `client` | clients of three kinds, behind a guard or its middleware |
//! | `crowd` | the callers |
//! | `ends` | how connections end |

mod authority;
mod client;
mod crowd;
mod ends;
mod host;
mod streams;

// SPDX-License-Identifier: MIT OR Apache-2.0
//! Outages of a kind, on a virtual clock.
//!
//! | module | contents |
//! |---|---|
//! | `outages` | each kind of outage, against figures by hand |
//! | `extremes` | scenarios at the edges |
//! | `cold` | a server that is back with empty caches |
//! | `cancelled` | calls whose callers leave |

mod cancelled;
mod cold;
mod extremes;
mod outages;

// SPDX-License-Identifier: MIT OR Apache-2.0
//! Everything around an HTTP client, in the right order by construction: a deadline over all tries, retries with a
//! budget, a breaker per host, a time limit per try.
//!
//! ```text
//!  request ─→ deadline 10 s ─→ retry ─→ breaker of its host ─→ try 3 s ─→ your client
//! ```
//!
//! | file | what |
//! |---|---|
//! | `config`, `rules`, `check` | [`ClientConfig`]: the settings; what they mean; those that contradict each other, and as text |
//! | `ending` | when a try is reported: at the head, or at the end of the body |
//! | `guard` | [`ClientGuard`]: the state that outlives the requests; what leads to its parts |
//! | `health` | [`HealthCheck`]: asks hosts that are shut out whether they are back |
//! | `key` | what the key of a request is: its host, or anything else |
//! | `probe` | [`Probe`]: the mark of a probe, and a repair within it |
//! | `layer` | [`ClientLayer`] and [`ClientService`]: the deadline and the retries |
//! | `tries` | a try with its breaker, its limit and fresh connections |

mod check;
mod config;
mod ending;
#[cfg(feature = "serde")]
mod file;
mod guard;
mod health;
mod key;
mod layer;
mod probe;
mod rules;
mod tries;

pub use check::ClientConfigError;
#[cfg(feature = "reqwest-middleware")]
pub(crate) use config::BodyRules;
pub use config::ClientConfig;
pub use ending::ClientResponse;
#[cfg(feature = "reqwest")]
pub(crate) use ending::Responded;
#[cfg(feature = "reqwest-middleware")]
pub(crate) use ending::{AtEitherEnd, Tried, read_on};
pub use guard::{ClientGuard, Hosts};
pub use health::HealthCheck;
pub use layer::{ClientBody, ClientLayer, ClientService};
pub use probe::Probe;

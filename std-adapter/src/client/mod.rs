//! Everything around an HTTP client, in the right order by construction: a deadline over all tries, retries with a
//! budget, a breaker per host, a time limit per try.
//!
//! ```text
//!  request ─→ deadline 10 s ─→ retry ─→ breaker of its host ─→ try 3 s ─→ your client
//! ```
//!
//! | file | what |
//! |---|---|
//! | `config` | [`ClientConfig`]: all settings, with sane defaults |
//! | `check` | what contradicts itself, and how it is said |
//! | `guard` | [`ClientGuard`]: what outlives the requests |
//! | `layer` | [`ClientLayer`]: what goes around a client |
//! | `error` | [`RequestError`]: why there is no response |

mod check;
mod config;
mod error;
mod guard;
mod layer;

pub use check::ClientConfigError;
pub use config::ClientConfig;
pub use error::RequestError;
pub use guard::{ClientGuard, Hosts};
pub use layer::{ClientLayer, ClientService};

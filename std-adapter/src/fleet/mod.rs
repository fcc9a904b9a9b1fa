//! Instances that learn from one another's trips.

mod config;
mod engine;
mod in_process;
mod joined;
mod ledger;
mod member;
mod message;
mod name;

pub use config::{FleetConfig, FleetConfigError};
pub use engine::{EngineError, Fleet, Messages};
pub use in_process::{InProcess, InProcessMessages};
pub use joined::{FleetStatus, JoinError, Joined, Seat};
pub use ledger::{KEEP_MS, Ledger};
pub use member::{Action, Context, Input, Local, Member};
pub use message::{Answer, Ask, Message, Notice, Period, PeriodId, Reading, Verdict};
pub use name::{InstanceId, Name, NameError};

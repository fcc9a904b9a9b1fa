//! Durable steps of [`atomic-breaker`](atomic_breaker_steps) in SQLite: jobs that make progress through outages and
//! restarts, kept in one file. No server; several processes of a machine may share it.
//!
//! ```no_run
//! use atomic_breaker_sqlite::SqliteStore;
//! use atomic_breaker_steps::{Breaker, Config, Lane, Steps, Workflow, breaker};
//!
//! static MAIL: Breaker = breaker(Config::new());
//!
//! # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let welcome = Workflow::new("welcome").step("mail", "mail", async |to: String| {
//!     # let send_mail = async |_: &str| Ok::<_, std::io::Error>(());
//!     send_mail(&to).await?;
//!     Ok(to)
//! });
//! let steps = Steps::builder(SqliteStore::open("jobs.db")?)
//!     .lane(Lane::new("mail").guarded(&MAIL))
//!     .workflow(&welcome)
//!     .build()?;
//! let worker = steps.work();
//! steps.enqueue(&welcome, "user-7", &"ann@example.com".to_owned()).await?;
//! # worker.stop().await;
//! # Ok(()) }
//! ```
//!
//! | module | what |
//! |---|---|
//! | `store` | [`SqliteStore`], and what each call does |
//! | `open`, `error` | opens a file; what is wrong with it, in words |
//! | `thread` | the thread that owns the connection; commits calls together |
//! | `row` | the meaning of rows |
#![doc(test(attr(deny(warnings), allow(dead_code))))]
#![forbid(unsafe_code)]

mod error;
mod open;
mod row;
mod store;
mod thread;

pub use rusqlite;
pub use store::SqliteStore;

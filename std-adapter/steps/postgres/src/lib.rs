//! Durable steps of [`atomic-breaker`](atomic_breaker_steps) in PostgreSQL: jobs that make progress through outages and
//! restarts, shared by workers on many machines.
//!
//! ```no_run
//! use atomic_breaker_postgres::PostgresStore;
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
//! let store = PostgresStore::connect("host=db user=app password=secret dbname=app").await?;
//! let steps = Steps::builder(store)
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
//! | `store`, `builder` | [`PostgresStore`], [`PostgresStoreBuilder`] |
//! | `schema`, `sql`, `row` | the tables, the statements, and the meaning of rows |
//! | `pool`, `error` | connections, dropped as soon as they are in doubt; what is wrong, in words |
#![doc(test(attr(deny(warnings), allow(dead_code))))]
#![forbid(unsafe_code)]

mod builder;
mod error;
mod pool;
mod row;
mod schema;
mod sql;
mod store;

pub use builder::PostgresStoreBuilder;
pub use store::PostgresStore;
pub use tokio_postgres;

// SPDX-License-Identifier: MIT OR Apache-2.0
//! Fifty processes call a server that dies and comes back: each with its own breaker, then as a fleet through a real
//! Redis.
//!
//! ```console
//! cargo run --release -p atomic-breaker-fleet-redis --example fleet [PICTURE.svg]
//! ```
//!
//! Needs `redis-server`, which it starts and ends; everything else is this program once more, as child processes. All of
//! it listens on the loopback only. Takes about 45 seconds and ends with a table and a picture, by default
//! `target/fleet-redis.svg`.
//!
//! | file | what |
//! |---|---|
//! | `instance` | **a process with its breaker in the fleet: read this first** |
//! | `scene` | the events and their times |
//! | `upstream` | the server that dies |
//! | `redis_server` | the engine |
//! | `log` | the log of an instance |
//! | `figures`, `report`, `picture` | the figures, the table, the picture |

mod figures;
mod instance;
mod log;
mod picture;
mod redis_server;
mod report;
mod scene;
mod upstream;

use std::error::Error;
use std::fs::OpenOptions;
use std::path::{Path, PathBuf};

use redis_server::RedisServer;
use test_support::progress::say;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    match arguments.next().as_deref() {
        Some(upstream::ARGUMENT) => {
            let port = arguments.next().ok_or("the upstream needs a port")?;
            upstream::serve(port.parse()?)?;
            Ok(())
        }
        Some(instance::ARGUMENT) => instance::run(&mut arguments),
        path => play(&path.map_or_else(|| "target/fleet-redis.svg".into(), PathBuf::from)),
    }
}

fn play(path: &Path) -> Result<(), Box<dyn Error>> {
    // Missing programs are noticed before the scenes are played.
    let redis = RedisServer::start_with(&[]).map_err(|error| error.to_string())?;
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)
            .map_err(|error| format!("{}: {error}", folder.display()))?;
    }
    let file = OpenOptions::new().create(true).append(true).open(path);
    file.map_err(|error| format!("{}: {error}", path.display()))?;
    say(&report::intro())?;
    let runs = [scene::run(None)?, scene::run(Some(&redis))?];
    say(&report::of(&runs))?;
    picture::draw(path, &runs)?;
    say(&format!("The picture is in {}.", path.display()))?;
    Ok(())
}

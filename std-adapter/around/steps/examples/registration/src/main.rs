// SPDX-License-Identifier: MIT OR Apache-2.0
//! Registrations of five steps over three services that die, hang, and come back, while the workers are killed, too.
//!
//! ```console
//! cargo run --manifest-path std-adapter/around/steps/examples/registration/Cargo.toml
//! cargo run --manifest-path std-adapter/around/steps/examples/registration/Cargo.toml -- --postgres
//! ```
//!
//! Everything is this program once more, as child processes on this machine, and ends with it after about 30 seconds with
//! a table and a picture. **Kill it at any moment, and start it again:** the database stays, and it goes on.
//!
//! | argument | |
//! |---|---|
//! | `--fresh` | forgets what an earlier run has left |
//! | `--postgres` | PostgreSQL instead of SQLite: a separate server, which it starts and ends |
//! | `--postgres=ADDRESS` | the one at this address, in a schema of its own |
//! | `--serve=PORT` | no events: a front end on this port until it is killed, and services that are healthy |
//! | `PICTURE.svg` | the picture, otherwise in the folder of the run |
//!
//! | file | what |
//! |---|---|
//! | `registration` | **the workflow, and the rest of an application's code: read this first** |
//! | `front` | **requests that wait a moment for their result, and how far one has come** |
//! | `worker` | a process of the application |
//! | `service` | a service that can be told to misbehave |
//! | `scene`, `chaos`, `crew` | the events; requests and kills; the child processes |
//! | `diary`, `events`, `lives` | the diaries of all processes, merged |
//! | `report`, `picture` | the table and the picture |
//! | `place`, `postgres` | where the database is |
//! | `programs` | shared with the tests of `atomic-breaker-steps-postgres` |

mod chaos;
mod crew;
mod diary;
mod events;
mod front;
mod lives;
mod picture;
mod place;
mod postgres;
#[path = "../../../postgres/tests/steps/programs.rs"]
mod programs;
mod registration;
mod report;
mod scene;
mod service;
mod worker;

use std::error::Error;
use std::path::Path;

use atomic_breaker_steps::Store;
use chaos::Chaos;
use diary::Diary;
use lives::Lives;
use place::{Place, Settings};
use scene::REGISTRATIONS;
use test_support::progress::say;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match &words[..] {
        [service::ARGUMENT, port, effects] => {
            service::serve(port.parse()?, Path::new(effects)).await
        }
        [worker::ARGUMENT, place, begin_us, folder, port] => {
            let name = format!("{}.diary", std::process::id());
            let diary = Diary::open(&Path::new(folder).join(name), begin_us.parse()?)?;
            let port = port.parse()?;
            match Place::of(place) {
                Place::Sqlite(path) => worker::work(place::sqlite(&path)?, diary, port).await,
                Place::Postgres(address) => {
                    worker::work(place::postgres(&address).await?, diary, port).await
                }
            }
        }
        words => {
            let settings = Settings::of(words)?;
            let (_server, place) = settings.open().await?;
            match &place {
                Place::Sqlite(path) => play(&settings, &place, &place::sqlite(path)?).await,
                Place::Postgres(address) => {
                    play(&settings, &place, &place::postgres(address).await?).await
                }
            }
        }
    }
}

async fn play(
    settings: &Settings,
    place: &Place,
    store: &impl Store,
) -> Result<(), Box<dyn Error>> {
    let folder = &settings.folder;
    let before = events::read(folder)?;
    let counts = store.counts().await?;
    let kept: u64 = counts.jobs.iter().map(|(.., count)| count).sum();
    let ended = chaos::ended(&counts);
    say(&format!("{place}, in {}", folder.display()))?;
    if kept > 0 {
        say(&format!(
            "Found {kept} registrations of an earlier run: {ended} have ended, {} go on.",
            kept - ended
        ))?;
    }
    if ended < REGISTRATIONS || settings.port.is_some() {
        // The clock goes on where the last run was killed.
        let since_us = before.last().map_or(0, |event| event.at_us + 500_000);
        let begin_us = diary::unix_us().saturating_sub(since_us);
        let diary = Diary::open(&folder.join("chaos.diary"), begin_us)?;
        let (folder, place) = (folder.clone(), place.argument());
        let chaos = Chaos {
            folder,
            place,
            begin_us,
            diary,
        };
        if let Some(port) = settings.port {
            return chaos.serve(port).await;
        }
        chaos.run(store, &answered(&before)).await?;
    } else {
        say("All are done: --fresh starts over.")?;
    }
    let events = events::read(folder)?;
    let lives = Lives::of(&events);
    let report = report::of(folder, &events, &lives, &store.counts().await?)?;
    say(&format!("\n{}", report.text))?;
    picture::draw(&settings.picture, &events, &lives)?;
    say(&format!(
        "The picture is in {}.",
        settings.picture.display()
    ))?;
    if report.is_wrong {
        return Err("something was lost, or done twice".into());
    }
    Ok(())
}

/// Jobs whose users have received their result.
fn answered(events: &[events::Event]) -> Vec<u64> {
    let answers = events.iter().filter_map(|event| event.is("answered"));
    answers
        .filter_map(|words| words.first()?.parse().ok())
        .collect()
}

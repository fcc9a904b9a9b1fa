// SPDX-License-Identifier: MIT OR Apache-2.0
//! A real outage, without and with a breaker; a server that needs time to warm up; and five hosts over HTTP.
//!
//! ```console
//! cargo run --release -p servers --example outage [PICTURE.svg]
//! ```
//!
//! Starts servers as child processes on this machine and calls them. In the first scene a TCP server works, is
//! killed, comes back but hangs, comes back slow, works again, called by eight threads: first every call goes
//! to the server, then a breaker stands before it. In the second scene it is restarted, and breaks down if the
//! whole load returns before it is warm: first before a breaker that lets all calls through when it closes,
//! then before one whose traffic comes back gradually.
//!
//! In the third scene a gateway calls five hosts over HTTP, of which one fails, one limits its callers, one
//! hangs, one is restarted and cold, and one works: first by a careful client without a breaker, then by the
//! same client behind `ClientGuard`.
//!
//! With the argument `predict` it plays the first scene only, without a breaker and with four others at the same time, and
//! compares these four with what `atomic-breaker-tune` predicts from the calls of the first: 8 seconds.
//!
//! Takes about 50 seconds and ends with tables, texts and two pictures: `PICTURE.svg` and `PICTURE-http.svg`,
//! by default `target/outage.svg` and `target/outage-http.svg`.
//!
//! | file | what |
//! |---|---|
//! | `guard` | **the breakers of the TCP server, and how a call goes through them: read this first** |
//! | `scenario` | the events of the TCP server and their times |
//! | `server` | its process |
//! | `load` | the threads that call, and their records |
//! | `figures` | the figures of one run |
//! | `report` | the tables and the text |
//! | `picture` | the timelines |
//! | `predicted` | what `atomic-breaker-tune` predicts, against real runs |
//! | `http` | **the third scene; its `guard` is the client behind the preset** |
//! | `scene`, `warmth` | code shared by all scenes |

mod figures;
mod guard;
mod http;
mod load;
mod picture;
mod predicted;
mod report;
mod scenario;
mod scene;
mod server;
mod warmth;

use std::error::Error;
use std::fs::OpenOptions;
use std::io;
use std::path::{Path, PathBuf};

use scenario::{COLD_START, OUTAGE};
use test_support::progress::say;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    match arguments.next().as_deref() {
        Some(server::ARGUMENT) => {
            let mode = arguments.next().ok_or("serve needs a mode")?;
            let port = arguments.next().ok_or("serve needs a port")?;
            server::serve(mode.parse()?, port.parse()?)?;
            Ok(())
        }
        Some(predicted::ARGUMENT) => predicted::play(),
        Some(http::ARGUMENT) => Ok(http::serve()?),
        path => play(&path.map_or_else(|| "target/outage.svg".into(), PathBuf::from)),
    }
}

fn play(path: &Path) -> Result<(), Box<dyn Error>> {
    let path_http = beside(path);
    // A picture that cannot be written is noticed before the scenes are played.
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder).map_err(named(folder))?;
    }
    for path in [path, &path_http] {
        let file = OpenOptions::new().create(true).append(true).open(path);
        file.map_err(named(path))?;
    }
    say(
        "A server on this machine is called 400 times a second by 8 threads. It will be killed,\n\
         hang, come back slow, and work again: first without a breaker, then with one.\n",
    )?;
    let outage = [
        load::run("without a breaker", &OUTAGE, None)?,
        load::run("with a breaker", &OUTAGE, Some(&guard::WITH))?,
    ];
    say(&format!("\n{}", report::of_outage(&outage)))?;
    say(
        "Now it is restarted, and breaks down if all calls come back while it is cold: first before\n\
         the same breaker, then before one that lets traffic return gradually.\n",
    )?;
    let cold_start = [
        load::run("all at once", &COLD_START, Some(&guard::ALL_AT_ONCE))?,
        load::run("gradually", &COLD_START, Some(&guard::GRADUALLY))?,
    ];
    say(&format!("\n{}", report::of_cold_start(&cold_start)))?;

    say(&http::intro())?;
    let over_http = http::play()?;
    say(&format!("\n{}", http::report(&over_http)))?;

    picture::draw(path, &outage, &cold_start)?;
    http::draw(&path_http, &over_http)?;
    let calls = path.with_extension("csv");
    predicted::write(&outage[0], &calls)?;
    let (tcp, http, csv) = (path.display(), path_http.display(), calls.display());
    say(&format!(
        "The pictures of all timelines are in {tcp} and {http}, and the calls without a breaker in {csv}."
    ))?;
    Ok(())
}

/// An error that says which file it is about.
fn named(path: &Path) -> impl Fn(io::Error) -> String {
    move |error| format!("{}: {error}", path.display())
}

/// The file of the second picture: `-http` after the name of the first.
fn beside(path: &Path) -> PathBuf {
    let mut name = path.file_stem().unwrap_or_default().to_os_string();
    name.push("-http");
    let mut beside = path.with_file_name(name);
    if let Some(extension) = path.extension() {
        beside.as_mut_os_string().push(".");
        beside.as_mut_os_string().push(extension);
    }
    beside
}

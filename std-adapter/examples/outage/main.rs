//! A real outage, without and with a breaker; and a server that needs time to warm up.
//!
//! ```console
//! cargo run --release -p atomic-breaker-std --example outage [PICTURE.svg]
//! ```
//!
//! Starts a TCP server as a child process on this machine, and sends it calls from eight threads. In
//! the first scene the server works, is killed, comes back but hangs, comes back slow, works again:
//! first every call goes to the server, then a breaker stands before it. In the second scene it is
//! restarted, and breaks down if the whole load returns before it is warm: first before a breaker that
//! lets all calls through when it closes, then before one whose traffic comes back gradually. Takes
//! about 26 seconds and ends with two tables, a text and a picture.
//!
//! | file | what |
//! |---|---|
//! | `guard` | **the breakers, and how a call goes through them: read this first** |
//! | `scenario` | what happens to the server, and when |
//! | `server` | the child process |
//! | `load` | the threads that call, and what they write down |
//! | `figures` | what counts, of one run |
//! | `report` | the tables and the text |
//! | `picture` | the timelines |
//! | `scene`, `child`, `warmth`, `progress`, `table`, `paint` | what all scenes share |

mod child;
mod figures;
mod guard;
mod load;
mod paint;
mod picture;
mod progress;
mod report;
mod scenario;
mod scene;
mod server;
mod table;
mod warmth;

use std::error::Error;
use std::path::{Path, PathBuf};

use scenario::{COLD_START, OUTAGE};

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    match arguments.next().as_deref() {
        Some(server::ARGUMENT) => {
            let mode = arguments.next().ok_or("serve needs a mode")?;
            let port = arguments.next().ok_or("serve needs a port")?;
            server::serve(mode.parse()?, port.parse()?)?;
            Ok(())
        }
        path => play(&path.map_or_else(|| "target/outage.svg".into(), PathBuf::from)),
    }
}

fn play(path: &Path) -> Result<(), Box<dyn Error>> {
    println!(
        "A server on this machine is called 400 times a second by 8 threads. It will be killed,\n\
         hang, come back slow, and work again: first without a breaker, then with one.\n"
    );
    let outage = [
        load::run("without a breaker", &OUTAGE, None)?,
        load::run("with a breaker", &OUTAGE, Some(&guard::WITH))?,
    ];
    println!("\n{}", report::of_outage(&outage));
    println!(
        "Now it is restarted, and breaks down if all calls come back while it is cold: first before\n\
         the same breaker, then before one that lets traffic return gradually.\n"
    );
    let cold_start = [
        load::run("all at once", &COLD_START, Some(&guard::ALL_AT_ONCE))?,
        load::run("gradually", &COLD_START, Some(&guard::GRADUALLY))?,
    ];
    println!("\n{}", report::of_cold_start(&cold_start));

    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    picture::draw(path, &outage, &cold_start)?;
    println!("The picture of all timelines is in {}.", path.display());
    Ok(())
}

//! A real outage, without and with a breaker.
//!
//! ```console
//! cargo run --release -p atomic-breaker-std --example outage [PICTURE.svg]
//! ```
//!
//! Starts a TCP server as a child process on this machine, and sends it calls from eight threads. The
//! server works, is killed, comes back but hangs, comes back slow, works again. All of that twice:
//! first every call goes to the server, then a breaker stands before it. Takes about 20 seconds and
//! ends with a table, a text and a picture.
//!
//! | file | what |
//! |---|---|
//! | `guard` | **the breaker, and how a call goes through it: read this first** |
//! | `scenario` | what happens to the server, and when |
//! | `server` | the child process |
//! | `load` | the threads that call, and what they write down |
//! | `report` | the table and the text |
//! | `picture` | the timelines |

mod guard;
mod load;
mod picture;
mod report;
mod scenario;
mod server;

use std::error::Error;
use std::path::{Path, PathBuf};

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
    let without = load::run("without", |address| load::call(address).into())?;
    let with = load::run("with", guard::call)?;
    let history = guard::history();

    println!("\n{}", report::table(&without, &with, &history));
    println!("{}", report::text(&without, &with, &history));

    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    picture::draw(path, &without, &with, &history)?;
    println!("The picture of both timelines is in {}.", path.display());
    Ok(())
}

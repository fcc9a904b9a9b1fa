// SPDX-License-Identifier: MIT OR Apache-2.0
//! Fetches records 0 to `COUNT` of an API, with a bar: `cargo run -- http://localhost:8080/records 10000`.

use std::error::Error;

use blocking_example::{API, agent, fetch};
use indicatif::{ProgressBar, ProgressStyle};

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let base = arguments.next().ok_or("give the address of the records")?;
    let count: u64 = arguments.next().ok_or("give their number")?.parse()?;
    let style = ProgressStyle::with_template("{bar:40} {pos} of {len}, {eta} left; {msg}")?;
    let bar = ProgressBar::new(count).with_style(style);
    let urls = (0..count).map(|number| format!("{base}/{number}"));
    let records = fetch(&API, &agent(), urls, || {
        bar.set_message(format!("the API is {}", API.state()));
        bar.inc(1);
    })?;
    bar.finish();
    println!("{} records", records.len());
    Ok(())
}

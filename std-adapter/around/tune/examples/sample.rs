// SPDX-License-Identifier: MIT OR Apache-2.0
//! A log to try the command with: forty minutes of a service with ten outages of three kinds.
//!
//! ```console
//! cargo run -p atomic-breaker-tune --example sample > target/calls.csv
//! cargo run --release -p atomic-breaker-tune -- target/calls.csv --picture target/tune.svg
//! ```

use std::io::{self, BufWriter, Write};

/// The beginning and the end of each outage, in seconds, and its effect on calls.
const OUTAGES: [(u64, u64, Outage); 10] = [
    (200, 206, Outage::Refuses),
    (430, 475, Outage::Hangs),
    (660, 664, Outage::Fails),
    (900, 960, Outage::Refuses),
    (1_140, 1_149, Outage::Hangs),
    (1_370, 1_400, Outage::Fails),
    (1_600, 1_612, Outage::Refuses),
    (1_830, 1_850, Outage::Hangs),
    (2_060, 2_078, Outage::Refuses),
    (2_290, 2_293, Outage::Refuses),
];

#[derive(Clone, Copy)]
enum Outage {
    /// Connections are refused.
    Refuses,
    /// Nothing answers within the time limit of two seconds.
    Hangs,
    /// Two of three calls fail.
    Fails,
}

fn main() -> io::Result<()> {
    let mut out = BufWriter::new(io::stdout().lock());
    let mut random = fastrand::Rng::with_seed(1);
    writeln!(out, "start_ms,duration_ms,outcome")?;
    // Fifty calls a second.
    for number in 0..40 * 60 * 50_u64 {
        let start = number * 20 + random.u64(..20);
        let second = start / 1_000;
        let outage = OUTAGES
            .iter()
            .find(|(from, until, _)| (*from..*until).contains(&second));
        let usual = 5 + random.u64(..40);
        // One of 500 fails at any time.
        let fails = random.u32(..500) == 0;
        let (duration, outcome) = match outage.map(|(.., outage)| outage) {
            None if fails => (usual, "failed"),
            None => (usual, "ok"),
            Some(Outage::Refuses) => (1, "failed"),
            Some(Outage::Hangs) => (2_000, "timeout"),
            Some(Outage::Fails) if random.u32(..3) == 0 => (usual, "ok"),
            Some(Outage::Fails) => (usual, "500"),
        };
        writeln!(out, "{start},{duration},{outcome}")?;
    }
    out.flush()
}

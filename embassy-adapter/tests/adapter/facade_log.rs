// SPDX-License-Identifier: MIT OR Apache-2.0
//! Lines of a breaker through the facade `log`.
#![cfg(feature = "log")]

use std::sync::Mutex;

use atomic_breaker_embassy::word::NativeWord;
use atomic_breaker_embassy::{Breaker, EmbassyClock, FacadeLog};
use log::{Level, LevelFilter, Log, Metadata, Record};

use super::sim::{RULES, Sim};

static LINES: Mutex<Vec<(Level, String)>> = Mutex::new(Vec::new());

struct Lines;

impl Log for Lines {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target() == "atomic_breaker"
    }

    fn log(&self, record: &Record<'_>) {
        if self.enabled(record.metadata()) {
            let line = record.args().to_string();
            LINES.lock().unwrap().push((record.level(), line));
        }
    }

    fn flush(&self) {}
}

static RADIO: Breaker<EmbassyClock, NativeWord, (), FacadeLog> =
    Breaker::builder(RULES, EmbassyClock)
        .observer(FacadeLog::new("radio"))
        .build();

#[test]
fn transitions_and_rejections_are_lines_of_their_levels() {
    log::set_logger(&Lines).unwrap();
    log::set_max_level(LevelFilter::Debug);
    let mut sim = Sim::new();
    for _ in 0..3 {
        let _ = RADIO.call(|| Err::<(), _>("no answer"));
    }
    assert!(RADIO.acquire().is_err());
    sim.pass(1_000);
    RADIO.acquire().unwrap().success();
    RADIO.force_open();
    let lines = LINES.lock().unwrap();
    let lines: Vec<_> = lines
        .iter()
        .map(|(level, line)| (*level, line.as_str()))
        .collect();
    assert_eq!(
        lines,
        [
            (
                Level::Warn,
                "radio: closed -> open: failures reached the limit, for 1s"
            ),
            (Level::Debug, "radio: circuit breaker is open, retry in 1s"),
            (
                Level::Info,
                "radio: open -> half-open: the open time is over"
            ),
            (
                Level::Info,
                "radio: half-open -> closed: enough probes succeeded"
            ),
            (Level::Warn, "radio: closed -> forced open: by command"),
        ]
    );
}

// SPDX-License-Identifier: MIT OR Apache-2.0
//! Figures side by side, and their formats.

use std::time::Duration;

/// A latency, in the unit that suits it.
pub fn latency(time: Duration) -> String {
    match time.as_micros() {
        0 => "below 1 µs".into(),
        us @ 1..1_000 => format!("{us} µs"),
        _ => format!("{:.1} ms", time.as_secs_f64() * 1e3),
    }
}

/// A time that was chosen, not measured.
pub fn chosen(time: Duration) -> String {
    match time.as_millis() {
        ms @ 0..1_000 => format!("{ms} ms"),
        _ => format!("{} s", time.as_secs_f64()),
    }
}

pub fn or_never(time: Option<Duration>) -> String {
    time.map_or_else(
        || "not within the run".into(),
        |time| format!("{} ms", time.as_millis()),
    )
}

pub fn times(n: usize) -> String {
    match n {
        0 => "never".into(),
        1 => "once".into(),
        n => format!("{n} times"),
    }
}

/// Two runs side by side.
pub struct Table<F> {
    pub text: String,
    pub figures: [F; 2],
}

impl<F> Table<F> {
    pub fn new(names: [&str; 2], figures: [F; 2]) -> Self {
        let mut text = row("", &names.map(String::from));
        text += &"─".repeat(86);
        text += "\n";
        Self { text, figures }
    }

    pub fn row(&mut self, name: &str, cell: impl Fn(&F) -> String) -> &mut Self {
        self.text += &row(name, &self.figures.each_ref().map(cell));
        self
    }
}

fn row(name: &str, [a, b]: &[String; 2]) -> String {
    let line = format!("{name:<46}{a:>20}{b:>20}");
    format!("{}\n", line.trim_end())
}

// SPDX-License-Identifier: MIT OR Apache-2.0
//! Numbers and times as text.

use std::fmt::Write as _;
use std::time::Duration;

/// `12,345`
pub(crate) fn number(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A number of calls, for a cost or a share.
#[expect(clippy::cast_precision_loss, reason = "no log has 2⁵³ calls")]
pub(crate) fn real(calls: u64) -> f64 {
    calls as f64
}

/// `1,234`, of a cost that is not negative.
#[expect(
    clippy::cast_sign_loss,
    reason = "weights and numbers of calls are at least 0"
)]
pub(crate) fn cost(cost: f64) -> String {
    number(cost.round() as u64)
}

/// `1 key`, `2 keys`
pub(crate) fn counted(count: usize, of: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{} {of}{plural}", number(count as u64))
}

/// `2 h 5 min`, `1 min 30 s`, `2.5 s`, `250 ms`
pub(crate) fn time(time: Duration) -> String {
    let secs = time.as_secs();
    match secs {
        0 => format!("{} ms", time.as_millis()),
        1..60 => format!("{:.1} s", time.as_secs_f64()),
        60..3_600 => format!("{} min {} s", secs / 60, secs % 60),
        3_600..86_400 => format!("{} h {} min", secs / 3_600, secs / 60 % 60),
        _ => format!("{} d {} h", secs / 86_400, secs / 3_600 % 24),
    }
}

/// An expression of calls as `rustfmt` breaks it, if it is long.
pub(crate) fn broken(line: &str, indent: &str) -> String {
    const WIDTH: usize = 100;
    if indent.len() + line.len() <= WIDTH {
        return format!("{indent}{line}");
    }
    let (mut text, mut depth) = (indent.to_owned(), 0);
    for (place, it) in line.char_indices() {
        match it {
            '(' => depth += 1,
            ')' => depth -= 1,
            '.' if depth == 0 && place > 0 => {
                let _ = write!(text, "\n{indent}    ");
            }
            _ => {}
        }
        text.push(it);
    }
    text
}

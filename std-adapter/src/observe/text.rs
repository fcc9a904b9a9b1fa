//! Names that may come from outside, and the words for states and causes.

use std::fmt::{self, Write};

use atomic_breaker::{Cause, State};

/// The maximum number of bytes that are kept of a name or key.
const MAX_BYTES: usize = 128;

/// A name or key in a form that is safe in a log line and in a label: at most 128 bytes, without control characters and
/// without characters that change how others are shown. Such characters are written as Rust escapes, and a longer text
/// is cut and ends in `…`. No more than that is ever assembled, however long the text is.
pub(crate) fn printable(text: impl fmt::Display) -> String {
    let mut kept = Printable(String::new());
    // An error means that there was more text.
    if write!(kept, "{text}").is_err() {
        while kept.0.len() > MAX_BYTES - '…'.len_utf8() {
            kept.0.pop();
        }
        kept.0.push('…');
    }
    kept.0
}

struct Printable(String);

impl Printable {
    fn push(&mut self, piece: &str) -> fmt::Result {
        if self.0.len() + piece.len() > MAX_BYTES {
            return Err(fmt::Error);
        }
        self.0.push_str(piece);
        Ok(())
    }
}

impl Write for Printable {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for char in text.chars() {
            if is_hidden(char) {
                let mut escaped = String::new();
                escaped.extend(char.escape_default());
                self.push(&escaped)?;
            } else {
                self.push(char.encode_utf8(&mut [0; 4]))?;
            }
        }
        Ok(())
    }
}

/// Control characters, and the Unicode characters that separate lines, join text or change its direction.
fn is_hidden(char: char) -> bool {
    char.is_control()
        || matches!(char, '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

/// The index of a state; one that is not known here has the index after the last.
#[cfg(feature = "metrics")]
pub(super) fn state_index(state: State) -> usize {
    let index = State::ALL.iter().position(|known| *known == state);
    index.unwrap_or(State::ALL.len())
}

pub(super) const fn state_name(state: State) -> &'static str {
    match state {
        State::Closed => "closed",
        State::Open => "open",
        State::HalfOpen => "half_open",
        State::Returning => "returning",
        State::ForcedOpen => "forced_open",
        State::Disabled => "disabled",
        _ => "other",
    }
}

/// The index of a cause; one that is not known here has the index after the last.
#[cfg(feature = "metrics")]
pub(super) fn cause_index(cause: Cause) -> usize {
    let index = Cause::ALL.iter().position(|known| *known == cause);
    index.unwrap_or(Cause::ALL.len())
}

pub(super) const fn cause_name(cause: Cause) -> &'static str {
    match cause {
        Cause::FailureLimit => "failure_limit",
        Cause::FailureRatio => "failure_ratio",
        Cause::TripDemanded => "trip_demanded",
        Cause::RetryAfter => "retry_after",
        Cause::OpenTimeOver => "open_time_over",
        Cause::ProbeFailed => "probe_failed",
        Cause::ProbeCancelled => "probe_cancelled",
        Cause::ProbeLost => "probe_lost",
        Cause::ProbesSucceeded => "probes_succeeded",
        Cause::TrafficReturned => "traffic_returned",
        Cause::Manual => "manual",
        Cause::Restored => "restored",
        Cause::CorruptWord => "corrupt_word",
        _ => "other",
    }
}

/// Whether rejections are enforced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    Enforced,
    /// Some are enforced, and it is not known whether this one is.
    Partial,
    Shadow,
}

impl Mode {
    #[cfg(feature = "metrics")]
    pub(super) const ALL: [Self; 3] = [Self::Enforced, Self::Partial, Self::Shadow];

    pub(super) const fn of_percent(percent: u8) -> Self {
        match percent {
            100.. => Self::Enforced,
            0 => Self::Shadow,
            1..100 => Self::Partial,
        }
    }

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Enforced => "enforced",
            Self::Partial => "partial",
            Self::Shadow => "shadow",
        }
    }
}

//! Texts that may come from outside, and the order of states.

use std::fmt::{self, Write};
use std::hash::{DefaultHasher, Hasher};

use atomic_breaker::State;

/// The most bytes of a key that are kept unchanged.
pub(super) const KEY_BYTES: usize = 256;

/// A text in at most this many bytes; a longer one is cut and ends in `…`. No longer text is ever assembled.
pub(super) fn bounded(text: &dyn fmt::Display, most: usize) -> String {
    let mut kept = Bounded {
        text: String::new(),
        most,
        rest: None,
    };
    // Only foreign `Display` code fails; its output so far is kept.
    let _ = write!(kept, "{text}");
    kept.finish()
}

/// A key as it is shown and requested. One of more than 256 bytes is cut, and ends in a number derived from all of it,
/// so that it stays distinct from similar ones.
pub(super) fn of_key(key: &dyn fmt::Display) -> String {
    let mut kept = Bounded {
        text: String::new(),
        most: KEY_BYTES,
        rest: Some(DefaultHasher::new()),
    };
    let _ = write!(kept, "{key}");
    kept.finish()
}

struct Bounded {
    text: String,
    most: usize,
    rest: Option<DefaultHasher>,
}

impl Bounded {
    fn finish(mut self) -> String {
        if self.text.len() <= self.most {
            return self.text;
        }
        let end = match self.rest {
            Some(rest) => format!("…#{:016x}", rest.finish()),
            None => "…".to_owned(),
        };
        let mut cut = self.most - end.len();
        while !self.text.is_char_boundary(cut) {
            cut -= 1;
        }
        self.text.truncate(cut);
        self.text.push_str(&end);
        self.text
    }
}

impl Write for Bounded {
    fn write_str(&mut self, piece: &str) -> fmt::Result {
        if let Some(rest) = &mut self.rest {
            rest.write(piece.as_bytes());
        }
        // One character more than is kept shows that there was more.
        for char in piece.chars() {
            if self.text.len() > self.most {
                break;
            }
            self.text.push(char);
        }
        Ok(())
    }
}

/// All of them, in the order in which an operator wants to see them.
pub(super) const STATES: [State; 6] = [
    State::ForcedOpen,
    State::Open,
    State::HalfOpen,
    State::Returning,
    State::Disabled,
    State::Closed,
];

pub(super) fn rank(state: State) -> usize {
    STATES
        .iter()
        .position(|known| *known == state)
        .unwrap_or(STATES.len())
}

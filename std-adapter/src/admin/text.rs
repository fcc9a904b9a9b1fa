//! Texts that may come from outside, and the order of states.

use std::fmt::{self, Write};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::LazyLock;

use atomic_breaker::State;

/// The most bytes of a key that are kept as they are.
pub(super) const KEY_BYTES: usize = 256;

/// A text in at most so many bytes; a longer one is cut and ends in `…`. Never more than that is put together.
pub(super) fn bounded(text: &dyn fmt::Display, most: usize) -> String {
    let mut kept = Bounded {
        text: String::new(),
        most,
        rest: None,
    };
    // Only the texts of others fail; what there is of them is kept.
    let _ = write!(kept, "{text}");
    kept.finish()
}

/// A key as it is shown and asked for. One of more than 256 bytes is cut, and ends in a number that is made of all of
/// it, so that it remains another one than its neighbours; the number differs from process to process.
pub(super) fn of_key(key: &dyn fmt::Display) -> String {
    static HASH: LazyLock<RandomState> = LazyLock::new(RandomState::new);
    let mut kept = Bounded {
        text: String::new(),
        most: KEY_BYTES,
        rest: Some(HASH.build_hasher()),
    };
    let _ = write!(kept, "{key}");
    kept.finish()
}

struct Bounded<H> {
    text: String,
    most: usize,
    rest: Option<H>,
}

type OfRandomState = <RandomState as BuildHasher>::Hasher;

impl Bounded<OfRandomState> {
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

impl Write for Bounded<OfRandomState> {
    fn write_str(&mut self, piece: &str) -> fmt::Result {
        if let Some(rest) = &mut self.rest {
            rest.write(piece.as_bytes());
        }
        // One character more than is kept says that there was more.
        for char in piece.chars() {
            if self.text.len() > self.most {
                break;
            }
            self.text.push(char);
        }
        Ok(())
    }
}

/// All of them, those first that an operator wants to see first.
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

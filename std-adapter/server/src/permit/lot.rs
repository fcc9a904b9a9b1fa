// SPDX-License-Identifier: MIT OR Apache-2.0
//! The lot of a request, which decides whether its rejections are enforced.

use std::cell::Cell;

thread_local!(static HELD: Cell<Option<Lot>> = const { Cell::new(None) });

/// A random number for all tries of one request: decides whether a rejection is enforced where only a share of them is. If
/// it were drawn at each try, no request would be rejected for long. Drawn only when it is needed.
#[derive(Clone, Copy, Debug, Default)]
pub struct Lot(Option<u32>);

impl Lot {
    /// Asks for a permit: a rejection in `ask` is decided by this lot, if it is asked in this thread.
    pub fn hold<V>(&mut self, ask: impl FnOnce() -> V) -> V {
        struct Held<'a> {
            lot: &'a mut Lot,
            before: Option<Lot>,
        }
        impl Drop for Held<'_> {
            fn drop(&mut self) {
                if let Some(lot) = HELD.replace(self.before) {
                    *self.lot = lot;
                }
            }
        }
        let before = HELD.replace(Some(*self));
        let _held = Held { lot: self, before };
        ask()
    }
}

/// The lot of the request that is asking, or a new random number.
pub(crate) fn lot(random: impl FnOnce() -> u32) -> u32 {
    let Some(Lot(drawn)) = HELD.get() else {
        return random();
    };
    drawn.unwrap_or_else(|| {
        let drawn = random();
        HELD.set(Some(Lot(Some(drawn))));
        drawn
    })
}

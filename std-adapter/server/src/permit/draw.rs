// SPDX-License-Identifier: MIT OR Apache-2.0
//! The draw of a request, which decides whether its rejections are enforced.

use std::cell::Cell;

thread_local!(static HELD: Cell<Option<EnforcementDraw>> = const { Cell::new(None) });

/// A random number for all tries of one request: decides whether a rejection is enforced where only a share of them is. If
/// it were drawn at each try, no request would be rejected for long. Drawn only when it is needed.
#[derive(Clone, Copy, Debug, Default)]
pub struct EnforcementDraw(Option<u32>);

impl EnforcementDraw {
    /// Asks for a permit: a rejection in `ask` is decided by this draw, if it is asked in this thread.
    pub fn hold<V>(&mut self, ask: impl FnOnce() -> V) -> V {
        struct Held<'a> {
            draw: &'a mut EnforcementDraw,
            before: Option<EnforcementDraw>,
        }
        impl Drop for Held<'_> {
            fn drop(&mut self) {
                if let Some(draw) = HELD.replace(self.before) {
                    *self.draw = draw;
                }
            }
        }
        let before = HELD.replace(Some(*self));
        let _held = Held { draw: self, before };
        ask()
    }
}

/// The draw of the request that is asking, or a new random number.
pub(crate) fn drawn(random: impl FnOnce() -> u32) -> u32 {
    let Some(EnforcementDraw(drawn)) = HELD.get() else {
        return random();
    };
    drawn.unwrap_or_else(|| {
        let drawn = random();
        HELD.set(Some(EnforcementDraw(Some(drawn))));
        drawn
    })
}

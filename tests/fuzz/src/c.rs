// SPDX-License-Identifier: MIT OR Apache-2.0
//! The functions of the header as a C program calls them that does everything wrong: on any word, with any settings,
//! with tokens that were never granted, that are used twice, or that are of another breaker.

use std::ffi::CStr;
use std::mem::MaybeUninit;
use std::ptr;

use atomic_breaker::word::{AtomicU32, AtomicU64, Retained};
use atomic_breaker::{Breaker, Config, ManualClock};
use atomic_breaker_c::by_rules::{narrow, wide};
use atomic_breaker_c::types::{CPermit, CRules, CSettings, CToken, NO_RULES, UNTIL_RELEASED};

use crate::draw::Draw;

/// Draws settings that a program might write, or any others.
fn settings(draw: &mut Draw<'_>) -> Option<CSettings> {
    let is_wild = draw.byte()? % 8 == 0;
    let mut of = |usual: u32| {
        let number = draw.number()?;
        Some(if is_wild { number } else { number % usual })
    };
    Some(CSettings {
        failures: of(20)?,
        window_ms: of(60_000)?,
        lasting_ms: of(200)?,
        open_ms: of(100_000)?,
        growth_percent: of(300)?,
        growth_step_ms: of(1)?,
        max_open_ms: of(1_000_000)?,
        jitter_percent: of(101)?,
        seed: of(u32::MAX)?,
        max_retry_after_ms: of(1_000_000)?,
        probes: of(8)?,
        close_after: of(8)?,
        probe_lease_ms: of(100_000)?,
        cancel_limit_ms: of(1_000)?,
        slow_call_ms: of(10_000)?,
        return_first_percent: of(100)?,
        return_over_ms: of(100_000)?,
    })
}

macro_rules! of_width {
    ($name:ident, $f:ident, $word:ident, $bits:ident) => {
        mod $name {
            use super::*;

            struct Program {
                kept: Retained<$word>,
                rules: CRules<$bits>,
                tokens: [CToken<$bits>; 4],
                /// The index of the next token.
                which: usize,
                now_ms: u32,
            }

            fn is_written(word: &$word) -> bool {
                let clock = ManualClock::starting_at(0);
                Breaker::over(word, Config::new(), &clock).check().is_ok()
            }

            /// Rules of these settings; none if the library says what is wrong with them.
            fn rules(settings: &CSettings, word: *const $word) -> Option<CRules<$bits>> {
                const { assert!(size_of::<CRules<$bits>>() <= 26 * 4) };
                let mut rules = MaybeUninit::<CRules<$bits>>::zeroed();
                // SAFETY: the pointers lead to what their types say; a mark of 0 says that nothing was made.
                unsafe {
                    let message = $f::rules_init(rules.as_mut_ptr(), settings);
                    if message.is_null() {
                        return Some(rules.assume_init());
                    }
                    let text = CStr::from_ptr(message).to_str().expect("words");
                    assert!(text.contains(": "), "{text}: which one, and what it may be");
                    let permit = $f::acquire(word, rules.as_ptr(), 0);
                    assert!(!permit.admitted && permit.wait_ms == NO_RULES);
                }
                None
            }

            pub(super) fn run(bits: $bits, draw: &mut Draw<'_>) -> Option<()> {
                let kept = Retained::<$word>::over($word::new(bits));
                let now_ms = draw.number()?;
                let rules = rules(&settings(draw)?, kept.word())?;
                let (tokens, which) = (Default::default(), 0);
                let mut program = Program {
                    kept,
                    rules,
                    tokens,
                    which,
                    now_ms,
                };
                for _ in 0..200 {
                    let was_right = is_written(program.kept.word());
                    let Some(operation) = draw.byte() else { break };
                    if program.step(operation % 24, draw).is_none() {
                        break;
                    }
                    let is_right = is_written(program.kept.word());
                    assert!(is_right || !was_right, "{operation}: a word of no breaker");
                }
                program.heals();
                Some(())
            }

            impl Program {
                /// A call, and what must hold afterwards.
                fn step(&mut self, operation: u8, draw: &mut Draw<'_>) -> Option<()> {
                    let (word, rules) = (&raw const *self.kept.word(), &raw const self.rules);
                    let now_ms = self.now_ms;
                    let token = &raw mut self.tokens[self.which];
                    // SAFETY: the pointers lead to what their types say; what is there is the program's to get wrong.
                    unsafe {
                        let before = $f::snapshot(word, rules, now_ms);
                        let changed = match operation {
                            7 => $f::report(word, rules, token, true, now_ms),
                            8 => $f::report(word, rules, token, false, now_ms),
                            9 => $f::report_failures(
                                word,
                                rules,
                                token,
                                draw.number()? as u16,
                                now_ms,
                            ),
                            10 => match draw.number()? {
                                ms if ms % 2 == 0 => {
                                    $f::report_down(word, rules, token, ms, now_ms)
                                }
                                ms => $f::report_retry_after(word, rules, token, ms, now_ms),
                            },
                            11 => $f::ignore(word, rules, token, now_ms),
                            12 => $f::cancel(word, rules, token, now_ms),
                            14 => $f::trip(word, rules, draw.number()?, now_ms),
                            15 => $f::force_open(word, rules, now_ms),
                            16 => $f::release(word, rules, now_ms),
                            17 => $f::disable(word, rules, now_ms),
                            18 => $f::enable(word, rules, now_ms),
                            19 => $f::reset(word, rules, now_ms),
                            20 => $f::probe_now(word, rules, now_ms),
                            _ => return self.other(operation, draw),
                        };
                        let after = $f::snapshot(word, rules, now_ms);
                        let has_moved = after.epoch != before.epoch;
                        assert!(has_moved || !changed, "{operation}: {before:?} {after:?}");
                        if operation < 13 {
                            assert_eq!($f::trips(token), 0, "what was reported is no token");
                        }
                        let mut none = CToken::default();
                        assert!(
                            !$f::report(word, rules, &raw mut none, true, now_ms),
                            "no token"
                        );
                    }
                    Some(())
                }

                /// Does an operation without a transition that a caller is notified of.
                fn other(&mut self, operation: u8, draw: &mut Draw<'_>) -> Option<()> {
                    let (word, rules) = (&raw const *self.kept.word(), &raw const self.rules);
                    let now_ms = self.now_ms;
                    let next = (self.which + 1) % self.tokens.len();
                    // SAFETY: as above.
                    unsafe {
                        match operation {
                            // One that nobody granted: all its fields are numbers.
                            4 => {
                                let bytes = draw.bytes::<{ size_of::<CToken<$bits>>() }>()?;
                                self.tokens[self.which] =
                                    ptr::read_unaligned(bytes.as_ptr().cast());
                            }
                            // A copy, to be used twice.
                            5 => self.tokens[next] = self.tokens[self.which],
                            6 => self.which = draw.small(self.tokens.len())?,
                            13 => {
                                let token = &raw mut self.tokens[self.which];
                                $f::renew(word, rules, token, now_ms);
                            }
                            21 => drop($f::restore(&raw const self.kept, rules, now_ms)),
                            22 => {
                                let asleep_ms = draw.number()?;
                                $f::restore_after(&raw const self.kept, rules, asleep_ms, now_ms);
                            }
                            23 => self.now_ms = now_ms.wrapping_add(draw.number()?),
                            _ => {
                                let permit = $f::acquire(word, rules, now_ms);
                                is_answer(&permit);
                                self.tokens[self.which] = permit.token;
                                self.which = next;
                            }
                        }
                    }
                    Some(())
                }

                /// No operator holds it any more, and it is asked at the time that it states.
                fn heals(&mut self) {
                    let (word, rules) = (&raw const *self.kept.word(), &raw const self.rules);
                    // SAFETY: as above.
                    unsafe {
                        $f::release(word, rules, self.now_ms);
                        $f::enable(word, rules, self.now_ms);
                        $f::release(word, rules, self.now_ms);
                        for _ in 0..100_000 {
                            let mut permit = $f::acquire(word, rules, self.now_ms);
                            if permit.admitted {
                                $f::report(word, rules, &raw mut permit.token, true, self.now_ms);
                                return;
                            }
                            assert!(permit.wait_ms < NO_RULES, "released: {}", permit.wait_ms);
                            self.now_ms = self.now_ms.wrapping_add(permit.wait_ms.max(1));
                        }
                        panic!(
                            "shut for good: {:?}",
                            $f::snapshot(word, rules, self.now_ms)
                        );
                    }
                }
            }
        }
    };
}

of_width!(of_32_bits, narrow, AtomicU32, u32);
of_width!(of_64_bits, wide, AtomicU64, u64);

/// Admitted with a token, or rejected with a time.
fn is_answer<N: Copy + Default + PartialEq>(permit: &CPermit<N>) {
    let is_none = permit.token == CToken::default();
    if permit.admitted {
        assert!(!is_none && permit.wait_ms == 0);
    } else {
        assert!(is_none && permit.wait_ms != NO_RULES);
        assert!(permit.wait_ms > 0 || permit.wait_ms == UNTIL_RELEASED);
    }
}

pub(crate) fn any(bytes: &[u8]) {
    let mut draw = Draw(bytes);
    let Some(bits) = draw.bytes().map(u64::from_le_bytes) else {
        return;
    };
    let rest = draw.0;
    of_64_bits::run(bits, &mut Draw(rest));
    of_32_bits::run(bits as u32, &mut Draw(rest));
}

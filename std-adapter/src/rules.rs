// SPDX-License-Identifier: MIT OR Apache-2.0
//! Rules that are set while calls are under way, read without a write.

use std::fmt;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering, fence};

use atomic_breaker::{
    ConfigError, LaterRules, Rules,
    word::{Bits, NativeBits},
};

/// Stores the rules that are set on a breaker while it is in use, as in an
/// [`AdjustableBreaker`](crate::AdjustableBreaker). Reading them takes no lock and no write.
///
/// Each set of rules is kept once, until this is dropped: setting the same rules again takes no more memory. There is
/// room for 65,536 different ones. They are never moved, so that they can be borrowed without reference counting.
///
/// This takes 368 bytes, plus up to 200 for each set of rules. A call reads one additional number; once rules have been
/// set, it also looks them up in a table. `R` is what is kept: [`Rules`], or rules together with what follows from them,
/// for breakers that choose among rules by their [index](Self::insert).
pub struct KeptRules<R = Rules<NativeBits>> {
    /// Room for 4, 4, 8, 16 and so on up to 32,768 sets: one per index.
    chunks: [OnceLock<Chunk<R>>; CHUNKS],
    /// The index of the rules that were set last, plus 1; 0 until some are.
    current: AtomicU32,
}

const CHUNKS: usize = 15;

type Chunk<R> = Box<[OnceLock<R>]>;

impl<R> KeptRules<R> {
    /// Keeps no rules yet.
    pub const fn new() -> Self {
        Self {
            chunks: [const { OnceLock::new() }; CHUNKS],
            current: AtomicU32::new(0),
        }
    }

    /// Returns rules that were [inserted](Self::insert). The index may have been passed on with relaxed ordering.
    ///
    /// # Panics
    /// If no rules were inserted at this index.
    #[inline]
    pub fn get(&self, index: u16) -> &R {
        match self.peek(index) {
            Some(rules) => rules,
            None => self.get_after_fence(index),
        }
    }

    /// Finds rules whose index was seen before them: this fence, together with the one in `insert`, orders them.
    #[cold]
    fn get_after_fence(&self, index: u16) -> &R {
        fence(Ordering::Acquire);
        match self.peek(index) {
            Some(rules) => rules,
            None => unreachable!("an index is handed out when its rules are inserted"),
        }
    }

    /// The rules that were set last.
    #[inline]
    fn latest(&self) -> Option<&R> {
        // The rules themselves are published by the chunks.
        let next = self.current.load(Ordering::Relaxed);
        Some(self.get(next.checked_sub(1)? as u16))
    }

    #[inline]
    fn peek(&self, index: u16) -> Option<&R> {
        let (chunk, place) = position(index);
        self.chunks[chunk].get()?[place].get()
    }
}

impl<R: Copy + PartialEq> KeptRules<R> {
    /// Keeps rules, and returns their index: that of equal ones, or a new one. Nothing begins to use them. May be called
    /// from any number of threads.
    ///
    /// # Errors
    /// [`ConfigError::TOO_MANY_RULES`] if there are 65,536 different ones already.
    pub fn insert(&self, rules: R) -> Result<u16, ConfigError> {
        for index in 0..=u16::MAX {
            let (chunk, place) = position(index);
            let chunk = self.chunks[chunk].get_or_init(|| new_chunk(chunk));
            if *chunk[place].get_or_init(|| rules) == rules {
                fence(Ordering::Release);
                return Ok(index);
            }
        }
        Err(ConfigError::TOO_MANY_RULES)
    }
}

impl<R> Default for KeptRules<R> {
    fn default() -> Self {
        Self::new()
    }
}

impl<R: fmt::Debug> fmt::Debug for KeptRules<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("KeptRules").field(&self.latest()).finish()
    }
}

impl<B: Bits> LaterRules<B> for KeptRules<Rules<B>> {
    #[inline]
    fn current(&self) -> Option<&Rules<B>> {
        self.latest()
    }

    fn set(&self, rules: Rules<B>) -> Result<(), ConfigError> {
        let index = self.insert(rules)?;
        self.current.store(u32::from(index) + 1, Ordering::Relaxed);
        Ok(())
    }
}

/// The chunk of an index, and the place in it.
#[inline]
const fn position(index: u16) -> (usize, usize) {
    let chunk = (index | 3).ilog2() as usize - 1;
    (chunk, index as usize - (2 << chunk & !3))
}

fn new_chunk<R>(chunk: usize) -> Chunk<R> {
    let length = (2 << chunk).max(4);
    (0..length).map(|_| OnceLock::new()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::array;

    use loom::sync::Arc;
    use loom::sync::atomic::{AtomicBool, AtomicUsize};

    #[test]
    fn every_index_has_a_place_of_its_own_and_no_place_is_left_over() {
        let mut next = [0; CHUNKS];
        for index in 0..=u16::MAX {
            let (chunk, place) = position(index);
            assert_eq!(place, next[chunk], "{index}");
            next[chunk] += 1;
        }
        for (chunk, used) in next.into_iter().enumerate() {
            assert_eq!(new_chunk::<()>(chunk).len(), used);
        }
    }

    #[test]
    fn equal_rules_are_kept_once_whoever_sets_them() {
        let table = KeptRules::new();
        std::thread::scope(|scope| {
            let set = || {
                (0..300)
                    .map(|n| table.insert(n % 100).unwrap())
                    .collect::<Vec<_>>()
            };
            let all =
                array::from_fn::<_, 4, _>(|_| scope.spawn(set)).map(|set| set.join().unwrap());
            for ids in all {
                assert!(
                    ids.iter()
                        .zip(0..)
                        .all(|(id, n)| *table.get(*id) == n % 100)
                );
                assert!(ids.iter().all(|id| *id < 100));
            }
        });
    }

    /// The place of the rules is filled, then their index is passed on; a thread that sees the index looks at the
    /// place.
    fn the_index_is_handed_on(has_fences: bool) {
        loom::model(move || {
            let place = Arc::new((AtomicBool::new(false), AtomicUsize::new(0)));
            let setter = loom::thread::spawn({
                let place = Arc::clone(&place);
                move || {
                    place.0.store(true, Ordering::Release);
                    if has_fences {
                        loom::sync::atomic::fence(Ordering::Release);
                    }
                    place.1.store(1, Ordering::Relaxed);
                }
            });
            if place.1.load(Ordering::Relaxed) == 1 && !place.0.load(Ordering::Acquire) {
                if has_fences {
                    loom::sync::atomic::fence(Ordering::Acquire);
                }
                assert!(place.0.load(Ordering::Acquire), "an index without rules");
            }
            setter.join().unwrap();
        });
    }

    #[test]
    fn an_index_that_is_seen_has_rules() {
        the_index_is_handed_on(true);
    }

    #[test]
    #[should_panic(expected = "an index without rules")]
    fn control_without_fences_an_index_may_be_seen_before_its_rules() {
        the_index_is_handed_on(false);
    }
}

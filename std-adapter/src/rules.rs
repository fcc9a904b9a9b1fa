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
/// room for 65,536 different ones.
///
/// This takes 368 bytes, plus up to 200 for each set of rules. A call reads one additional number; once rules have been
/// set, it also looks them up in a table.
pub struct KeptRules<B = NativeBits> {
    table: Table<Rules<B>>,
    /// One more than the index of the rules; 0 until some are set.
    current: AtomicU32,
}

impl<B> KeptRules<B> {
    /// None yet.
    pub const fn new() -> Self {
        Self {
            table: Table::new(),
            current: AtomicU32::new(0),
        }
    }
}

impl<B> Default for KeptRules<B> {
    fn default() -> Self {
        Self::new()
    }
}

impl<B: Bits> LaterRules<B> for KeptRules<B> {
    #[inline]
    fn current(&self) -> Option<&Rules<B>> {
        // The rules themselves are published by the table.
        let next = self.current.load(Ordering::Relaxed);
        Some(self.table.get(next.checked_sub(1)? as u16))
    }

    fn set(&self, rules: Rules<B>) -> Result<(), ConfigError> {
        let inserted = self.table.insert(rules);
        let id = inserted.map_err(|TableFull| ConfigError::TOO_MANY_RULES)?;
        self.current.store(u32::from(id) + 1, Ordering::Relaxed);
        Ok(())
    }
}

impl<B: Bits> fmt::Debug for KeptRules<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("KeptRules").field(&self.current()).finish()
    }
}

/// Which rules: an index of the [`Table`].
pub type RuleId = u16;

/// Chunks of 4, 4, 8, 16 and so on up to 32,768: room for one entry per index.
const CHUNKS: usize = 15;

/// Sets of rules that are never dropped or moved, so that they can be borrowed without reference counting. The table
/// takes 360 bytes while it is empty, and then at most twice as much as the sets themselves.
#[derive(Debug)]
pub struct Table<T>([OnceLock<Chunk<T>>; CHUNKS]);

type Chunk<T> = Box<[OnceLock<T>]>;

/// All indices are in use.
#[derive(Debug)]
pub struct TableFull;

impl<T> Default for Table<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> Table<T> {
    /// No rules yet.
    pub const fn new() -> Self {
        Self([const { OnceLock::new() }; CHUNKS])
    }

    /// Returns rules that were inserted. The index may have been passed on with relaxed ordering.
    #[inline]
    pub fn get(&self, id: RuleId) -> &T {
        match self.peek(id) {
            Some(rules) => rules,
            None => self.get_after_fence(id),
        }
    }

    /// For an index that was seen before its rules: this fence, together with the one in `insert`, orders them.
    #[cold]
    fn get_after_fence(&self, id: RuleId) -> &T {
        fence(Ordering::Acquire);
        match self.peek(id) {
            Some(rules) => rules,
            None => unreachable!("an index is handed out when its rules are set"),
        }
    }

    #[inline]
    fn peek(&self, id: RuleId) -> Option<&T> {
        let (chunk, index) = position(id);
        self.0[chunk].get()?[index].get()
    }
}

impl<T: Copy + PartialEq> Table<T> {
    /// Returns the index of the rules: that of equal ones, or a new one. May be called from any number of threads.
    ///
    /// # Errors
    /// [`TableFull`] if there are 65,536 different ones already.
    pub fn insert(&self, rules: T) -> Result<RuleId, TableFull> {
        for id in 0..=RuleId::MAX {
            let (chunk, index) = position(id);
            let chunk = self.0[chunk].get_or_init(|| new_chunk(chunk));
            if *chunk[index].get_or_init(|| rules) == rules {
                fence(Ordering::Release);
                return Ok(id);
            }
        }
        Err(TableFull)
    }
}

/// The chunk of an index, and the place in it.
#[inline]
const fn position(id: RuleId) -> (usize, usize) {
    let chunk = (id | 3).ilog2() as usize - 1;
    (chunk, id as usize - (2 << chunk & !3))
}

fn new_chunk<T>(chunk: usize) -> Chunk<T> {
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
        for id in 0..=RuleId::MAX {
            let (chunk, index) = position(id);
            assert_eq!(index, next[chunk], "{id}");
            next[chunk] += 1;
        }
        for (chunk, used) in next.into_iter().enumerate() {
            assert_eq!(new_chunk::<()>(chunk).len(), used);
        }
    }

    #[test]
    fn equal_rules_are_kept_once_whoever_sets_them() {
        let table = Table::new();
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

//! Slots of keys: found and taken without a lock, by processes that may be killed at any step.
//!
//! A slot is taken by swapping its tag from 0 to one made of the key's length and hash. Then the words of the key are
//! swapped from 0, one after the other; a written one is never 0. A process that meets a word that is still 0 writes it
//! on behalf of the one that took the slot; a process that meets a word of another key goes on to the next slot. No
//! word changes twice, so all processes agree about a key: it has one slot, whichever process dies.

use std::hash::{BuildHasher, RandomState};
use std::ptr;
use std::sync::atomic::Ordering;

use atomic_breaker::word::AtomicU64;

use super::layout::{BYTES_IN_WORD, HEADER, KEY, KEYS, REFUSED, SECRET, Shape, TAG, WORD};
use super::sip::sip_hash;

/// How far a key may lie from where its hash points. Half of the slots are free, so only a damaged slab comes near it.
const MAX_STEPS: usize = 256;

const TAKEN: u64 = 1 << 63;
const LENGTH_SHIFT: u32 = 53;
const HASH: u64 = (1 << LENGTH_SHIFT) - 1;

#[derive(Clone, Copy)]
pub(super) struct Slots<'a> {
    pub(super) words: &'a [AtomicU64],
    pub(super) shape: Shape,
}

impl<'a> Slots<'a> {
    /// The word of a key that has a slot.
    pub(super) fn find(self, key: &[u8]) -> Option<&'a AtomicU64> {
        let (tag, steps) = self.search(key);
        for slot in steps {
            match slot[TAG].load(Ordering::Acquire) {
                0 => return None,
                found if found == tag && is_key(slot, key) => return Some(&slot[WORD]),
                _ => (),
            }
        }
        None
    }

    /// The word of a key, in a new slot if it has none; `None` if all are taken.
    pub(super) fn find_or_take(self, key: &[u8]) -> Option<&'a AtomicU64> {
        let (tag, steps) = self.search(key);
        for slot in steps {
            let mut found = slot[TAG].load(Ordering::Acquire);
            if found == 0 {
                if self.keys() >= self.shape.capacity.into() {
                    return None;
                }
                found = take(&slot[TAG], tag);
                if found == 0 {
                    self.words[KEYS].fetch_add(1, Ordering::Relaxed);
                    found = tag;
                }
            }
            if found == tag && become_key(slot, key) {
                return Some(&slot[WORD]);
            }
        }
        None
    }

    /// All complete keys and their words, if calls find them there, as they do unless slots are damaged.
    pub(super) fn all(self) -> impl Iterator<Item = (Vec<u8>, &'a AtomicU64)> {
        (0..self.shape.slots()).filter_map(move |index| {
            let slot = self.slot(index);
            let key = read_key(slot)?;
            let word = self.find(&key)?;
            ptr::eq(word, &raw const slot[WORD]).then_some((key, word))
        })
    }

    pub(super) fn keys(self) -> u64 {
        self.words[KEYS].load(Ordering::Relaxed)
    }

    pub(super) fn refused(self) -> u64 {
        self.words[REFUSED].load(Ordering::Relaxed)
    }

    pub(super) fn count_refused(self) {
        self.words[REFUSED].fetch_add(1, Ordering::Relaxed);
    }

    /// The tag of the key, and the slots that it may be in, in order.
    fn search(self, key: &[u8]) -> (u64, impl Iterator<Item = &'a [AtomicU64]>) {
        let secret = [SECRET, SECRET + 1].map(|index| self.words[index].load(Ordering::Relaxed));
        let hash = sip_hash(secret, key);
        let slots = self.shape.slots();
        // The high bits give the place, the low ones go into the tag.
        let first = ((u128::from(hash) * slots as u128) >> u64::BITS) as usize;
        let tag = TAKEN | (key.len() as u64) << LENGTH_SHIFT | hash & HASH;
        let steps = (first..first + MAX_STEPS.min(slots)).map(move |index| {
            let beyond = index.checked_sub(slots);
            self.slot(beyond.unwrap_or(index))
        });
        (tag, steps)
    }

    #[inline]
    fn slot(self, index: usize) -> &'a [AtomicU64] {
        let stride = self.shape.stride();
        let first = HEADER + index * stride;
        &self.words[first..first + stride]
    }
}

/// Swaps 0 for a value; returns what was there before.
fn take(word: &AtomicU64, value: u64) -> u64 {
    word.compare_exchange(0, value, Ordering::AcqRel, Ordering::Acquire)
        .unwrap_or_else(|found| found)
}

/// The key in words, none of which is 0: seven bytes, and above them how many of them count, with the top bit set.
fn words_of(key: &[u8]) -> impl Iterator<Item = u64> {
    let parts = key.chunks_exact(BYTES_IN_WORD);
    let rest = parts.remainder();
    let rest = (!rest.is_empty()).then(|| {
        let bytes = rest.iter().rev();
        let low = bytes.fold(0, |word, byte| word << 8 | u64::from(*byte));
        low | (0x80 | rest.len() as u64) << 56
    });
    let parts = parts.map(|part| {
        let mut bytes = [0x80 | BYTES_IN_WORD as u8; 8];
        bytes[..BYTES_IN_WORD].copy_from_slice(part);
        u64::from_le_bytes(bytes)
    });
    parts.chain(rest)
}

fn is_key(slot: &[AtomicU64], key: &[u8]) -> bool {
    let mut words = words_of(key).zip(&slot[KEY..]);
    words.all(|(own, word)| word.load(Ordering::Acquire) == own)
}

/// Writes what is not written yet. Returns whether the slot is this key's.
fn become_key(slot: &[AtomicU64], key: &[u8]) -> bool {
    let mut words = words_of(key).zip(&slot[KEY..]);
    words.all(|(own, word)| {
        let mut found = word.load(Ordering::Acquire);
        if found == 0 {
            found = take(word, own);
        }
        found == 0 || found == own
    })
}

/// The key of a slot; `None` if it is free, incomplete, or damaged.
fn read_key(slot: &[AtomicU64]) -> Option<Vec<u8>> {
    let tag = slot[TAG].load(Ordering::Acquire);
    let length = ((tag & !TAKEN) >> LENGTH_SHIFT) as usize;
    if tag & TAKEN == 0 {
        return None;
    }
    let mut key = Vec::with_capacity(length);
    for word in slot[KEY..].iter().take(length.div_ceil(BYTES_IN_WORD)) {
        let bytes = word.load(Ordering::Acquire).to_le_bytes();
        let part = bytes[BYTES_IN_WORD].checked_sub(0x80)?.into();
        key.extend_from_slice(bytes[..BYTES_IN_WORD].get(..part)?);
    }
    (key.len() == length).then_some(key)
}

/// Draws random bits, the way the hashers of `std` do.
pub(super) fn draw_secret(words: &[AtomicU64]) {
    for secret in [SECRET, SECRET + 1] {
        let random = RandomState::new().hash_one(secret);
        words[secret].store(random, Ordering::Relaxed);
    }
}

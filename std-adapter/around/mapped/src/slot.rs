// SPDX-License-Identifier: MIT OR Apache-2.0
//! Slots of keys: found and taken without a lock, by processes that may be killed at any step.
//!
//! A slot is taken by swapping its tag from 0 to one made of the key's length and hash. Then the words of the key are
//! swapped from 0, one after the other; a written one is never 0. A process that meets a word that is still 0 writes it
//! on behalf of the one that took the slot; a process that meets a word of another key goes on to the next slot. No
//! word changes twice, so all processes agree about a key: it has one slot, whichever process dies.

use std::hash::{BuildHasher, RandomState};
use std::ptr;
use std::sync::atomic::Ordering;

use atomic_breaker_std::word::AtomicU64;
use siphasher::sip::SipHasher24;

use crate::layout::{BYTES_IN_WORD, HEADER, KEY, KEYS, SECRET, Shape, TAG, WORD};

/// The greatest distance of a key from the slot that its hash points to. Half of the slots are free, so only a damaged
/// slab comes near it.
const MAX_STEPS: usize = 256;

const TAKEN: u64 = 1 << 63;
const LENGTH_SHIFT: u32 = 53;
const HASH: u64 = (1 << LENGTH_SHIFT) - 1;

#[derive(Clone, Copy)]
pub(crate) struct Slots<'a> {
    pub(crate) words: &'a [AtomicU64],
    pub(crate) shape: Shape,
}

impl<'a> Slots<'a> {
    /// The word of a key. If it has no slot, it takes one if `takes`, unless all are taken.
    pub(crate) fn find(self, key: &[u8], takes: bool) -> Option<&'a AtomicU64> {
        let (tag, steps) = self.search(key);
        for slot in steps {
            let mut found = slot[TAG].load(Ordering::Acquire);
            if found == 0 {
                if !takes || self.keys() >= self.shape.capacity.into() {
                    return None;
                }
                found = take(&slot[TAG], tag);
                if found == 0 {
                    self.words[KEYS].fetch_add(1, Ordering::Relaxed);
                    found = tag;
                }
            }
            if found == tag && is_key(slot, key, takes) {
                return Some(&slot[WORD]);
            }
        }
        None
    }

    /// All complete keys and their words, if calls find them there, as they do unless slots are damaged.
    pub(crate) fn all(self) -> impl Iterator<Item = (Vec<u8>, &'a AtomicU64)> {
        (0..self.shape.slots()).filter_map(move |index| {
            let slot = self.slot(index);
            let key = read_key(slot)?;
            let word = self.find(&key, false)?;
            ptr::eq(word, &raw const slot[WORD]).then_some((key, word))
        })
    }

    pub(crate) fn keys(self) -> u64 {
        self.words[KEYS].load(Ordering::Relaxed)
    }

    /// The tag of the key, and the slots that it may be in, in order.
    fn search(self, key: &[u8]) -> (u64, impl Iterator<Item = &'a [AtomicU64]>) {
        let [k0, k1] = [SECRET, SECRET + 1].map(|at| self.words[at].load(Ordering::Relaxed));
        let hash = SipHasher24::new_with_keys(k0, k1).hash(key);
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

/// Returns whether the slot is this key's. Any part that is not written yet is written if `takes`.
fn is_key(slot: &[AtomicU64], key: &[u8], takes: bool) -> bool {
    let mut words = words_of(key).zip(&slot[KEY..]);
    words.all(|(own, word)| match word.load(Ordering::Acquire) {
        0 if takes => [0, own].contains(&take(word, own)),
        found => found == own,
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

/// Random bits for the secret of the hash.
pub(crate) fn draw_secret() -> [u64; 2] {
    [(); 2].map(|()| RandomState::new().hash_one(()))
}

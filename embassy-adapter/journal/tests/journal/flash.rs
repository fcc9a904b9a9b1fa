// SPDX-License-Identifier: MIT OR Apache-2.0
//! A model of flash that follows the contract of the traits and is no kinder: power fails after any byte of a write
//! and at any moment of an erase, and what was being written or erased is then undefined.

use std::cell::RefCell;
use std::future::poll_fn;
use std::rc::Rc;
use std::task::Poll;

use embedded_storage_async::nor_flash::{
    ErrorType, MultiwriteNorFlash, NorFlash, NorFlashError, NorFlashErrorKind, ReadNorFlash,
};

use super::power::{tear_erase, tear_write};
use super::random::Random;

/// The power has failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Cut;

impl NorFlashError for Cut {
    fn kind(&self) -> NorFlashErrorKind {
        NorFlashErrorKind::Other
    }
}

/// A chip that reads `R`, writes `W` and erases `E` bytes. Clones are the same chip.
#[derive(Clone)]
pub(crate) struct Chip<const R: usize, const W: usize, const E: usize> {
    inner: Rc<RefCell<Inner>>,
}

struct Inner {
    bytes: Vec<u8>,
    /// The byte of each write that was begun since the last whole erase, even if the power failed and nothing is left to
    /// read.
    begun: Vec<Option<u8>>,
    /// Bits have changed by themselves: of a record whose header has, nothing tells where it ends, and so which word
    /// after it was begun.
    is_rotten: bool,
    /// Bytes that may still be written or erased before the power fails.
    left: Option<u64>,
    /// Nothing happens any more, whatever is asked for.
    is_dead: bool,
    spent: u64,
    erases: u64,
    random: Random,
    /// `true` if operations take several polls.
    is_slow: bool,
    kind: Kind,
}

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    /// A word in which the power fails is undefined, and none is written twice.
    Plain,
    /// Bits that are not erased may be written again, as of a `MultiwriteNorFlash`.
    Rewritable,
    /// The word in which the power fails reads as erased.
    Forgetful,
}

impl Inner {
    /// Checks that the power lasts for another byte.
    fn spend(&mut self) -> Result<(), Cut> {
        match &mut self.left {
            Some(0) => {
                self.is_dead = true;
                return Err(Cut);
            }
            Some(left) => *left -= 1,
            None => {}
        }
        self.spent += 1;
        Ok(())
    }

    fn is_off(&self) -> bool {
        self.left == Some(0)
    }
}

impl<const R: usize, const W: usize, const E: usize> Chip<R, W, E> {
    /// An erased chip.
    pub(crate) fn new(pages: usize, seed: u64) -> Self {
        Self::holding(vec![0xFF; pages * E], seed)
    }

    pub(crate) fn holding(bytes: Vec<u8>, seed: u64) -> Self {
        Self {
            inner: Rc::new(RefCell::new(Inner {
                begun: vec![None; bytes.len()],
                is_rotten: false,
                bytes,
                left: None,
                is_dead: false,
                spent: 0,
                erases: 0,
                random: Random::new(seed),
                is_slow: false,
                kind: Kind::Plain,
            })),
        }
    }

    /// Lets the power fail after that many more bytes.
    pub(crate) fn cut_after(&self, bytes: u64) {
        self.inner.borrow_mut().left = Some(bytes);
    }

    pub(crate) fn power_up(&self) {
        let inner = &mut *self.inner.borrow_mut();
        (inner.left, inner.is_dead) = (None, false);
    }

    pub(crate) fn is_off(&self) -> bool {
        self.inner.borrow().is_off()
    }

    /// From now on each operation takes some polls.
    pub(crate) fn slow_down(&self) {
        self.inner.borrow_mut().is_slow = true;
    }

    /// From now on what is not erased may be written, and a write that is cut off leaves only bits that it was to
    /// write.
    pub(crate) fn allow_rewrites(&self) {
        self.inner.borrow_mut().kind = Kind::Rewritable;
    }

    /// From now on nothing is left to read of a word that is cut off.
    pub(crate) fn lose_what_is_cut_off(&self) {
        self.inner.borrow_mut().kind = Kind::Forgetful;
    }

    /// Bytes written and erased so far.
    pub(crate) fn spent(&self) -> u64 {
        self.inner.borrow().spent
    }

    /// Pages erased so far.
    pub(crate) fn erases(&self) -> u64 {
        self.inner.borrow().erases
    }

    pub(crate) fn bytes(&self) -> Vec<u8> {
        self.inner.borrow().bytes.clone()
    }

    /// Its whole range.
    pub(crate) fn range(&self) -> std::ops::Range<u32> {
        0..self.inner.borrow().bytes.len() as u32
    }

    /// Lets bits change by themselves.
    pub(crate) fn change(&self, change: impl FnOnce(&mut [u8])) {
        let inner = &mut *self.inner.borrow_mut();
        change(&mut inner.bytes);
        inner.is_rotten = true;
    }

    /// Lets other tasks run once, if the chip is slow.
    async fn pause(&self) {
        let mut is_over = !self.inner.borrow().is_slow;
        poll_fn(|_| {
            if std::mem::replace(&mut is_over, true) {
                Poll::Ready(())
            } else {
                Poll::Pending
            }
        })
        .await;
    }

    fn write_byte(&self, at: usize, byte: u8) -> Result<(), Cut> {
        let inner = &mut *self.inner.borrow_mut();
        if inner.is_dead {
            return Err(Cut);
        }
        if inner.spend().is_err() {
            let (word, place) = (at - at % W, at % W);
            if inner.kind == Kind::Forgetful {
                inner.bytes[word..word + W].fill(0xFF);
                return Err(Cut);
            }
            tear_write(
                &mut inner.bytes[word..word + W],
                (place, byte),
                inner.kind == Kind::Rewritable,
                &mut inner.random,
            );
            return Err(Cut);
        }
        inner.bytes[at] &= byte;
        Ok(())
    }

    fn erase_page(&self, page: usize) -> Result<(), Cut> {
        let inner = &mut *self.inner.borrow_mut();
        if inner.is_dead {
            return Err(Cut);
        }
        for done in 0..E {
            if inner.spend().is_ok() {
                continue;
            }
            tear_erase(&mut inner.bytes[page..page + E], done, &mut inner.random);
            return Err(Cut);
        }
        inner.bytes[page..page + E].fill(0xFF);
        inner.begun[page..page + E].fill(None);
        inner.erases += 1;
        Ok(())
    }

    /// "It is not allowed to write to the same word twice." After a cut nobody can know of a write that left nothing to
    /// read, so that one may be repeated; other bytes must not come there.
    fn begin_word(&self, at: usize, word: &[u8]) {
        let inner = &mut *self.inner.borrow_mut();
        if inner.is_dead || inner.kind == Kind::Rewritable {
            return;
        }
        let is_erased = inner.bytes[at..at + W].iter().all(|byte| *byte == 0xFF);
        assert!(is_erased, "written twice, at {at:#x}");
        for (begun, byte) in inner.begun[at..at + W].iter_mut().zip(word) {
            let before = begun.replace(*byte);
            let is_repeated = before.is_none_or(|before| before == *byte);
            assert!(
                is_repeated || inner.is_rotten,
                "written over a write that was cut off, at {at:#x}"
            );
        }
    }

    fn check_power(&self) -> Result<(), Cut> {
        if self.is_off() { Err(Cut) } else { Ok(()) }
    }
}

impl<const R: usize, const W: usize, const E: usize> ErrorType for Chip<R, W, E> {
    type Error = Cut;
}

impl<const R: usize, const W: usize, const E: usize> ReadNorFlash for Chip<R, W, E> {
    const READ_SIZE: usize = R;

    async fn read(&mut self, offset: u32, bytes: &mut [u8]) -> Result<(), Cut> {
        let at = offset as usize;
        assert!(at.is_multiple_of(R) && bytes.len().is_multiple_of(R) && !bytes.is_empty());
        self.pause().await;
        self.check_power()?;
        bytes.copy_from_slice(&self.inner.borrow().bytes[at..at + bytes.len()]);
        Ok(())
    }

    fn capacity(&self) -> usize {
        self.inner.borrow().bytes.len()
    }
}

impl<const R: usize, const W: usize, const E: usize> MultiwriteNorFlash for Chip<R, W, E> {}

impl<const R: usize, const W: usize, const E: usize> NorFlash for Chip<R, W, E> {
    const WRITE_SIZE: usize = W;
    const ERASE_SIZE: usize = E;

    async fn erase(&mut self, from: u32, to: u32) -> Result<(), Cut> {
        let (from, to) = (from as usize, to as usize);
        assert!(from.is_multiple_of(E) && to.is_multiple_of(E) && from < to);
        for page in (from..to).step_by(E) {
            self.pause().await;
            self.erase_page(page)?;
            self.pause().await;
        }
        Ok(())
    }

    async fn write(&mut self, offset: u32, bytes: &[u8]) -> Result<(), Cut> {
        let at = offset as usize;
        assert!(at.is_multiple_of(W) && bytes.len().is_multiple_of(W) && !bytes.is_empty());
        for (word, part) in bytes.chunks(W).enumerate() {
            self.pause().await;
            let at = at + word * W;
            self.begin_word(at, part);
            for (place, byte) in part.iter().enumerate() {
                self.write_byte(at + place, *byte)?;
            }
        }
        self.pause().await;
        Ok(())
    }
}

// SPDX-License-Identifier: MIT OR Apache-2.0
//! A chip of which several pages are ill.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use embedded_storage_async::nor_flash::{ErrorType, NorFlash, ReadNorFlash};

use super::flash::{Chip, Cut};
use super::refuses::Refuses;

/// A chip whose pages refuse, each in its own way.
#[derive(Clone)]
pub(crate) struct Pages<const R: usize, const W: usize, const E: usize> {
    pub(crate) chip: Chip<R, W, E>,
    pub(crate) refuses: Rc<RefCell<Vec<Option<Refuses>>>>,
    /// Of this page the second half keeps its bytes.
    pub(crate) half: Rc<Cell<Option<usize>>>,
    /// The number of further reads that are right before one that finds erased flash.
    pub(crate) wrong: Rc<Cell<Option<u32>>>,
}

impl<const R: usize, const W: usize, const E: usize> Pages<R, W, E> {
    pub(crate) fn new(pages: usize, seed: u64) -> Self {
        let chip = Chip::new(pages, seed);
        chip.allow_rewrites();
        Self {
            chip,
            refuses: Rc::new(RefCell::new(vec![None; pages])),
            half: Rc::default(),
            wrong: Rc::default(),
        }
    }

    fn refusal(&self, at: u32, is_write: bool) -> Option<Refuses> {
        let refuses = self.refuses.borrow()[at as usize / E]?;
        let is_head = at as usize % E < 32;
        match refuses {
            Refuses::Erases { .. } => !is_write,
            Refuses::Head { .. } => is_write && is_head,
            Refuses::AllWrites { .. } => is_write,
            Refuses::Records { .. } => is_write && !is_head,
        }
        .then_some(refuses)
    }
}

impl<const R: usize, const W: usize, const E: usize> ErrorType for Pages<R, W, E> {
    type Error = Cut;
}

impl<const R: usize, const W: usize, const E: usize> ReadNorFlash for Pages<R, W, E> {
    const READ_SIZE: usize = R;

    async fn read(&mut self, offset: u32, bytes: &mut [u8]) -> Result<(), Cut> {
        self.chip.read(offset, bytes).await?;
        if self.wrong.get() == Some(0) {
            bytes.fill(0xFF);
        }
        self.wrong
            .set(self.wrong.get().and_then(|left| left.checked_sub(1)));
        Ok(())
    }

    fn capacity(&self) -> usize {
        self.chip.capacity()
    }
}

impl<const R: usize, const W: usize, const E: usize> NorFlash for Pages<R, W, E> {
    const WRITE_SIZE: usize = W;
    const ERASE_SIZE: usize = E;

    async fn erase(&mut self, from: u32, to: u32) -> Result<(), Cut> {
        if let Some(refuses) = self.refusal(from, false) {
            return refuses.answer();
        }
        let before = self.chip.bytes();
        self.chip.erase(from, to).await?;
        let page = from as usize / E;
        if self.half.get() == Some(page) {
            let half = page * E + E / 2..(page + 1) * E;
            self.chip
                .change(|bytes| bytes[half.clone()].copy_from_slice(&before[half]));
        }
        Ok(())
    }

    async fn write(&mut self, offset: u32, bytes: &[u8]) -> Result<(), Cut> {
        match self.refusal(offset, true) {
            Some(refuses) => refuses.answer(),
            None => self.chip.write(offset, bytes).await,
        }
    }
}

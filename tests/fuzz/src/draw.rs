// SPDX-License-Identifier: MIT OR Apache-2.0
//! Bytes read as numbers and choices, until they are over.

pub(crate) struct Draw<'a>(pub(crate) &'a [u8]);

impl<'a> Draw<'a> {
    pub(crate) fn byte(&mut self) -> Option<u8> {
        let (first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(*first)
    }

    /// The next bytes, in a row.
    pub(crate) fn bytes<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (first, rest) = self.0.split_first_chunk::<N>()?;
        self.0 = rest;
        Some(*first)
    }

    /// As many bytes as the next one says, or as are left.
    pub(crate) fn piece(&mut self) -> Option<&'a [u8]> {
        let long = usize::from(self.byte()?).min(self.0.len());
        let (piece, rest) = self.0.split_at(long);
        self.0 = rest;
        Some(piece)
    }

    /// Less than `end`.
    pub(crate) fn small(&mut self, end: usize) -> Option<usize> {
        Some(usize::from(self.byte()?) % end)
    }

    /// Of all sizes up to 32 bits: how many, and which.
    pub(crate) fn time(&mut self) -> Option<u64> {
        let bits = u32::from(self.byte()?) % 33;
        let low = u64::from(u16::from_be_bytes(self.bytes()?));
        Some(low << bits.saturating_sub(16) & ((1 << bits) - 1))
    }

    /// As [`time`](Self::time), in 32 bits.
    pub(crate) fn number(&mut self) -> Option<u32> {
        Some(self.time()? as u32)
    }
}

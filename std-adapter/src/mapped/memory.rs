//! Mapped memory as a slice of atomics: the only unsafe code in this package.
//!
//! Miri cannot map shared memory, so it runs nothing below; the tests run it with real processes. Whatever other
//! processes write there, any 64 bits are a valid `u64`, read and written as an atomic here.
#![expect(unsafe_code, reason = "maps memory; each block says why it is sound")]

use std::fmt;
use std::fs::File;
use std::ptr::{NonNull, null_mut, slice_from_raw_parts_mut};

use atomic_breaker::word::AtomicU64;
use rustix::io;
use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous, munmap};

/// Words shared with other processes, unmapped when dropped.
pub(super) struct Memory {
    words: NonNull<[AtomicU64]>,
    /// Its lock shows other processes that the file is in use.
    file: Option<File>,
}

// SAFETY: it is a slice of atomics, which any thread may use, and belongs to this value alone.
unsafe impl Send for Memory {}
// SAFETY: as above.
unsafe impl Sync for Memory {}

impl Memory {
    /// The first `words` words of a file. Touching words beyond the end of the file would end the process, so the file
    /// must be that long, and stay so: see the documentation of the module.
    #[cfg(any(target_os = "linux", target_os = "android"))]
    pub(super) fn of_file(file: &File, words: usize) -> io::Result<Self> {
        let bytes = mappable(words)?;
        // SAFETY: no address is demanded, so the new mapping replaces no other.
        let start = unsafe {
            let read_write = ProtFlags::READ | ProtFlags::WRITE;
            rustix::mm::mmap(null_mut(), bytes, read_write, MapFlags::SHARED, file, 0)
        }?;
        Ok(Self::at(start.cast(), words))
    }

    /// Keeps the file open for as long as it is mapped, for its lock.
    #[cfg(any(target_os = "linux", target_os = "android"))]
    pub(super) fn keep_open(mut self, file: File) -> Self {
        self.file = Some(file);
        self
    }

    /// Zeros that this process shares with those that it forks from now on.
    pub(super) fn for_forks(words: usize) -> io::Result<Self> {
        let bytes = mappable(words)?;
        // SAFETY: as above.
        let start = unsafe {
            let read_write = ProtFlags::READ | ProtFlags::WRITE;
            mmap_anonymous(null_mut(), bytes, read_write, MapFlags::SHARED)
        }?;
        Ok(Self::at(start.cast(), words))
    }

    fn at(start: *mut AtomicU64, words: usize) -> Self {
        let words = NonNull::new(slice_from_raw_parts_mut(start, words));
        Self {
            words: words.expect("a mapping is not at address 0 unless demanded"),
            file: None,
        }
    }

    #[inline]
    pub(super) fn words(&self) -> &[AtomicU64] {
        // SAFETY: the mapping begins at a page, so it is aligned; it has that many words, and stays until this value is
        // dropped. All code in this process reaches it through this slice of atomics.
        unsafe { self.words.as_ref() }
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        let bytes = self.words.len() * size_of::<AtomicU64>();
        // SAFETY: the mapping is this value's own, and no borrow of it outlives the value.
        let unmapped = unsafe { munmap(self.words.as_ptr().cast(), bytes) };
        debug_assert!(unmapped.is_ok(), "a whole mapping can be unmapped");
    }
}

impl fmt::Debug for Memory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Memory")
            .field("words", &self.words.len())
            .field("file", &self.file)
            .finish()
    }
}

/// How many bytes to map: a slice has at most `isize::MAX`, which matters where pointers have 32 bits.
fn mappable(words: usize) -> io::Result<usize> {
    let bytes = words.checked_mul(size_of::<AtomicU64>());
    bytes
        .filter(|bytes| isize::try_from(*bytes).is_ok())
        .ok_or(io::Errno::NOMEM)
}

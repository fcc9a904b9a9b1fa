// SPDX-License-Identifier: MIT OR Apache-2.0
//! The randomness of the operating system, made the same in each process: `RandomState` takes its keys from it, and so
//! do hash maps whose order can be seen, tokio's `select!`, and the registries.

use std::ffi::{c_uint, c_void};

/// Does as `getrandom` of the C library would, without randomness. `std` finds this one first, as it is linked in.
///
/// # Safety
/// `buffer` has room for `length` bytes.
#[unsafe(no_mangle)]
unsafe extern "C" fn getrandom(buffer: *mut c_void, length: usize, _flags: c_uint) -> isize {
    // SAFETY: the caller promises it.
    unsafe { buffer.cast::<u8>().write_bytes(0x5A, length) };
    length.cast_signed()
}

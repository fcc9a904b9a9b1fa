// SPDX-License-Identifier: MIT OR Apache-2.0
//! Values in the lines of `defmt`, as the bytes that go to the host.
#![cfg(feature = "defmt")]

use std::sync::Mutex;

use atomic_breaker_embassy::{Config, Rules};

static BYTES: Mutex<Vec<u8>> = Mutex::new(Vec::new());

/// The logger of this program.
#[defmt::global_logger]
struct Bytes;

// SAFETY: it can be asked for at any time, by threads as well; no line of these tests is cut by another.
unsafe impl defmt::Logger for Bytes {
    fn acquire() {}

    unsafe fn flush() {}

    unsafe fn release() {}

    unsafe fn write(bytes: &[u8]) {
        BYTES.lock().unwrap().extend_from_slice(bytes);
    }
}

defmt::timestamp!("");

#[test]
fn a_configuration_that_does_not_fit_is_logged_with_its_message() {
    let error = Rules::<u32>::try_new(Config::new().probes(0)).unwrap_err();
    defmt::println!("{}", error);
    let sent = BYTES.lock().unwrap();
    let message = error.message().as_bytes();
    let is_sent = sent.windows(message.len()).any(|part| part == message);
    assert!(is_sent, "{sent:?}");
}

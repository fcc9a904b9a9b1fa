// SPDX-License-Identifier: MIT OR Apache-2.0
//! A log of calls.

use atomic_breaker_tune::{LogReader, ReadError};

/// Everything that is read is counted, and a line that is not understood is an error or counted as skipped.
pub(crate) fn read(bytes: &[u8]) {
    for reader in [LogReader::new(), LogReader::new().one_key()] {
        match reader.read(bytes) {
            Ok(read) => {
                let calls = read.log.calls();
                let is_in_order = calls.is_sorted_by_key(|call| call.start_us);
                assert!(is_in_order, "calls in the order in which they began");
            }
            Err(ReadError::Io(error)) => panic!("{error}: it is in memory"),
            Err(error) => assert!(!error.to_string().is_empty()),
        }
    }
}

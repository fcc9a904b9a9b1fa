// SPDX-License-Identifier: MIT OR Apache-2.0
//! The boot and the machine that this process sees, and its time namespace.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;

use crate::error::MappedError;

/// The scope within which clock readings are comparable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Machine {
    /// Random bits that the kernel drew when it started.
    pub(crate) boot: [u64; 2],
    /// The number of the time namespace; 0 where the kernel has none.
    pub(crate) time_namespace: u64,
}

const BOOT_ID: &str = "/proc/sys/kernel/random/boot_id";
const TIME_NAMESPACE: &str = "/proc/self/ns/time";

impl Machine {
    pub(crate) fn this() -> Result<Self, MappedError> {
        Self::read().map_err(|error| {
            MappedError::io(
                "cannot be told from files of an earlier start of the machine, as the boot id in /proc cannot be read \
                 (mount /proc if there is none)",
                error,
            )
        })
    }

    fn read() -> io::Result<Self> {
        let text = fs::read_to_string(BOOT_ID)?;
        let digits = text.trim().replace('-', "");
        let boot = u128::from_str_radix(&digits, 16).map_err(io::Error::other)?;
        let time_namespace = match fs::metadata(TIME_NAMESPACE) {
            Ok(found) => found.ino(),
            // Kernels before 5.6.
            Err(error) if error.kind() == io::ErrorKind::NotFound => 0,
            Err(error) => return Err(error),
        };
        Ok(Self {
            boot: [(boot >> 64) as u64, boot as u64],
            time_namespace,
        })
    }
}

//! Which boot of which machine this process sees, and in which time namespace.

use std::fs;
use std::io;

/// The scope within which clock readings are comparable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Machine {
    /// Random bits that the kernel drew when it started.
    pub(super) boot: [u64; 2],
    /// The number of the time namespace; 0 where the kernel has none.
    pub(super) time_namespace: u64,
}

/// Why it is not known.
pub(super) const UNKNOWN: &str =
    "cannot be told from files of an earlier start of the machine, mount /proc to read the boot id";
const BOOT_ID: &str = "/proc/sys/kernel/random/boot_id";
const TIME_NAMESPACE: &str = "/proc/self/ns/time";

impl Machine {
    pub(super) fn this() -> io::Result<Self> {
        let text = fs::read_to_string(BOOT_ID)?;
        let digits: String = text.trim().chars().filter(|c| *c != '-').collect();
        let boot = u128::from_str_radix(&digits, 16)
            .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
        Ok(Self {
            boot: [(boot >> 64) as u64, boot as u64],
            time_namespace: time_namespace()?,
        })
    }
}

/// The number in `time:[4026531834]`.
fn time_namespace() -> io::Result<u64> {
    let name = match fs::read_link(TIME_NAMESPACE) {
        Ok(name) => name,
        // Kernels before 5.6.
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(0),
        Err(error) => return Err(error),
    };
    let name = name.to_string_lossy();
    let number = name.trim_start_matches("time:[").trim_end_matches(']');
    number
        .parse()
        .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
}

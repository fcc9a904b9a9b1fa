// SPDX-License-Identifier: MIT OR Apache-2.0
//! Names of breakers and instances.

use std::borrow::Borrow;
use std::fmt;
use std::sync::Arc;

use super::error::FleetError;

/// The longest name, in bytes.
const LONGEST: usize = 255;

/// Between the name of a registry and that of its key.
pub(super) const SEPARATOR: u8 = b'/';

/// The name of a breaker in its fleet: 1 to 255 bytes of any value, the same in all instances. Cheap to clone.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Name(Arc<[u8]>);

impl Name {
    /// A name.
    ///
    /// # Errors
    /// [`FleetError`] if it is empty or longer than 255 bytes.
    pub fn new(name: impl AsRef<[u8]>) -> Result<Self, FleetError> {
        let bytes = name.as_ref();
        match bytes.len() {
            0 => Err(FleetError::new(
                "a breaker in a fleet needs a name: give it 1 to 255 bytes",
            )),
            1..=LONGEST => Ok(Self(bytes.into())),
            long => Err(FleetError::new(format_args!(
                "a name of {long} bytes is too long for a fleet: give it 1 to {LONGEST} bytes, such as a hash of it"
            ))),
        }
    }

    /// The name of a registry: those of its keys begin with it and a slash.
    pub(super) fn of_registry(name: &[u8]) -> Result<Self, FleetError> {
        if name.contains(&SEPARATOR) {
            return Err(FleetError::new(
                "a slash stands between the name of a registry and that of its key: give the registry a name without one",
            ));
        }
        Self::new(name)
    }

    /// The name of the registry, if this may be the name of a key.
    pub(super) fn registry(&self) -> Option<&[u8]> {
        let slash = self.0.iter().position(|&byte| byte == SEPARATOR)?;
        Some(&self.0[..slash])
    }

    /// Its bytes.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

/// Allows a name to be looked up by its bytes.
impl Borrow<[u8]> for Name {
    fn borrow(&self) -> &[u8] {
        &self.0
    }
}

/// As ASCII text; other bytes are escaped.
impl fmt::Debug for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{}\"", self.0.escape_ascii())
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0.escape_ascii())
    }
}

/// The identity of an instance of a fleet: a process, or its stand-in in a test. Two that are alive must have different ids: votes
/// under one id count once, and both would probe at the same time. A process that is started again must keep its id:
/// otherwise one that crashes over and over is a quorum by itself.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct InstanceId(u128);

impl InstanceId {
    /// An id chosen elsewhere.
    pub const fn new(id: u128) -> Self {
        Self(id)
    }

    /// The id for this name, the same in every process: 128 bits of its FNV-1a hash.
    pub const fn named(name: &str) -> Self {
        let bytes = name.as_bytes();
        let (mut hash, mut at) = (0x6c62_272e_07bb_0142_62b8_2175_6295_c58d_u128, 0);
        while at < bytes.len() {
            hash = (hash ^ bytes[at] as u128).wrapping_mul(0x0100_0000_0000_0000_0000_013b);
            at += 1;
        }
        Self(hash)
    }

    /// A random id, different in each process.
    pub fn random() -> Self {
        Self(fastrand::u128(..))
    }

    /// The number.
    pub const fn get(self) -> u128 {
        self.0
    }
}

/// 32 hexadecimal digits.
impl fmt::Display for InstanceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

impl fmt::Debug for InstanceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

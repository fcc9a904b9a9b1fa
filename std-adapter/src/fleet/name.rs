//! What the parties are called.

use std::error::Error;
use std::fmt;
use std::sync::Arc;

/// The longest name, in bytes.
const LONGEST: usize = 255;

/// The name of a breaker in its fleet: 1 to 255 bytes of any value, the same in all instances. Cheap to clone.
///
/// ```
/// use atomic_breaker_std::fleet::Name;
///
/// let payments = Name::new("payments")?;
/// assert_eq!(payments.as_bytes(), b"payments");
/// assert!(Name::new("").is_err());
/// # Ok::<(), atomic_breaker_std::fleet::NameError>(())
/// ```
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Name(Arc<[u8]>);

impl Name {
    /// A name.
    ///
    /// # Errors
    /// [`NameError`] if it is empty or longer than 255 bytes.
    pub fn new(name: impl AsRef<[u8]>) -> Result<Self, NameError> {
        let bytes = name.as_ref();
        if (1..=LONGEST).contains(&bytes.len()) {
            Ok(Self(bytes.into()))
        } else {
            Err(NameError(bytes.len()))
        }
    }

    /// Its bytes.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

/// As text, where it is some; other bytes are escaped.
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

/// A name that is empty or too long: its length in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NameError(usize);

impl fmt::Display for NameError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            0 => f.write_str("a breaker in a fleet needs a name: give it 1 to 255 bytes"),
            long => write!(
                f,
                "a name of {long} bytes is too long for a fleet: give it 1 to {LONGEST} bytes, as by a hash"
            ),
        }
    }
}

impl Error for NameError {}

/// One instance of a fleet: a process, or what stands for one in a test. Two that are alive must differ: the
/// votes of instances with one id count once.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct InstanceId(u128);

impl InstanceId {
    /// An id from elsewhere.
    pub const fn new(id: u128) -> Self {
        Self(id)
    }

    /// A random one.
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

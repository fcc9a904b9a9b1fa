//! Keys of a registry that a whole fleet knows by the same name.

use std::sync::Arc;

/// A key of a [`Registry`](crate::registry::Registry) that the instances of a fleet know by the same bytes.
///
/// Implemented for text, bytes and unsigned numbers; map a key type of your own to one of them:
///
/// ```
/// use atomic_breaker_std::fleet::FleetKey;
///
/// #[derive(Clone, Debug, PartialEq, Eq, Hash)]
/// struct Tenant(u32);
///
/// impl FleetKey for Tenant {
///     fn to_name(&self) -> Vec<u8> {
///         self.0.to_name()
///     }
///
///     fn from_name(name: &[u8]) -> Option<Self> {
///         u32::from_name(name).map(Self)
///     }
/// }
///
/// assert_eq!(Tenant::from_name(&Tenant(7).to_name()), Some(Tenant(7)));
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a key that a fleet knows by its bytes",
    note = "take `String`, `Box<str>`, `Arc<str>`, `Vec<u8>`, a number or `Origin`, or implement `FleetKey`; a `&'static str` \
            cannot be made from what other instances say"
)]
pub trait FleetKey: Sized {
    /// The bytes of this key: the same in all instances, and different for every other key. With the registry's name
    /// and a slash they may be at most 255: a key with more goes on alone.
    fn to_name(&self) -> Vec<u8>;

    /// The key with these bytes; `None` if they are not a key. They come from other instances: check them.
    fn from_name(name: &[u8]) -> Option<Self>;
}

macro_rules! text {
    ($($of:ty),*) => {$(
        impl FleetKey for $of {
            fn to_name(&self) -> Vec<u8> {
                self.as_bytes().to_vec()
            }

            fn from_name(name: &[u8]) -> Option<Self> {
                str::from_utf8(name).ok().map(Self::from)
            }
        }
    )*};
}

text!(String, Box<str>, Arc<str>);

macro_rules! bytes {
    ($($of:ty),*) => {$(
        impl FleetKey for $of {
            fn to_name(&self) -> Vec<u8> {
                self.to_vec()
            }

            fn from_name(name: &[u8]) -> Option<Self> {
                Some(Self::from(name))
            }
        }
    )*};
}

bytes!(Vec<u8>, Box<[u8]>, Arc<[u8]>);

macro_rules! numbers {
    ($($of:ty),*) => {$(
        /// In decimal digits.
        impl FleetKey for $of {
            fn to_name(&self) -> Vec<u8> {
                self.to_string().into_bytes()
            }

            fn from_name(name: &[u8]) -> Option<Self> {
                str::from_utf8(name).ok()?.parse().ok()
            }
        }
    )*};
}

numbers!(u8, u16, u32, u64, u128, usize);

/// As it is displayed: `https://api.example`.
#[cfg(feature = "http")]
impl FleetKey for crate::http::Origin {
    fn to_name(&self) -> Vec<u8> {
        self.to_string().into_bytes()
    }

    fn from_name(name: &[u8]) -> Option<Self> {
        Self::of(&http::Uri::try_from(name).ok()?).ok()
    }
}

// SPDX-License-Identifier: MIT OR Apache-2.0
//! Keys that can be read back from their text.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;

/// A key of a [`Registry`](super::Registry) that can be read back from its name.
///
/// The name of a key is its [`Display`](fmt::Display) text: logs, metrics and the admin page show it, and need nothing
/// else, so a `&'static str` will do there. A fleet also reads the names that other instances send, and requires this
/// trait. The names of two keys must differ.
///
/// Implemented for text, numbers and addresses; implement it for your own key type:
///
/// ```
/// use atomic_breaker_server::KeyName;
/// use std::fmt;
///
/// #[derive(Clone, Debug, PartialEq, Eq, Hash)]
/// struct Tenant(u32);
///
/// impl fmt::Display for Tenant {
///     fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
///         write!(f, "tenant-{}", self.0)
///     }
/// }
///
/// impl KeyName for Tenant {
///     fn from_name(name: &str) -> Option<Self> {
///         name.strip_prefix("tenant-")?.parse().ok().map(Self)
///     }
/// }
///
/// assert_eq!(Tenant::from_name(&Tenant(7).to_string()), Some(Tenant(7)));
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a key that can be read back from its name",
    note = "use `String`, `Box<str>`, `Arc<str>`, a number or `Origin`, or implement `KeyName`; a `&'static str` cannot be \
            made from text that other instances send"
)]
pub trait KeyName: fmt::Display + Sized {
    /// The key with this name, or `None` if there is none. Names come from outside: check them.
    fn from_name(name: &str) -> Option<Self>;
}

macro_rules! key_names {
    ($($of:ty),*; |$name:ident| $key:expr) => {$(
        impl KeyName for $of {
            fn from_name($name: &str) -> Option<Self> {
                $key
            }
        }
    )*};
}

key_names!(String, Box<str>, Arc<str>; |name| Some(name.into()));
key_names!(u8, u16, u32, u64, u128, usize, i8, i16, i32, i64, i128, isize; |name| name.parse().ok());
key_names!(IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr; |name| name.parse().ok());

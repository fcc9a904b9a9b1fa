// SPDX-License-Identifier: MIT OR Apache-2.0
//! Settings that are read by name only.

use core::fmt;
use core::marker::PhantomData;

use serde::de::value::MapAccessDeserializer;
use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer};

/// Settings that are read by name only: what `serde` derives accepts a list, too, in the order of the fields. For
/// configurations around this one.
///
/// ```
/// use atomic_breaker::config::Named;
/// use serde::Deserialize;
/// use serde::de::value::{Error, MapDeserializer, SeqDeserializer};
///
/// #[derive(Deserialize)]
/// struct Backoff {
///     first_ms: u32,
///     longest_ms: u32,
/// }
///
/// // In their place: the deserializer of a format, such as `toml`'s or `serde_json`'s.
/// let table = MapDeserializer::<_, Error>::new([("first_ms", 100), ("longest_ms", 900)].into_iter());
/// let Named(backoff) = Named::<Backoff>::deserialize(table)?;
/// assert_eq!((backoff.first_ms, backoff.longest_ms), (100, 900));
/// let list = SeqDeserializer::<_, Error>::new([100, 900].into_iter());
/// assert!(Named::<Backoff>::deserialize(list).is_err());
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Named<T>(pub T);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Named<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(ByName(PhantomData))
    }
}

struct ByName<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for ByName<T> {
    type Value = Named<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a table of settings by name")
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Named<T>, A::Error> {
        T::deserialize(MapAccessDeserializer::new(map)).map(Named)
    }
}

pub(super) fn by_name<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    deserializer: D,
) -> Result<Option<T>, D::Error> {
    let named = Option::<Named<T>>::deserialize(deserializer)?;
    Ok(named.map(|Named(settings)| settings))
}

// SPDX-License-Identifier: MIT OR Apache-2.0
//! The names that people know keys by, and the page that says what to do.

use std::collections::HashMap;
use std::sync::Arc;

use super::gate::OriginOf;

/// The names of keys, by registry and key.
#[derive(Default)]
pub(super) struct KeyLabels(HashMap<Arc<str>, HashMap<String, Arc<str>>>);

impl KeyLabels {
    pub(super) fn add(&mut self, of: &Arc<str>, key: String, label: String) {
        let labels = self.0.entry(Arc::clone(of)).or_default();
        labels.insert(key, label.into());
    }

    pub(super) fn of(&self, of: &str, key: Option<&str>) -> Option<&Arc<str>> {
        self.0.get(of)?.get(key?)
    }

    /// The registries that have any.
    pub(super) fn names(&self) -> impl Iterator<Item = &Arc<str>> {
        self.0.keys()
    }
}

/// The longest address, in bytes.
const MAX_LINK: usize = 2_048;

/// Returns whether a text is an address to which a page may link: of the web, with a host and without a user, and only with
/// characters that stay as they are in a URL.
pub(super) fn is_link(text: &str) -> bool {
    let end = text.find("://").map_or(0, |scheme| scheme + 3);
    let path = text[end..].find(['/', '?', '#']);
    let origin = &text[..path.map_or(text.len(), |path| end + path)];
    let fits = |byte: u8| byte.is_ascii_graphic() && !b"\"<>\\^`{|}".contains(&byte);
    text.len() <= MAX_LINK && OriginOf::parse(origin).is_some() && text.bytes().all(fits)
}

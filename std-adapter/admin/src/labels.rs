// SPDX-License-Identifier: MIT OR Apache-2.0
//! The names that people know keys by, and the page that says what to do.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use super::admin::MAX_NAME;
use super::gate::OriginOf;
use super::{Admin, AdminError, text};

/// The names of keys, by registry and key.
#[derive(Default)]
pub(super) struct Labels(HashMap<Arc<str>, HashMap<String, Arc<str>>>);

impl Labels {
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

impl Admin {
    /// The page that says what to do when a breaker is open, to which this one links: an address of `http` or `https`, of at
    /// most 2,048 bytes. Neither this page's own address nor what it shows is passed on.
    pub fn runbook(mut self, address: impl Into<String>) -> Self {
        let address = address.into();
        if !is_link(&address) {
            self.is_wrong(AdminError(format!(
                "{address:?} is not the address of a page: set one that begins with https:// or http:// and a host, without \
                 spaces, such as \"https://wiki.example.com/breakers\""
            )));
        }
        self.runbook = Some(address);
        self
    }

    /// The names that people know keys of a registry by, which are shown beside the keys, and found by a search. Each has a key
    /// as it is shown, and its name, of which up to 128 bytes are shown.
    ///
    /// ```
    /// # use atomic_breaker_admin::{Admin, Timeline};
    /// # use atomic_breaker_server::{Config, Registry};
    /// # use std::sync::Arc;
    /// # let hosts = Arc::new(Registry::<String>::new(Config::new())?);
    /// let admin = Admin::new(&Timeline::new())
    ///     .registry("hosts", hosts)
    ///     .labels("hosts", [("10.0.3.7:443", "payments, Frankfurt"), ("10.0.4.7:443", "payments, Oslo")]);
    /// # admin.router()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn labels<K, L>(
        mut self,
        of: impl Into<Arc<str>>,
        labels: impl IntoIterator<Item = (K, L)>,
    ) -> Self
    where
        K: fmt::Display,
        L: fmt::Display,
    {
        let of = of.into();
        for (key, label) in labels {
            let label = text::bounded(&label, MAX_NAME);
            self.labels.add(&of, text::of_key(&key), label);
        }
        self
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

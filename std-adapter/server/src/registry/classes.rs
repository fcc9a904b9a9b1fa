// SPDX-License-Identifier: MIT OR Apache-2.0
//! Rules chosen by a function of the key.

use std::any::Any;
use std::fmt;
use std::panic::{AssertUnwindSafe, RefUnwindSafe, UnwindSafe};
use std::sync::Arc;
use std::sync::atomic::AtomicU16;

use atomic_breaker::{Clock, Config, Tally};

use super::RegistryError;
use super::ruleset::{RuleTable, Ruleset};

/// The listed rules that apply to a key: one more than their index, 0 for the common ones.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Class(pub(super) u8);

/// Finds the index of something in the list of classes: code of the user.
type IndexOf<A> = Arc<dyn Fn(&A) -> Option<usize> + Send + Sync + UnwindSafe + RefUnwindSafe>;

/// Rules by class, as they were passed to the builder.
#[derive(Clone)]
pub(super) struct RulesBy<K> {
    of_key: IndexOf<K>,
    of_class: IndexOf<dyn Any>,
    configs: Vec<Config>,
    /// The index of a class that had already been listed.
    repeated: Option<usize>,
}

impl<K> RulesBy<K> {
    pub(super) fn new<Q, F>(rules: impl IntoIterator<Item = (Q, Config)>, class_of: F) -> Self
    where
        Q: PartialEq + Send + Sync + 'static,
        F: Fn(&K) -> Q + Send + Sync + 'static,
    {
        let (classes, configs): (Vec<Q>, Vec<Config>) = rules.into_iter().unzip();
        let is_repeated = |&index: &usize| classes[..index].contains(&classes[index]);
        let repeated = (0..classes.len()).find(is_repeated);
        // If they panic, the panic reaches the caller before anything has changed.
        let listed = Arc::new(AssertUnwindSafe(classes));
        let class_of = AssertUnwindSafe(class_of);
        let position = move |class: &Q| listed.iter().position(|listed| listed == class);
        let position_of = position.clone();
        Self {
            of_key: Arc::new(move |key| position(&class_of(key))),
            of_class: Arc::new(move |class| position_of(class.downcast_ref()?)),
            configs,
            repeated,
        }
    }

    /// Checks the rules against the word and the memory of a slot.
    pub(super) fn build<C: Clock, T: Tally>(
        self,
        table: &RuleTable,
        clock: &C,
        tally: &T,
        needs_all_keys: bool,
    ) -> Result<Classes<K>, RegistryError> {
        if self.configs.len() > usize::from(u8::MAX) {
            return Err(RegistryError::TooManyClasses);
        }
        if let Some(index) = self.repeated {
            return Err(RegistryError::RepeatedClass { index });
        }
        let checked = self.configs.iter().enumerate().map(|(index, &config)| {
            let rules = Ruleset::try_new(config, clock, tally, needs_all_keys)
                .map_err(|error| RegistryError::ClassConfig { index, error })?;
            table.insert(rules).map(AtomicU16::new)
        });
        Ok(Classes {
            rules: checked.collect::<Result<_, _>>()?,
            of_key: self.of_key,
            of_class: self.of_class,
        })
    }
}

impl<K> fmt::Debug for RulesBy<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.configs.fmt(f)
    }
}

/// Rules by class, as a registry has them.
pub(super) struct Classes<K> {
    of_key: IndexOf<K>,
    of_class: IndexOf<dyn Any>,
    rules: Box<[AtomicU16]>,
}

impl<K> Classes<K> {
    /// The class of a key. Must not run under the lock of the registry, because this is user code.
    pub(super) fn of(&self, key: &K) -> Class {
        let index = (self.of_key)(key);
        // In range: the number of classes was checked when the registry was built.
        index.map_or(Class::default(), |index| Class(index as u8 + 1))
    }

    /// The place of a class's rules, if it was listed.
    pub(super) fn find(&self, class: &dyn Any) -> Option<&AtomicU16> {
        self.rules.get((self.of_class)(class)?)
    }

    /// The place of a class's rules, if they are not the common ones.
    pub(super) fn rules(&self, class: Class) -> Option<&AtomicU16> {
        self.rules.get(usize::from(class.0).checked_sub(1)?)
    }
}

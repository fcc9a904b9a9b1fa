//! Rules chosen by a function of the key.

use std::any::Any;
use std::fmt;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::AtomicU16;

use atomic_breaker::{Clock, Config, Tally};

use super::RegistryError;
use super::rules::{RuleTable, Ruleset};

/// Which of the listed rules apply to a key: one more than their index, 0 for the common ones.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Class(pub(super) u8);

impl Class {
    /// The class of all keys whose own class was not listed.
    pub(super) const COMMON: Self = Self(0);
}

/// User code that returns the class of a key.
trait Classify<K>: Send + Sync {
    /// The index of a key's class.
    fn index_of(&self, key: &K) -> Option<usize>;

    /// The index of a class.
    fn position(&self, class: &dyn Any) -> Option<usize>;
}

/// If it panics, the panic reaches the caller before anything has changed.
type Classifier<K> = AssertUnwindSafe<Arc<dyn Classify<K>>>;

struct Listed<Q, F> {
    classes: Box<[Q]>,
    class_of: F,
}

impl<K, Q, F> Classify<K> for Listed<Q, F>
where
    Q: PartialEq + Send + Sync + 'static,
    F: Fn(&K) -> Q + Send + Sync,
{
    fn index_of(&self, key: &K) -> Option<usize> {
        let class = (self.class_of)(key);
        self.classes.iter().position(|listed| *listed == class)
    }

    fn position(&self, class: &dyn Any) -> Option<usize> {
        let class: &Q = class.downcast_ref()?;
        self.classes.iter().position(|listed| listed == class)
    }
}

/// Rules by class, as they were passed to the builder.
pub(super) struct RulesBy<K> {
    classify: Classifier<K>,
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
        Self {
            classify: AssertUnwindSafe(Arc::new(Listed {
                classes: classes.into(),
                class_of,
            })),
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
    ) -> Result<Classes<K>, RegistryError> {
        if self.configs.len() > usize::from(u8::MAX) {
            return Err(RegistryError::TooManyClasses);
        }
        if let Some(index) = self.repeated {
            return Err(RegistryError::RepeatedClass { index });
        }
        let checked = self.configs.iter().enumerate().map(|(index, &config)| {
            let rules = Ruleset::try_new(config, clock, tally)
                .map_err(|error| RegistryError::ClassConfig { index, error })?;
            table.insert(rules).map(AtomicU16::new)
        });
        Ok(Classes {
            rules: checked.collect::<Result<_, _>>()?,
            classify: self.classify,
        })
    }
}

impl<K> Clone for RulesBy<K> {
    fn clone(&self) -> Self {
        Self {
            classify: AssertUnwindSafe(Arc::clone(&self.classify)),
            configs: self.configs.clone(),
            repeated: self.repeated,
        }
    }
}

impl<K> fmt::Debug for RulesBy<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.configs.fmt(f)
    }
}

/// Rules by class, as a registry has them.
pub(super) struct Classes<K> {
    classify: Classifier<K>,
    rules: Box<[AtomicU16]>,
}

impl<K> Classes<K> {
    /// The class of a key. Must not run under the lock of the registry, because this is user code.
    pub(super) fn of(&self, key: &K) -> Class {
        let index = self.classify.index_of(key);
        // In range: the number of classes was checked when the registry was built.
        index.map_or(Class::COMMON, |index| Class(index as u8 + 1))
    }

    /// Where the rules of a class are, if it was listed.
    pub(super) fn find(&self, class: &dyn Any) -> Option<&AtomicU16> {
        self.rules.get(self.classify.position(class)?)
    }

    /// Where the rules of a class are, if they are not the common ones.
    pub(super) fn rules(&self, class: Class) -> Option<&AtomicU16> {
        self.rules.get(usize::from(class.0).checked_sub(1)?)
    }
}

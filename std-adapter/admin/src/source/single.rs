//! A single breaker that is shown.

use std::any::Any;
use std::sync::Arc;

use atomic_breaker::{
    Adjust, AnyBreaker, AsRules, Breaker, Clock, Config, Control, Observer, Tally, word::Word,
};

use super::{Head, Refused, Seen, Source};
use atomic_breaker_std::AdjustableBreaker;
use atomic_breaker_std::{AnyResource, Enforcement, LastFailureCell, Resource};

/// A handle to a single breaker: an `Arc` or a `&'static` reference of a [`Breaker`](atomic_breaker_std::Breaker), or of a
/// [`Resource`], whose last failure and shadow mode are shown as well. Implement it for a handle type of your own.
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not lead to a breaker or a resource for as long as the admin is there",
    note = "pass an `Arc` of a `Breaker` or `Resource`, or a `&'static` reference, as to a `static`; for a registry \
            there is `Admin::registry`"
)]
pub trait Single: Send + Sync + 'static {
    /// The breaker.
    fn control(&self) -> &dyn Control;

    /// Its rules.
    fn config(&self) -> Config;

    /// The breaker as one whose rules can be replaced, if they can: an [`AdjustableBreaker`](atomic_breaker_std::AdjustableBreaker).
    /// The page shows the rules of others as fixed.
    fn adjust(&self) -> Option<&dyn Adjust> {
        None
    }

    /// The last failure and shadow mode, if it has them.
    fn beside(&self) -> Option<(&LastFailureCell, &Enforcement)>;
}

macro_rules! single {
    ($($handle:ty),*) => {$(
        impl<C, W, T, O, R> Single for $handle
        where
            C: Clock + Send + Sync + 'static,
            W: Word + Send + Sync + 'static,
            T: Tally + Send + Sync + 'static,
            O: Observer + Send + Sync + 'static,
            R: AsRules<W::Bits> + Send + Sync + 'static,
        {
            fn control(&self) -> &dyn Control {
                &**self
            }

            fn config(&self) -> Config {
                *Breaker::config(self)
            }

            fn adjust(&self) -> Option<&dyn Adjust> {
                adjustable(&**self)
            }

            fn beside(&self) -> Option<(&LastFailureCell, &Enforcement)> {
                None
            }
        }
    )*};
}

single!(&'static Breaker<C, W, T, O, R>, Arc<Breaker<C, W, T, O, R>>);

macro_rules! single_resource {
    ($($handle:ty),*) => {$(
        impl<B: AnyBreaker + Send + Sync + 'static> Single for $handle {
            fn control(&self) -> &dyn Control {
                self.breaker().as_breaker()
            }

            fn config(&self) -> Config {
                *self.breaker().as_breaker().config()
            }

            fn adjust(&self) -> Option<&dyn Adjust> {
                adjustable(self.breaker().as_breaker())
            }

            fn beside(&self) -> Option<(&LastFailureCell, &Enforcement)> {
                Some((AnyResource::last_failure(self), AnyResource::enforcement(self)))
            }
        }
    )*};
}

single_resource!(&'static Resource<B>, Arc<Resource<B>>);

/// Only the type of a breaker tells whether its rules can be replaced.
fn adjustable<C, W, T, O, R>(breaker: &Breaker<C, W, T, O, R>) -> Option<&dyn Adjust>
where
    C: Clock + 'static,
    W: Word + 'static,
    T: Tally + 'static,
    O: Observer + 'static,
    R: 'static,
{
    let breaker: &dyn Any = breaker;
    let adjustable = breaker.downcast_ref::<AdjustableBreaker<C, W, T, O>>();
    adjustable.map(|breaker| -> &dyn Adjust { breaker })
}

pub(crate) struct OfSingle<S>(pub(crate) S);

impl<S: Single> OfSingle<S> {
    /// There are no keys here.
    fn only(key: Option<&str>) -> Result<(), Refused> {
        match key {
            None => Ok(()),
            Some(_) => Err(Refused::KeyWanted(false)),
        }
    }
}

impl<S: Single> Source for OfSingle<S> {
    fn head(&self) -> Head {
        Head {
            kind: "breaker",
            keys: None,
            enforced_percent: self.enforcement().map(Enforcement::percent),
            rules: self.0.config(),
            can_change_rules: self.0.adjust().is_some(),
        }
    }

    fn visit(&self, seen: &mut dyn FnMut(Seen)) {
        seen(Seen {
            key: None,
            snapshot: self.0.control().snapshot(),
            last_failure: self
                .0
                .beside()
                .and_then(|(last_failure, _)| last_failure.get()),
            has_own_rules: true,
        });
    }

    fn command(
        &self,
        key: Option<&str>,
        command: &mut dyn FnMut(&dyn Control),
    ) -> Result<(), Refused> {
        Self::only(key)?;
        command(self.0.control());
        Ok(())
    }

    fn rules(&self, key: Option<&str>) -> Result<Config, Refused> {
        Self::only(key)?;
        Ok(self.0.config())
    }

    fn rules_without_own(&self, _: &str) -> Result<Config, Refused> {
        Err(Refused::KeyWanted(false))
    }

    fn check_rules(&self, rules: Config) -> Result<(), Refused> {
        let breaker = self.0.adjust().ok_or(Refused::FixedRules)?;
        let checked = breaker.check_config(rules);
        checked.map_err(|error| Refused::Rules(error.to_string()))
    }

    fn set_rules(&self, key: Option<&str>, rules: Config) -> Result<(), Refused> {
        Self::only(key)?;
        let breaker = self.0.adjust().ok_or(Refused::FixedRules)?;
        let set = breaker.set_config(rules);
        set.map_err(|error| Refused::Rules(error.to_string()))
    }

    fn clear_rules(&self, _: &str) -> Result<bool, Refused> {
        Err(Refused::KeyWanted(false))
    }

    fn enforcement(&self) -> Option<&Enforcement> {
        self.0.beside().map(|(_, enforcement)| enforcement)
    }
}

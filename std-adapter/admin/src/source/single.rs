//! A single breaker that is shown.

use std::any::Any;
use std::fmt;
use std::ops::Deref;

use atomic_breaker::{
    Adjust, AnyBreaker, AsRules, Breaker, Clock, Config, Control, Observer, Tally, word::Word,
};
use atomic_breaker_registry::{AdjustableBreaker, Enforcement, LastFailureCell, Resource};

use super::super::response::Problem;
use super::{Command, Head, Seen, Source, not_set};

/// A [`Breaker`](atomic_breaker_registry::Breaker), or a [`Resource`]: see [`Admin::breaker`](super::super::Admin::breaker).
#[diagnostic::on_unimplemented(
    message = "`{Self}` is neither a breaker nor a resource",
    note = "pass an `Arc` of a `Breaker` or `Resource`, or a `&'static` reference, as to a `static`; for a registry \
            there is `Admin::registry`"
)]
pub trait Single {
    /// What is shown of it.
    fn parts(&self) -> Parts<'_>;
}

/// What is shown of a [`Single`] breaker.
pub struct Parts<'a> {
    control: &'a dyn Control,
    config: Config,
    /// Of an `AdjustableBreaker`; the rules of others are fixed.
    adjust: Option<&'a dyn Adjust>,
    beside: Option<(&'a LastFailureCell, &'a Enforcement)>,
}

impl<C, W, T, O, R> Single for Breaker<C, W, T, O, R>
where
    C: Clock + 'static,
    W: Word + 'static,
    T: Tally + 'static,
    O: Observer + 'static,
    R: AsRules<W::Bits> + 'static,
{
    fn parts(&self) -> Parts<'_> {
        // Only the type of a breaker tells whether its rules can be replaced.
        let any: &dyn Any = self;
        let adjustable = any.downcast_ref::<AdjustableBreaker<C, W, T, O>>();
        Parts {
            control: self,
            config: *self.config(),
            adjust: adjustable.map(|breaker| -> &dyn Adjust { breaker }),
            beside: None,
        }
    }
}

impl<B: AnyBreaker + 'static> Single for Resource<B> {
    fn parts(&self) -> Parts<'_> {
        Parts {
            beside: Some((self.last_failure(), self.enforcement())),
            ..self.breaker().as_breaker().parts()
        }
    }
}

impl fmt::Debug for Parts<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Parts")
            .field("snapshot", &self.control.snapshot())
            .finish_non_exhaustive()
    }
}

/// A handle to a breaker or resource.
pub(crate) struct OfSingle<H>(pub(crate) H);

impl<H: Deref<Target: Single>> OfSingle<H> {
    /// The parts, unless a key is named.
    fn parts(&self, key: Option<&str>) -> Result<Parts<'_>, Problem> {
        if key.is_some() {
            let error = "this is one breaker: leave the key out";
            return Err(Problem::bad_request(error));
        }
        Ok(self.0.parts())
    }
}

impl<H: Deref<Target: Single> + Send + Sync> Source for OfSingle<H> {
    fn head(&self) -> Head {
        let parts = self.0.parts();
        Head {
            kind: "breaker",
            keys: None,
            enforced_percent: self.enforcement().map(Enforcement::percent),
            rules: parts.config,
            can_change_rules: parts.adjust.is_some(),
        }
    }

    fn visit(&self, visit: &mut dyn FnMut(Option<&str>, Seen)) {
        let parts = self.0.parts();
        let seen = Seen {
            snapshot: parts.control.snapshot(),
            last_failure: parts.beside.and_then(|(failure, _)| failure.get()),
            has_own_rules: true,
        };
        visit(None, seen);
    }

    fn command(&self, key: Option<&str>, command: Command<'_>) -> Result<(), Problem> {
        command(self.parts(key)?.control);
        Ok(())
    }

    fn rules(&self, key: Option<&str>) -> Result<Config, Problem> {
        Ok(self.parts(key)?.config)
    }

    fn set_rules(&self, key: Option<&str>, rules: Config, dry: bool) -> Result<Config, Problem> {
        let Parts { adjust, config, .. } = self.parts(key)?;
        let Some(breaker) = adjust else {
            return Err(Problem::conflict(
                "the rules of this breaker are fixed: build it with build_adjustable to replace them while it is in use",
            ));
        };
        if dry {
            breaker
                .check_config(rules)
                .map_err(|error| not_set(&error))?;
        } else {
            breaker.set_config(rules).map_err(|error| not_set(&error))?;
        }
        Ok(config)
    }

    fn clear_rules(&self, _: Option<&str>, _: bool) -> Result<(Config, bool), Problem> {
        let error = "this is one breaker, whose rules are always its own";
        Err(Problem::bad_request(error))
    }

    fn enforcement(&self) -> Option<&Enforcement> {
        self.0.parts().beside.map(|(_, enforcement)| enforcement)
    }
}

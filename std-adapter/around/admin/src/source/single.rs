// SPDX-License-Identifier: MIT OR Apache-2.0
//! A single breaker that is shown.

use std::any::Any;
use std::ops::Deref;
use std::task::Waker;

use atomic_breaker_server::{
    Adjust, AdjustableBreaker, AnyBreaker, AsRules, Breaker, Clock, Config, Control, Enforcement,
    LastFailureCell, Observer, Resource, Tally, word::Word,
};
use serde_json::{Value, json};

use super::super::response::Problem;
use super::{OnBreaker, SeenBreaker, Source, not_set};

/// A handle to a breaker or resource.
pub(crate) struct OfSingle<H> {
    handle: H,
    parts: fn(&H) -> SingleParts<'_>,
}

struct SingleParts<'a> {
    control: &'a dyn Control,
    observer: &'a dyn Observer,
    config: Config,
    /// Sets the rules of an `AdjustableBreaker`; those of others are fixed.
    adjust: Option<&'a dyn Adjust>,
    /// The last failure and shadow mode of a resource.
    beside: Option<(&'a LastFailureCell, &'a Enforcement)>,
}

impl<'a> SingleParts<'a> {
    fn of<C, W, T, O, R>(breaker: &'a Breaker<C, W, T, O, R>) -> Self
    where
        C: Clock + 'static,
        W: Word + 'static,
        T: Tally + 'static,
        O: Observer + 'static,
        R: AsRules<W::Bits> + 'static,
    {
        // Only the type of a breaker tells whether its rules can be replaced.
        let any: &dyn Any = breaker;
        let adjustable = any.downcast_ref::<AdjustableBreaker<C, W, T, O>>();
        Self {
            control: breaker,
            observer: breaker.observer(),
            config: *breaker.config(),
            adjust: adjustable.map(|breaker| -> &dyn Adjust { breaker }),
            beside: None,
        }
    }
}

impl<H> OfSingle<H> {
    pub(crate) fn breaker(handle: H) -> Self
    where
        H: AnyBreaker + 'static,
    {
        Self {
            handle,
            parts: |it| SingleParts::of(it.as_breaker()),
        }
    }

    pub(crate) fn resource<B>(handle: H) -> Self
    where
        H: Deref<Target = Resource<B>> + 'static,
        B: AnyBreaker + 'static,
    {
        Self {
            handle,
            parts: |it| SingleParts {
                beside: Some((it.last_failure(), it.enforcement())),
                ..SingleParts::of(it.breaker().as_breaker())
            },
        }
    }

    fn parts(&self) -> SingleParts<'_> {
        (self.parts)(&self.handle)
    }

    /// The parts, unless a key is named.
    fn only(&self, key: Option<&str>) -> Result<SingleParts<'_>, Problem> {
        if key.is_some() {
            let error = "this is a single breaker: leave the key out";
            return Err(Problem::bad_request(error));
        }
        Ok(self.parts())
    }
}

impl<H: Send + Sync> Source for OfSingle<H> {
    fn has_keys(&self) -> bool {
        false
    }

    fn head(&self) -> Value {
        let parts = self.parts();
        json!({
            "kind": "breaker",
            "enforced_percent": self.enforcement().map(Enforcement::percent),
            "rules": parts.config,
            "can_change_rules": parts.adjust.is_some(),
        })
    }

    fn visit(&self, visit: &mut dyn FnMut(Option<&str>, SeenBreaker)) {
        let parts = self.parts();
        let seen = SeenBreaker {
            snapshot: parts.control.snapshot(),
            last_failure: parts.beside.and_then(|(failure, _)| failure.get()),
            has_own_rules: true,
        };
        visit(None, seen);
    }

    fn command(&self, key: Option<&str>, command: OnBreaker<'_>) -> Result<(), Problem> {
        command(self.only(key)?.control);
        Ok(())
    }

    fn rules(&self, key: Option<&str>) -> Result<Config, Problem> {
        Ok(self.only(key)?.config)
    }

    fn set_rules(
        &self,
        key: Option<&str>,
        rules: Config,
        dry: bool,
    ) -> Result<(Config, bool), Problem> {
        let SingleParts { adjust, config, .. } = self.only(key)?;
        let Some(breaker) = adjust else {
            return Err(Problem::conflict(
                "the rules of this breaker are fixed: build it with build_adjustable to replace them while it is in use",
            ));
        };
        breaker.check_config(rules).map_err(not_set)?;
        if !dry {
            breaker.set_config(rules).map_err(not_set)?;
        }
        Ok((config, config != rules))
    }

    fn clear_rules(&self, _: Option<&str>, _: bool) -> Result<(Config, bool), Problem> {
        let error = "this is a single breaker, whose rules are always its own";
        Err(Problem::bad_request(error))
    }

    fn enforcement(&self) -> Option<&Enforcement> {
        self.parts().beside.map(|(_, enforcement)| enforcement)
    }

    fn note_waiting(&self) {
        self.parts().observer.wake_on_change(Waker::noop());
    }
}

// SPDX-License-Identifier: MIT OR Apache-2.0
//! Steps over any store.

use std::pin::Pin;

use atomic_breaker_steps::Store;
use serde_json::{Value, json};

use super::super::Operator;
use super::super::response::Problem;
use super::asked::OfSteps;
use super::change::JobRequest;
use super::read::JobsQuery;

type Shown<'a> = Pin<Box<dyn Future<Output = Result<Value, Problem>> + Send + 'a>>;

/// Steps that are shown, with the type of their store erased.
pub(crate) trait AnySteps: Send + Sync {
    fn name(&self) -> &str;
    /// The part of the status that needs no request to the store.
    fn head(&self) -> Value;
    fn list(&self, query: JobsQuery) -> Shown<'_>;
    fn one(&self, id: i64) -> Shown<'_>;
    fn counts(&self) -> Shown<'_>;
    fn obey<'a>(&'a self, operator: &'a Operator, request: &'a JobRequest) -> Shown<'a>;
}

impl<D: Store> AnySteps for OfSteps<D> {
    fn name(&self) -> &str {
        &self.name
    }

    fn head(&self) -> Value {
        json!({ "name": self.name, "kinds": self.steps.kinds(), "shows_states": self.shows_states })
    }

    fn list(&self, query: JobsQuery) -> Shown<'_> {
        Box::pin(self.list(query))
    }

    fn one(&self, id: i64) -> Shown<'_> {
        Box::pin(self.one(id))
    }

    fn counts(&self) -> Shown<'_> {
        Box::pin(self.counts())
    }

    fn obey<'a>(&'a self, operator: &'a Operator, request: &'a JobRequest) -> Shown<'a> {
        Box::pin(self.obey(operator, request))
    }
}

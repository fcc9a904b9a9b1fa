// SPDX-License-Identifier: MIT OR Apache-2.0
//! Finds out whether anything is attached after a middleware that sends by itself.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::pin::{Pin, pin};
use std::sync::{Arc, OnceLock};
use std::task::{Context, Waker};

use http::{Extensions, Method};
use reqwest::{Request, Response, Url};
use reqwest_middleware::{ClientWithMiddleware, Error, Middleware, Next, Result};

/// A check that the chain of a middleware ends with it. Any middleware that is attached after it would not run, as it
/// sends through a client of its own: [`Next`] borrows from the caller, so a call through it cannot outlive its caller.
///
/// Asked for each request: clients share middlewares (clones, `with_arc`, `ClientBuilder::from_client`), and end
/// differently.
#[derive(Clone, Default)]
pub(super) struct Last {
    /// [`kind_at_end`], the same for all chains.
    at_end: OnceLock<Kind>,
}

impl Last {
    pub(super) const fn unknown() -> Self {
        Self {
            at_end: OnceLock::new(),
        }
    }

    /// An error unless nothing comes next.
    pub(super) fn check(
        &self,
        next: Next<'_>,
        client: &ClientWithMiddleware,
        request: &Request,
        extensions: &Extensions,
    ) -> Result<()> {
        let at_end = *self.at_end.get_or_init(|| kind_at_end(client));
        // Some middlewares already look at these when their future is made.
        let request = request.try_clone().unwrap_or_else(unsent);
        if kind_of_next(next, request, extensions.clone()) == at_end {
            return Ok(());
        }
        Err(Error::Middleware(anyhow::Error::msg(
            "a middleware is attached after that of the circuit breaker, where it would not run: attach it to the client \
             that the breaker's middleware is given",
        )))
    }
}

/// The mark that tells the types of boxed futures apart: their size and their table of functions. All chains end with
/// the same one; that of a middleware is another, unless it hands out the next one's. No more can be seen of what comes
/// next.
type Kind = (usize, u64);

/// The value of [`kind_of_next`] where nothing comes next.
fn kind_at_end(client: &ClientWithMiddleware) -> Kind {
    let kind = Arc::new(Seen::default());
    let seen: Arc<dyn Middleware> = kind.clone();
    let chain = ClientWithMiddleware::new(client.as_ref().clone(), [seen]);
    let mut call = pin!(chain.execute(unsent()));
    let mut context = Context::from_waker(Waker::noop());
    // It never ends: all that matters is that its middleware is asked.
    let _ = call.as_mut().poll(&mut context);
    *kind.0.get().expect("asked at the first poll")
}

/// In one place, so that there is one table for each type.
#[inline(never)]
fn kind_of_next(next: Next<'_>, request: Request, mut extensions: Extensions) -> Kind {
    let future = next.run(request, &mut extensions);
    let pointer = &raw const *future;
    // Without the address of the future the hash is that of its table.
    let table = pointer.wrapping_byte_sub(pointer.addr());
    let mut hasher = DefaultHasher::new();
    table.hash(&mut hasher);
    (size_of_val(&*future), hasher.finish())
}

/// A request for a future that is dropped before it is polled.
fn unsent() -> Request {
    Request::new(Method::GET, Url::parse("http://unused/").expect("a URL"))
}

/// Sees what comes after it.
#[derive(Default)]
struct Seen(OnceLock<Kind>);

impl Middleware for Seen {
    fn handle<'me, 'extensions, 'next, 'call>(
        &'me self,
        request: Request,
        _: &'extensions mut Extensions,
        next: Next<'next>,
    ) -> Pin<Box<dyn Future<Output = Result<Response>> + Send + 'call>>
    where
        'me: 'call,
        'extensions: 'call,
        'next: 'call,
        Self: 'call,
    {
        self.0
            .get_or_init(|| kind_of_next(next, request, Extensions::new()));
        Box::pin(std::future::pending())
    }
}

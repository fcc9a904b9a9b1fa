//! Finds out whether anything is attached after a middleware that sends by itself.

use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};
use std::task::{Context, Waker};

use http::{Extensions, Method};
use reqwest::{Request, Response, Url};
use reqwest_middleware::{ClientWithMiddleware, Error, Middleware, Next, Result};

/// Whether the chain of a middleware ends with it. What is attached after it would not run, as it sends through a client
/// of its own: [`Next`] borrows from the caller, so a call through it cannot outlive its caller.
///
/// Asked for each request: clients share middlewares (clones, `with_arc`, `ClientBuilder::from_client`), and end
/// differently.
#[derive(Clone, Default)]
pub(super) struct Last {
    /// [`size_at_end`], the same for all chains.
    at_end: OnceLock<usize>,
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
        let at_end = *self.at_end.get_or_init(|| size_at_end(client));
        // Some middlewares already look at these when their future is made.
        let request = request.try_clone().unwrap_or_else(unsent);
        if size_of_next(next, request, extensions.clone()) == at_end {
            return Ok(());
        }
        Err(Error::Middleware(anyhow::Error::msg(
            "a middleware is attached after that of the circuit breaker, where it would not run: attach it to the client \
             that the breaker's middleware is given",
        )))
    }
}

/// What [`size_of_next`] is where nothing comes next.
fn size_at_end(client: &ClientWithMiddleware) -> usize {
    let size = Arc::new(Size::default());
    let measured: Arc<dyn Middleware> = size.clone();
    let measured = ClientWithMiddleware::new(client.as_ref().clone(), [measured]);
    let mut measured = pin!(measured.execute(unsent()));
    let mut context = Context::from_waker(Waker::noop());
    // It never ends: all that matters is that its middleware is asked.
    let _ = measured.as_mut().poll(&mut context);
    size.0.load(Relaxed)
}

/// All chains end with the same future, so it has the same size; that of a middleware is another one, unless it hands out
/// the next one's. No more than this can be seen of what comes next.
fn size_of_next(next: Next<'_>, request: Request, mut extensions: Extensions) -> usize {
    let future = next.run(request, &mut extensions);
    size_of_val(&*future)
}

/// Of a future that is dropped before it is polled.
fn unsent() -> Request {
    Request::new(Method::GET, Url::parse("http://unused/").expect("a URL"))
}

/// Measures what comes after it.
#[derive(Default)]
struct Size(AtomicUsize);

impl Middleware for Size {
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
            .store(size_of_next(next, request, Extensions::new()), Relaxed);
        Box::pin(std::future::pending())
    }
}

// SPDX-License-Identifier: MIT OR Apache-2.0
//! The measured cases: requests to a service that responds at once, with different layers around it.

use std::fmt;
use std::future::{Ready, ready};
use std::hint::{black_box, spin_loop};
use std::pin::{Pin, pin};
use std::sync::LazyLock;
use std::task::{Context, Poll, Waker};

use benches::hosts::HOSTS;
use benches::rounds::Case;
use tokio::runtime::{self, Runtime};
use tower::Service;

/// Responds at once.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Answers;

impl Service<Request> for Answers {
    type Response = usize;
    type Error = fmt::Error;
    type Future = Ready<Result<usize, fmt::Error>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), fmt::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request) -> Self::Future {
        ready(Ok(answer(request)))
    }
}

impl layered::Service<Request> for Answers {
    type Out = Result<usize, fmt::Error>;

    async fn execute(&self, request: Request) -> Self::Out {
        Ok(answer(request))
    }
}

/// A value that the compiler does not know.
fn answer(request: Request) -> usize {
    black_box(request.host.len())
}

/// To one of the hosts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Request {
    /// The key.
    pub(crate) host: &'static str,
}

/// One request through tower's trait, with the caller's own handle, as tower demands.
///
/// Never inlined, whatever the service, the bare one included. Inlined into the loop of a lap, parts of it
/// could be done once for many requests; and whether the compiler inlines it would depend on how often the
/// bench uses it. Only the response is taken from the result: moving all of it would be a copy that a caller
/// need not make.
#[inline(never)]
pub(crate) fn by_tower<S>(service: &mut S, request: Request) -> usize
where
    S: Service<Request, Response = usize>,
{
    let mut context = Context::from_waker(Waker::noop());
    let Poll::Ready(Ok(())) = service.poll_ready(&mut context) else {
        panic!("not ready");
    };
    finish(pin!(service.call(request)), context)
}

/// The same through the trait of seatbelt's `layered`.
#[inline(never)]
pub(crate) fn by_layered<S, E>(service: &mut S, request: Request) -> usize
where
    S: layered::Service<Request, Out = Result<usize, E>>,
{
    let context = Context::from_waker(Waker::noop());
    finish(pin!(service.execute(request)), context)
}

#[inline]
fn finish<E>(
    mut call: Pin<&mut impl Future<Output = Result<usize, E>>>,
    mut context: Context<'_>,
) -> usize {
    // Only a request that waits for a lock is not ready at once.
    loop {
        match call.as_mut().poll(&mut context) {
            Poll::Ready(Ok(response)) => return response,
            Poll::Ready(Err(_)) => panic!("it answers"),
            Poll::Pending => spin_loop(),
        }
    }
}

/// A case of requests to all hosts, in an order that no processor can learn; the cost of drawing one is in the
/// case without a breaker, too. All threads have the same order, so that they meet at the same keys.
pub(crate) fn case<S>(
    name: &str,
    make: impl Fn() -> S + Send + Sync + 'static,
    request: impl Fn(&mut S, Request) -> usize + Copy + Send + Sync + 'static,
) -> Case
where
    S: Clone + Send + Sync + 'static,
{
    Case::new(name, move || {
        let service = make();
        move |calls| {
            let _runtime = RUNTIME.enter();
            let (hosts, mut service) = (&**HOSTS, service.clone());
            let mut random = fastrand::Rng::with_seed(1);
            for _ in 0..calls {
                let host = hosts[random.usize(..hosts.len())];
                black_box(request(&mut service, Request { host }));
            }
        }
    })
}

/// The runtime that the locks and clocks of peers need.
pub(crate) static RUNTIME: LazyLock<Runtime> = LazyLock::new(|| {
    let mut builder = runtime::Builder::new_multi_thread();
    let builder = builder.worker_threads(1).enable_time();
    builder.build().expect("tokio starts a thread")
});

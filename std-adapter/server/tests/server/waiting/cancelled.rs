// SPDX-License-Identifier: MIT OR Apache-2.0
//! A future that is dropped at any of its awaits gives back what it holds.

use std::pin::Pin;
use std::task::Poll;

use atomic_breaker_server::{AnyError, AtOnce, Registry, TimeLimit};
use futures_util::future::poll_fn;

use super::*;

/// Pending for so many polls.
async fn slow(polls: u32) -> Result<u8, &'static str> {
    let mut left = polls;
    poll_fn(|context| {
        context.waker().wake_by_ref();
        if left == 0 {
            return Poll::Ready(Err("no answer"));
        }
        left -= 1;
        Poll::Pending
    })
    .await
}

type Ended<'a> = Pin<Box<dyn Future<Output = ()> + 'a>>;

#[expect(clippy::many_single_char_names, reason = "one handle a call")]
fn every_call<'a, G: Guard + 'a>(guard: &G) -> Vec<Ended<'a>> {
    let retry = Retry::new().first_pause(Duration::from_millis(1));
    let retry = retry.wait_for_breaker(Duration::MAX);
    let [a, b, c, d, e, f, g] = [(); 7].map(|()| guard.clone());
    vec![
        Box::pin(async { drop(a.call_async(|| slow(3)).await) }),
        Box::pin(async { drop(b.call_async_with(AtOnce(AnyError), || slow(3)).await) }),
        Box::pin(async { drop(c.call_timeout(SECOND, || slow(3)).await) }),
        Box::pin(async { drop(d.call_timeout(TimeLimit::NONE, || slow(3)).await) }),
        Box::pin(async { drop(e.acquire_when_ready().await) }),
        Box::pin(async move { drop(f.retry(retry, || slow(3)).await) }),
        Box::pin(async move {
            drop(
                g.retry_with(AnyError, retry.try_limit(SECOND), || slow(3))
                    .await,
            );
        }),
    ]
}

/// Drops each call after each number of polls, of a guard that `open` has opened until now.
async fn drops<G: Guard>(guard: G, open: impl Fn()) {
    for call in 0..7 {
        for polls in 0..12 {
            open();
            tokio::time::advance(11 * SECOND).await;
            let mut future = every_call(&guard).swap_remove(call);
            for _ in 0..polls {
                if future.as_mut().now_or_never().is_some() {
                    break;
                }
                if polls % 2 == 1 {
                    tokio::time::advance(Duration::from_millis(1)).await;
                }
            }
            drop(future);
            tokio::time::advance(11 * SECOND).await;
            let probe = guard.clone().acquire();
            let probe = probe.unwrap_or_else(|it| panic!("call {call}, {polls} polls: {it}"));
            assert!(probe.is_probe(), "call {call}, {polls} polls");
            probe.report(Outcome::Success);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_dropped_call_of_a_resource_leaves_the_probe_to_others() {
    let server = Resource::new(Breaker::new(RULES, TokioClock));
    let open = || {
        server.breaker().trip();
    };
    drops(&server, open).await;
}

#[tokio::test(start_paused = true)]
async fn a_dropped_call_of_a_key_leaves_the_probe_to_others() {
    let keys: Registry<u32, TokioClock> = Registry::<u32>::builder(RULES)
        .clock(TokioClock)
        .build()
        .unwrap();
    drops(keys.of(7), || {
        keys.command(&7, |breaker| breaker.trip()).unwrap();
    })
    .await;
}

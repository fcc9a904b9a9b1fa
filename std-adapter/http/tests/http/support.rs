// SPDX-License-Identifier: MIT OR Apache-2.0
//! Scripted bodies, permits that are counted, random bytes.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};
use std::time::{SystemTime, UNIX_EPOCH};

use atomic_breaker_http::{ConnectionId, Failure, Outcome, ServiceError};
use atomic_breaker_server::{Admit, AnyPermit, Report, Transition};
use http::{HeaderMap, HeaderName, HeaderValue, Response};
use http_body::{Body, Frame, SizeHint};

pub(crate) type Bytes = axum::body::Bytes;

/// A failure that counts 1.
pub(crate) const ONE: Outcome = Outcome::Failure(Failure::new());

/// The end of a permit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    Open,
    Cancelled,
    Reported(Outcome),
}

/// The events of a test's permits.
#[derive(Clone, Default)]
pub(crate) struct Log(Rc<LogInner>);

#[derive(Default)]
struct LogInner {
    granted: Cell<usize>,
    ended: RefCell<Vec<Fate>>,
}

impl Log {
    pub(crate) fn permit(&self, is_probe: bool) -> CountedPermit {
        self.0.granted.set(self.0.granted.get() + 1);
        CountedPermit {
            log: self.clone(),
            is_probe,
            reported: false,
        }
    }

    /// The end of the only permit.
    #[track_caller]
    pub(crate) fn end(&self) -> Fate {
        let ended = self.0.ended.borrow();
        assert!(ended.len() <= self.0.granted.get(), "ended twice");
        assert_eq!(self.0.granted.get(), 1);
        ended.first().copied().unwrap_or(Fate::Open)
    }
}

/// A call that ends with a report, which may take the permit along.
pub(crate) async fn call_reported<H, R, T, E, F>(
    handle: H,
    report: R,
    operation: impl FnOnce() -> F,
) -> Result<R::Output<H::Permit>, ServiceError<E>>
where
    H: Admit<()>,
    R: Report<T, E>,
    F: Future<Output = Result<T, E>>,
{
    let permit = handle.admit(&())?;
    let result = permit.run_async(report, operation).await;
    result.map_err(ServiceError::Failed)
}

/// A permit that says what became of it.
pub(crate) struct CountedPermit {
    log: Log,
    is_probe: bool,
    reported: bool,
}

impl AnyPermit for CountedPermit {
    type Key = ();

    fn key(&self) -> &() {
        &()
    }

    fn end(
        mut self,
        outcome: Outcome,
        _: Option<ConnectionId>,
        _: Option<impl FnOnce() -> String>,
    ) -> Option<Transition> {
        self.reported = true;
        self.log.0.ended.borrow_mut().push(Fate::Reported(outcome));
        None
    }

    fn trips(&self) -> u8 {
        u8::from(self.is_probe)
    }
}

impl Drop for CountedPermit {
    fn drop(&mut self) {
        if !self.reported {
            self.log.0.ended.borrow_mut().push(Fate::Cancelled);
        }
    }
}

/// The action of a body when it is polled.
#[derive(Clone, Debug)]
pub(crate) enum Step {
    Data(&'static str),
    Trailers(HeaderMap),
    Pending,
    Error(&'static str),
    End,
    Panic,
}

/// A body that follows a script, and panics if it is polled after its end.
#[derive(Debug)]
pub(crate) struct Script {
    pub(crate) steps: VecDeque<Step>,
    /// The length is known, and so the end is, too.
    pub(crate) sized: bool,
}

pub(crate) fn script(steps: impl IntoIterator<Item = Step>) -> Script {
    Script {
        steps: steps.into_iter().collect(),
        sized: false,
    }
}

pub(crate) fn sized(steps: impl IntoIterator<Item = Step>) -> Script {
    Script {
        sized: true,
        ..script(steps)
    }
}

impl Body for Script {
    type Data = Bytes;
    type Error = &'static str;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, &'static str>>> {
        match self.steps.pop_front().expect("polled after its end") {
            Step::Data(text) => {
                Poll::Ready(Some(Ok(Frame::data(Bytes::from_static(text.as_bytes())))))
            }
            Step::Trailers(trailers) => Poll::Ready(Some(Ok(Frame::trailers(trailers)))),
            Step::Pending => Poll::Pending,
            Step::Error(text) => Poll::Ready(Some(Err(text))),
            Step::End => Poll::Ready(None),
            Step::Panic => panic!("the body panics"),
        }
    }

    fn is_end_stream(&self) -> bool {
        self.sized && matches!(self.steps.front(), Some(Step::End) | None)
    }

    fn size_hint(&self) -> SizeHint {
        if !self.sized {
            return SizeHint::default();
        }
        let left = self.steps.iter().map(|step| match step {
            Step::Data(text) => text.len() as u64,
            _ => 0,
        });
        SizeHint::with_exact(left.sum())
    }
}

type Polled<B> = Poll<Option<Result<Frame<<B as Body>::Data>, <B as Body>::Error>>>;

pub(crate) fn poll<B: Body + Unpin>(body: &mut B) -> Polled<B> {
    Pin::new(body).poll_frame(&mut Context::from_waker(Waker::noop()))
}

pub(crate) fn headers(list: &[(&'static str, &str)]) -> HeaderMap {
    list.iter()
        .map(|(name, value)| {
            let value = HeaderValue::from_bytes(value.as_bytes()).expect("a value");
            (HeaderName::from_static(name), value)
        })
        .collect()
}

pub(crate) fn response<B>(status: u16, list: &[(&'static str, &str)], body: B) -> Response<B> {
    let mut response = Response::new(body);
    *response.status_mut() = status.try_into().expect("a status");
    *response.headers_mut() = headers(list);
    response
}

/// xorshift64*, with a seed that is printed and differs from run to run.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new() -> Self {
        let seed = std::env::var("SEED").map_or_else(
            |_| {
                let time = SystemTime::now().duration_since(UNIX_EPOCH);
                time.map_or(1, |time| time.as_nanos() as u64 | 1)
            },
            |seed| seed.parse().expect("SEED is a number"),
        );
        println!("SEED={seed}");
        Self(seed)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }

    pub(crate) fn below(&mut self, end: usize) -> usize {
        (self.next() >> 33) as usize % end
    }
}

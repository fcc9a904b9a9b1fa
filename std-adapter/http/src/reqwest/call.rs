// SPDX-License-Identifier: MIT OR Apache-2.0
//! The guarded call of the middleware: limit, fresh connections, report.

use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use atomic_breaker_server::{AnyPermit, Report};
use http::{Extensions, StatusCode};
use pin_project_lite::pin_project;
use reqwest::{Request, Response};
use reqwest_middleware::{ClientWithMiddleware, Error, Result};
use tokio::time::{Instant, Sleep, sleep_until};

use super::upload::Upload;
use crate::callers_limit::{CallersLimit, timed_out};
use crate::causes::WithCauses;
use crate::client::{AtEitherEnd, ClientGuard, Probe, Responded, Tried};
use crate::errors::ErrorRule;
use crate::origin::Origin;
use crate::retries::may_be_sent_twice;
use crate::usual_errors::Again;
use crate::{Clock, Outcome};

/// The time after which a call to the host of a request counts as slow, where the rules are known: with a guard.
#[derive(Clone)]
pub(super) struct SlowCall(Option<Arc<SlowCallOf>>);

type SlowCallOf = dyn Fn(&Origin) -> Option<Duration> + Send + Sync;

impl SlowCall {
    pub(super) const UNKNOWN: Self = Self(None);

    /// Asks the host's rules as they are now.
    pub(super) fn of_hosts<C: Clock + Send + Sync>(guard: &'static ClientGuard<C>) -> Self {
        Self(Some(Arc::new(|host| guard.slow_call_of(host))))
    }

    pub(super) fn of(&self, request: &Request) -> Option<Duration> {
        self.0.as_ref()?(&Origin::from_reqwest(request).ok()?)
    }
}

/// A call with all that it needs, as it may go on without its caller.
pub(super) struct Call<P, X> {
    pub(super) permit: P,
    pub(super) request: Request,
    pub(super) extensions: Extensions,
    pub(super) client: Arc<ClientWithMiddleware>,
    pub(super) limit: Duration,
    /// The time from the beginning until a repair has ended, if there is one.
    pub(super) repair_limit: Duration,
    pub(super) callers_limit: Option<CallersLimit>,
    /// `None` if its body is in memory.
    pub(super) upload: Option<Upload>,
    pub(super) report: AtEitherEnd<Tried<X>>,
}

impl<P: AnyPermit + Send + Sync + 'static, X: ErrorRule<Error>> Call<P, X> {
    /// Returns the extensions as the middlewares beneath left them.
    pub(super) async fn make(mut self) -> (Result<Responded<Response, P>>, Extensions) {
        let url = self.request.url().clone();
        let again = self.permit.is_probe().then(Again::new);
        let probe = self.permit.is_probe();
        let probe = probe.then(|| Probe::mark(&mut self.extensions, self.permit.trips()));
        let (begun, mut permit) = (Instant::now(), Some(self.permit));
        let call = sent(&self.client, self.request, &mut self.extensions, again);
        let repair = probe.clone().zip(begun.checked_add(self.repair_limit));
        let limit = Limit::new(self.limit, self.upload.clone(), repair);
        let ended = within(limit, call, &mut permit).await;
        if let Some(probe) = probe {
            probe.unmark(&mut self.extensions);
        }
        let permit = permit.expect("taken by a panic alone");
        let is_callers = match &ended {
            // The server ran out of time for a request that its caller had not completed.
            Ok(Ok(response)) if response.status() == StatusCode::REQUEST_TIMEOUT => {
                let upload = self.upload.as_ref();
                upload.is_some_and(|upload| upload.waited() >= begun.elapsed() / 2)
            }
            Ok(_) => false,
            Err(late) => matches!(late, Late::Caller),
        };
        let result = match ended {
            Ok(result) => result.map(|response| match self.callers_limit {
                Some(limit) => limit.over(response),
                None => response,
            }),
            Err(late) => Err(timed_out(late.text(self.limit)).with_url(url).into()),
        };
        let result = if is_callers {
            permit.report(Outcome::Ignored);
            result.map(Responded::AtHead)
        } else {
            let reported = self.report.report(permit, result.map_err(WithCauses));
            reported.map_err(|WithCauses(error)| error)
        };
        (result, self.extensions)
    }
}

/// The result of a call, unless the limit passes first. The permit starts again when a repair is over, and when the host
/// gets more of a request that waited for its caller, or a slow caller would make a slow call. A panic is a failure.
async fn within<P: AnyPermit>(
    limit: Limit,
    call: impl Future<Output = Result<Response>>,
    permit: &mut Option<P>,
) -> std::result::Result<Result<Response>, Late> {
    let (mut limit, mut call) = (pin!(limit), pin!(call));
    poll_fn(|context| {
        if limit.as_mut().is_repaired(context) || limit.is_resumed(context) {
            permit.as_mut().map(AnyPermit::renew);
        }
        match AnyPermit::count_panic(permit, || call.as_mut().poll(context)) {
            Poll::Ready(result) => Poll::Ready(Ok(result)),
            Poll::Pending => limit.as_mut().poll(context).map(Err),
        }
    })
    .await
}

/// Sends the request, and again as often as allowed if its connection broke before a response.
async fn sent(
    client: &ClientWithMiddleware,
    request: Request,
    extensions: &mut Extensions,
    mut again: Option<Again>,
) -> Result<Response> {
    while let Some(again) = &mut again {
        // Streamed bodies cannot be sent twice.
        let Some(copy) = request.try_clone() else {
            break;
        };
        let may_repeat = || may_be_sent_twice(request.method(), request.headers());
        match client.execute_with_extensions(copy, extensions).await {
            Err(error) if again.allow(&error, may_repeat) => {}
            result => return result,
        }
    }
    client.execute_with_extensions(request, extensions).await
}

pin_project! {
    /// The limit of a try: how long the *host* may take. While the request waits for more of its body, it is the caller
    /// who takes time; so the whole takes at most twice as long. After a repair it begins anew.
    struct Limit {
        time: Duration,
        // `None` if it never passes.
        #[pin]
        passes: Option<Sleep>,
        is_extended: bool,
        // By which it is extended.
        waited: Duration,
        // `None` if the request never waits.
        upload: Option<Upload>,
        // A probe, and when a repair within it is too late.
        repair: Option<(Probe, Instant)>,
    }
}

/// The limit that expired.
enum Late {
    Host,
    Caller,
}

impl Late {
    fn text(&self, limit: Duration) -> String {
        match self {
            Self::Host => format!("no response within {limit:?}"),
            Self::Caller => format!("request not complete within {limit:?}"),
        }
    }
}

impl Limit {
    fn new(time: Duration, upload: Option<Upload>, repair: Option<(Probe, Instant)>) -> Self {
        let passes = Instant::now().checked_add(time);
        Self {
            time,
            passes: passes.map(sleep_until),
            is_extended: false,
            waited: Duration::ZERO,
            upload,
            repair,
        }
    }

    /// Returns, once, that the repair of a probe is over, after which the host has its whole time.
    fn is_repaired(self: Pin<&mut Self>, context: &Context<'_>) -> bool {
        let this = self.project();
        let repair = this.repair.as_ref();
        let is_repaired = repair.is_some_and(|(probe, _)| probe.is_repaired(context));
        if is_repaired {
            if let Some(passes) = this.passes.as_pin_mut() {
                passes.reset(Instant::now() + *this.time);
            }
            let waited = this.upload.as_ref().map(Upload::waited);
            (*this.is_extended, *this.waited) = (false, waited.unwrap_or_default());
        }
        is_repaired
    }

    /// Returns whether the request has waited for its caller and now goes on.
    fn is_resumed(&self, context: &Context<'_>) -> bool {
        let upload = self.upload.as_ref();
        upload.is_some_and(|upload| upload.is_resumed(context))
    }
}

impl Future for Limit {
    type Output = Late;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Late> {
        let mut this = self.project();
        let Some(mut passes) = this.passes.as_mut().as_pin_mut() else {
            return Poll::Pending;
        };
        loop {
            ready!(passes.as_mut().poll(context));
            match &this.repair {
                Some((probe, until)) if *until > passes.deadline() && probe.is_repairing() => {
                    passes.as_mut().reset(*until);
                    continue;
                }
                _ => {}
            }
            let Some(upload) = &this.upload else {
                return Poll::Ready(Late::Host);
            };
            let waited = upload.waited();
            if upload.waits() || waited > *this.waited && *this.is_extended {
                return Poll::Ready(Late::Caller);
            }
            if waited == *this.waited {
                return Poll::Ready(Late::Host);
            }
            // Once, by what the host has not had yet.
            let hosts = passes.deadline() + waited.saturating_sub(*this.waited);
            (*this.is_extended, *this.waited) = (true, waited);
            passes.as_mut().reset(hosts);
        }
    }
}

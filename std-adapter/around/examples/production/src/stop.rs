// SPDX-License-Identifier: MIT OR Apache-2.0
//! Stops without cutting requests off, and without refusing those that load balancers still send.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::{io, time::Duration};

use axum::Router;
use axum::extract::{Request, State};
use axum::http::header::{CONNECTION, CONTENT_TYPE, HeaderValue};
use axum::http::{StatusCode, Uri};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use tokio::net::TcpListener;
use tokio::signal::{ctrl_c, unix::SignalKind, unix::signal};
use tokio::{sync::oneshot, time::sleep};

type Drains = Arc<AtomicBool>;

/// Until `SIGTERM` or Ctrl-C. After `SIGTERM` it goes on serving for the time `drain`, in which `/ready` says 503; after
/// Ctrl-C not, as a person stops it. Then takes no more connections and completes the requests under way. For five
/// seconds, more than their deadline and a body take: an open admin page would keep the service forever.
pub async fn serve(listener: TcpListener, app: Router, drain: Duration) -> io::Result<()> {
    let mut terminated = signal(SignalKind::terminate())?;
    let drains = Drains::default();
    let app = app.layer(from_fn_with_state(Arc::clone(&drains), while_it_drains));
    let (asked, is_asked) = oneshot::channel::<()>();
    let stop = async move {
        let drained = async {
            terminated.recv().await;
            tracing::info!("drains for {drain:?}");
            drains.store(true, Relaxed);
            sleep(drain).await;
        };
        tokio::select! { () = drained => {}, _ = ctrl_c() => {} }
        tracing::info!("stops");
        drop(asked);
    };
    tokio::select! {
        served = axum::serve(listener, app).with_graceful_shutdown(stop).into_future() => served,
        () = async { let _ = is_asked.await; sleep(Duration::from_secs(5)).await } => Ok(()),
    }
}

/// Not ready for further requests; those that come are served, each as the last one of its connection.
async fn while_it_drains(
    State(drains): State<Drains>,
    uri: Uri,
    request: Request,
    next: Next,
) -> Response {
    let mut response = match (drains.load(Relaxed), uri.path()) {
        (true, "/ready" | "/ready/") => (
            StatusCode::SERVICE_UNAVAILABLE,
            [(CONTENT_TYPE, "application/health+json")],
            r#"{"status":"fail","output":"it is about to stop"}"#,
        )
            .into_response(),
        _ => next.run(request).await,
    };
    // Also those that began before.
    if drains.load(Relaxed) {
        let close = HeaderValue::from_static("close");
        response.headers_mut().insert(CONNECTION, close);
    }
    response
}

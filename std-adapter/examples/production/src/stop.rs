// SPDX-License-Identifier: MIT OR Apache-2.0
//! Stops without cutting requests off.

use std::{io, time::Duration};

use axum::Router;
use tokio::net::TcpListener;
use tokio::signal::{ctrl_c, unix::SignalKind, unix::signal};
use tokio::{sync::oneshot, time::sleep};

/// Until `SIGTERM` or Ctrl-C; then takes no more connections and completes the requests under way. For five seconds, more
/// than their deadline and a body take: an open admin page would keep the service forever.
pub async fn serve(listener: TcpListener, app: Router) -> io::Result<()> {
    let mut terminated = signal(SignalKind::terminate())?;
    let (asked, is_asked) = oneshot::channel::<()>();
    let stop = async move {
        tokio::select! { _ = terminated.recv() => {}, _ = ctrl_c() => {} }
        drop(asked);
    };
    tokio::select! {
        served = axum::serve(listener, app).with_graceful_shutdown(stop).into_future() => served,
        () = async { let _ = is_asked.await; sleep(Duration::from_secs(5)).await } => Ok(()),
    }
}

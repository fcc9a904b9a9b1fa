// SPDX-License-Identifier: MIT OR Apache-2.0
//! A host that others call. It can be told to fail.

use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::Router;
use axum::extract::State;
use axum::http::StatusCode;
use axum::http::header::RETRY_AFTER;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use tokio::net::TcpListener;
use tokio::time::sleep;

/// The state of a host.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Mood {
    Healthy,
    /// Accepts calls and does not respond.
    Hanging,
    /// Asks to be left alone for a second.
    Overloaded,
}

/// Its state, and how many calls have reached it.
type Shared = Arc<Mutex<(Mood, u32)>>;

/// A host at a free port of this machine.
#[derive(Debug)]
pub(crate) struct Upstream {
    address: SocketAddr,
    shared: Shared,
}

impl Upstream {
    pub(crate) async fn start() -> io::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?;
        let shared = Shared::new(Mutex::new((Mood::Healthy, 0)));
        let routes = Router::new()
            .route("/", get(answer))
            .with_state(Arc::clone(&shared));
        tokio::spawn(async move { axum::serve(listener, routes).await });
        Ok(Self { address, shared })
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    pub(crate) fn set(&self, mood: Mood) {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner).0 = mood;
    }

    pub(crate) fn calls(&self) -> u32 {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner).1
    }
}

async fn answer(State(shared): State<Shared>) -> Response {
    let mood = {
        let mut shared = shared.lock().unwrap_or_else(PoisonError::into_inner);
        shared.1 += 1;
        shared.0
    };
    match mood {
        Mood::Healthy => "hello".into_response(),
        Mood::Hanging => {
            sleep(Duration::from_secs(60)).await;
            "too late".into_response()
        }
        Mood::Overloaded => (StatusCode::SERVICE_UNAVAILABLE, [(RETRY_AFTER, "1")]).into_response(),
    }
}

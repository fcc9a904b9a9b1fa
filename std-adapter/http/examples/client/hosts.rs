// SPDX-License-Identifier: MIT OR Apache-2.0
//! A host at a free port of this machine, which can be told to fail.

use std::future::pending;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};

use atomic_breaker_http::Origin;
use axum::Router;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use tokio::net::TcpListener;

/// The state of a host.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Mood {
    Works,
    /// Responds with 500.
    Fails,
    /// Accepts requests and never responds.
    Hangs,
}

/// Its state, and how many requests have reached it.
type Shared = Arc<Mutex<(Mood, u32)>>;

/// A host, until the program ends.
#[derive(Debug)]
pub(crate) struct Host {
    address: SocketAddr,
    shared: Shared,
}

impl Host {
    pub(crate) async fn start(mood: Mood) -> io::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?;
        let shared = Shared::new(Mutex::new((mood, 0)));
        let routes = Router::new()
            .fallback(answer)
            .with_state(Arc::clone(&shared));
        tokio::spawn(async move { axum::serve(listener, routes).await });
        Ok(Self { address, shared })
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}/", self.address)
    }

    /// The key of its breaker.
    pub(crate) fn origin(&self) -> Origin {
        Origin::from_uri(&self.url().parse().expect("a URL")).expect("a host")
    }

    pub(crate) fn set(&self, mood: Mood) {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner).0 = mood;
    }

    /// The number of requests that have reached it.
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
        Mood::Works => "hello".into_response(),
        Mood::Fails => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
        Mood::Hangs => pending().await,
    }
}

// SPDX-License-Identifier: MIT OR Apache-2.0
//! The owners of a guard and its clients.

use std::io;
use std::sync::Arc;
use std::task::{Context, Poll};

use atomic_breaker_http::{
    ClientGuard, ClientLayer, KeyedObserver, Origin, RequestError, TokioClock,
};
use http::{Request, Response};
use tokio::time::{sleep, timeout};
use tower::{Layer, Service, ServiceBuilder, ServiceExt, service_fn};

use super::requests::{Client, SECOND, Servers, get, guard};

use crate::five_in_a_row;

#[tokio::test(start_paused = true)]
async fn all_layers_of_a_guard_share_its_breakers() {
    let (guard, servers) = (guard(five_in_a_row()), Servers::default());
    for _ in 0..2 {
        let _ = servers
            .behind(guard)
            .oneshot(get("http://503.example/"))
            .await;
    }
    let another = servers
        .behind(guard)
        .oneshot(get("http://503.example/"))
        .await;
    assert!(matches!(another, Err(RequestError::Rejected(_))));
}

/// A client as services have it: in a field of a named type, used by reference in tasks that must be `Send`.
#[tokio::test(start_paused = true)]
async fn a_client_in_a_field_is_used_by_tasks() {
    struct Nobody;
    impl KeyedObserver<Origin> for Nobody {}

    #[derive(Clone)]
    struct Hello;
    impl Service<Request<String>> for Hello {
        type Response = Response<String>;
        type Error = io::Error;
        type Future = std::future::Ready<io::Result<Response<String>>>;

        fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Ready(Ok(()))
        }

        fn call(&mut self, _: Request<String>) -> Self::Future {
            std::future::ready(Ok(Response::new("hello".to_owned())))
        }
    }

    struct Page(Client);
    impl Page {
        async fn get(&self) -> String {
            let response = self.0.clone().oneshot(get("http://a.example/")).await;
            response
                .unwrap()
                .into_body()
                .get_ref()
                .get_ref()
                .unwrap()
                .clone()
        }
    }
    let guard: &'static ClientGuard<TokioClock> =
        ClientGuard::with(five_in_a_row(), TokioClock, &Nobody)
            .unwrap()
            .leak();
    let page = Arc::new(Page(guard.layer().layer(Hello)));
    let body = tokio::spawn(async move { page.get().await });
    assert_eq!(body.await.unwrap(), "hello");
}

#[tokio::test(start_paused = true)]
async fn a_guard_in_an_arc_is_dropped_when_its_clients_and_their_tries_have_ended() {
    type Shared = Arc<ClientGuard<TokioClock>>;
    let guard: Shared = Arc::new(ClientGuard::with(five_in_a_row(), TokioClock, ()).unwrap());
    let client = ServiceBuilder::new()
        .layer(ClientLayer::new(Arc::clone(&guard)))
        .service(service_fn(|_: Request<String>| async {
            sleep(SECOND).await;
            Ok::<_, io::Error>(Response::new(String::new()))
        }));
    assert!(
        client
            .clone()
            .oneshot(get("http://a.example/"))
            .await
            .is_ok()
    );
    // The caller leaves; its try goes on.
    let request = client.oneshot(get("http://a.example/"));
    assert!(timeout(SECOND / 2, request).await.is_err());
    assert!(
        Arc::strong_count(&guard) > 1,
        "the try is reported when it ends"
    );
    sleep(SECOND).await;
    assert_eq!(Arc::strong_count(&guard), 1);
}

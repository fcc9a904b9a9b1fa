// SPDX-License-Identifier: MIT OR Apache-2.0
//! A host that answers most requests: what serves one of them ill shuts out no other.

use std::io;
use std::time::Duration;

use atomic_breaker_http::{
    ClientBody, ClientConfig, ClientGuard, ClientService, Origin, State, TokioClock,
};
use http::{Method, Request, Response, StatusCode};
use tokio::time::sleep;
use tower::{ServiceBuilder, ServiceExt, service_fn};

const SECOND: Duration = Duration::from_secs(1);

type Guard = &'static ClientGuard<TokioClock>;
type Client = ClientService<(), Response<ClientBody<String, Guard>>, io::Error>;

fn guard(config: ClientConfig) -> Guard {
    ClientGuard::with(config, TokioClock, ()).unwrap().leak()
}

fn origin() -> Origin {
    Origin::of(&"http://a.example/".parse().unwrap()).unwrap()
}

/// A client of a host that gives these answers.
fn client(
    guard: Guard,
    answer: impl Fn(&Request<()>) -> Response<String> + Clone + Send + Sync + 'static,
) -> Client {
    let host = service_fn(move |request: Request<()>| {
        let response = answer(&request);
        async move {
            sleep(Duration::from_millis(20)).await;
            Ok(response)
        }
    });
    ServiceBuilder::new().layer(guard.layer()).service(host)
}

fn response(status: u16) -> Response<String> {
    let response = Response::builder().status(status);
    response.body(String::new()).unwrap()
}

fn request(method: &str) -> Request<()> {
    let method = Method::from_bytes(method.as_bytes()).unwrap();
    let request = Request::builder().method(method).uri("http://a.example/");
    request.body(()).unwrap()
}

/// One after the other, and so in a row that lasts.
#[tokio::test(start_paused = true)]
async fn what_a_host_does_not_do_shuts_out_nothing_that_it_does() {
    for status in [501, 505, 507, 511] {
        let guard = guard(ClientConfig::new());
        let client = client(guard, move |request| {
            response(if request.method() == Method::GET {
                200
            } else {
                status
            })
        });
        for _ in 0..200 {
            let answer = client.clone().oneshot(request("PROPFIND")).await.unwrap();
            assert_eq!(answer.status(), status);
            sleep(SECOND / 10).await;
        }
        assert_eq!(guard.hosts().state(&origin()), State::Closed, "{status}");
        let answer = client.oneshot(request("GET")).await.unwrap();
        assert_eq!(answer.status(), StatusCode::OK, "{status}");
    }
}

/// A login of a network says nothing of the host, so the next probe decides; the other answers are the host's own.
#[tokio::test(start_paused = true)]
async fn a_probe_that_gets_such_an_answer_has_found_the_host() {
    for (status, state) in [
        (501, State::Closed),
        (505, State::Closed),
        (507, State::Closed),
        (511, State::HalfOpen),
    ] {
        let guard = guard(ClientConfig::new());
        let client = client(guard, move |_| response(status));
        guard
            .hosts()
            .command(&origin(), |host| host.trip())
            .unwrap();
        sleep(2 * SECOND).await;
        client.clone().oneshot(request("GET")).await.unwrap();
        assert_eq!(guard.hosts().state(&origin()), state, "{status}");
    }
}

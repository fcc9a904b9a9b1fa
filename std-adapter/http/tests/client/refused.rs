// SPDX-License-Identifier: MIT OR Apache-2.0
//! HTTP/2 through a stack of layers and through reqwest-middleware: requests that a host refuses unprocessed.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use atomic_breaker_http::{
    Breaker, Config, HttpClassifier, Origin, PerHost, Registry, State, UsualErrors, breaker,
};
use atomic_breaker_server::{Admit, InFlightLimit, Resource};
use atomic_breaker_tower::BreakerLayer;
use futures_util::future::join_all;
use http::Request;
use http_body_util::Empty;
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use tower::{ServiceBuilder, ServiceExt};

use super::streams::{goes_away, refuses, serve_after};
use test_support::host::Server;
use test_support::http2::{NO_ERROR, REFUSED_STREAM};

/// The default rules, with times so long that nothing expires.
const RULES: Config = Config::new().open_for(Duration::from_secs(3_600));
const HTTP: HttpClassifier<UsualErrors> = HttpClassifier::new().errors(UsualErrors);

type Body = Empty<&'static [u8]>;
type Hyper = Client<HttpConnector, Body>;

fn hyper() -> Hyper {
    let mut client = Client::builder(TokioExecutor::new());
    client.http2_only(true).build_http()
}

/// A request; `true` if it was answered.
type Answered = Pin<Box<dyn Future<Output = bool>>>;

/// Sends a request to a URL.
type Sending = dyn Fn(&str, &Hyper) -> Answered;
/// Returns the state and the failures of the breaker of a URL's host.
type Look = dyn Fn(&str) -> (State, u16);

/// A guard around a client.
struct Stack {
    name: &'static str,
    send: Box<Sending>,
    look: Box<Look>,
}

impl Stack {
    async fn answered(&self, requests: usize, server: &Server, hyper: &Hyper) -> usize {
        let answers = (0..requests).map(|_| (self.send)(&server.url("/"), hyper));
        let answers = join_all(answers).await;
        answers.into_iter().filter(|&answered| answered).count()
    }

    fn look(&self, server: &Server) -> (State, u16) {
        (self.look)(&server.url("/"))
    }
}

fn layered<A: Admit<Request<Body>> + Clone + 'static>(
    name: &'static str,
    admit: A,
    look: impl Fn(&str) -> (State, u16) + 'static,
) -> Stack {
    let send = move |url: &str, hyper: &Hyper| -> Answered {
        let layer = BreakerLayer::new(admit.clone()).report(HTTP);
        let client = ServiceBuilder::new().layer(layer).service(hyper.clone());
        let request = Request::post(url).body(Body::new()).unwrap();
        Box::pin(async { client.oneshot(request).await.is_ok() })
    };
    Stack {
        name,
        send: Box::new(send),
        look: Box::new(look),
    }
}

type One = Arc<Breaker>;
type Hosts = Arc<Registry<Origin>>;

fn of_one(one: &One) -> impl Fn(&str) -> (State, u16) + use<> {
    let one = Arc::clone(one);
    move |_| (one.state(), one.snapshot().failures())
}

fn of_resource(one: &Arc<Resource>) -> impl Fn(&str) -> (State, u16) + use<> {
    let one = Arc::clone(one);
    move |_| (one.breaker().state(), one.breaker().snapshot().failures())
}

fn of_host(hosts: &Hosts) -> impl Fn(&str) -> (State, u16) + use<> {
    let hosts = Arc::clone(hosts);
    move |url| {
        let origin = Origin::from_uri(&url.parse().unwrap()).unwrap();
        let entry = hosts.entry(&origin).map(|entry| entry.snapshot);
        entry.map_or((State::Closed, 0), |entry| {
            (entry.state(), entry.failures())
        })
    }
}

fn stacks() -> Vec<Stack> {
    let one: One = Arc::new(breaker(RULES));
    let resources = [(); 2].map(|()| Arc::new(Resource::new(breaker(RULES))));
    let hosts: [Hosts; 2] = [(); 2].map(|()| Arc::new(Registry::new(RULES).unwrap()));
    let [resource, in_flight] = resources;
    let [by_host, limited] = hosts;
    let per_host = InFlightLimit::by_key(PerHost::new(Arc::clone(&limited)), 100);
    #[cfg_attr(not(feature = "reqwest-middleware"), expect(unused_mut))]
    let mut stacks = vec![
        layered("a breaker alone", Arc::clone(&one), of_one(&one)),
        layered("a resource", Arc::clone(&resource), of_resource(&resource)),
        layered(
            "a limit of calls in flight",
            Arc::new(InFlightLimit::new(Arc::clone(&in_flight), 100)),
            of_resource(&in_flight),
        ),
        layered(
            "by host",
            PerHost::new(Arc::clone(&by_host)),
            of_host(&by_host),
        ),
        layered("a limit by host", Arc::new(per_host), of_host(&limited)),
    ];
    #[cfg(feature = "reqwest-middleware")]
    stacks.extend(middleware::stacks());
    stacks
}

#[tokio::test]
async fn eleven_requests_refused_by_one_connection_are_one_failure() {
    type Serve = fn(std::net::TcpStream, u32);
    let go_away: Serve = |connection, number| {
        serve_after(connection, number, |connection, _| {
            connection.go_away(1, NO_ERROR);
        });
    };
    let refuse: Serve = |connection, number| {
        serve_after(connection, number, |connection, streams| {
            for &stream in streams {
                connection.reset(stream, REFUSED_STREAM);
            }
        });
    };
    for serve in [go_away, refuse] {
        for stack in stacks() {
            let (server, pool) = (Server::serving(serve), hyper());
            assert_eq!(stack.answered(1, &server, &pool).await, 1);
            assert_eq!(stack.answered(11, &server, &pool).await, 0);
            assert_eq!(stack.look(&server), (State::Closed, 1), "{}", stack.name);
            assert_eq!(stack.answered(1, &server, &hyper()).await, 1);
            assert_eq!(stack.look(&server), (State::Closed, 0), "{}", stack.name);
        }
    }
}

#[tokio::test]
async fn a_host_that_refuses_each_request_opens_even_if_several_come_at_a_time() {
    for requests in [1, 11] {
        for serve in [refuses, goes_away] {
            for stack in stacks() {
                let (server, hyper) = (Server::serving(serve), hyper());
                for count in 0..5 {
                    assert_eq!(
                        stack.look(&server),
                        (State::Closed, count),
                        "{}",
                        stack.name
                    );
                    assert_eq!(stack.answered(requests, &server, &hyper).await, 0);
                }
                assert_eq!(stack.look(&server).0, State::Open, "{}", stack.name);
            }
        }
    }
}

#[cfg(feature = "reqwest-middleware")]
mod middleware {
    use atomic_breaker_http::BreakerMiddleware;
    use http::Extensions;
    use reqwest_middleware::{ClientBuilder, Error, Middleware, Next, Result};

    use super::*;

    /// In place of reqwest's own client, which needs a feature for HTTP/2 and sends again by itself.
    struct Through(Hyper);

    impl Middleware for Through {
        fn handle<'a, 'b, 'c, 'd>(
            &'a self,
            request: reqwest::Request,
            _: &'b mut Extensions,
            _: Next<'c>,
        ) -> Pin<Box<dyn Future<Output = Result<reqwest::Response>> + Send + 'd>>
        where
            'a: 'd,
            'b: 'd,
            'c: 'd,
        {
            let sent = Request::post(request.url().as_str()).body(Body::new());
            let sent = self.0.request(sent.unwrap());
            Box::pin(async {
                sent.await
                    .map(|_| http::Response::new("").into())
                    .map_err(Error::middleware)
            })
        }
    }

    fn through<A>(
        name: &'static str,
        admit: A,
        look: impl Fn(&str) -> (State, u16) + 'static,
    ) -> Stack
    where
        A: Admit<reqwest::Request, Permit: Send + Sync + 'static> + Clone + Send + Sync + 'static,
    {
        let send = move |url: &str, hyper: &Hyper| -> Answered {
            let below = ClientBuilder::new(reqwest::Client::new())
                .with(Through(hyper.clone()))
                .build();
            let client = ClientBuilder::new(reqwest::Client::new())
                .with(BreakerMiddleware::new(admit.clone(), below))
                .build();
            let request = client.post(url);
            Box::pin(async { request.send().await.is_ok() })
        };
        Stack {
            name,
            send: Box::new(send),
            look: Box::new(look),
        }
    }

    pub(super) fn stacks() -> Vec<Stack> {
        let one: One = Arc::new(breaker(RULES));
        let hosts: [Hosts; 2] = [(); 2].map(|()| Arc::new(Registry::new(RULES).unwrap()));
        let [by_host, limited] = hosts;
        let per_host = InFlightLimit::by_key(PerHost::new(Arc::clone(&limited)), 100);
        vec![
            through(
                "a middleware with a breaker alone",
                Arc::clone(&one),
                of_one(&one),
            ),
            through(
                "a middleware by host",
                PerHost::new(Arc::clone(&by_host)),
                of_host(&by_host),
            ),
            through(
                "a middleware with a limit by host",
                Arc::new(per_host),
                of_host(&limited),
            ),
        ]
    }
}

// SPDX-License-Identifier: MIT OR Apache-2.0
//! Each building block as the field of a struct or a `static`: its type can be written.
#![cfg(feature = "reqwest-middleware")]

use std::io;
use std::sync::{Arc, LazyLock};

use atomic_breaker_http::{
    AtEnd, AtHead, Breaker, BreakerMiddleware, ClientBody, ClientConfig, ClientError, ClientGuard,
    ClientLayer, ClientService, Config, ErrorRule, Failure, GrpcClassifier, GrpcCode,
    GrpcDeadlineLayer, GrpcDeadlineService, Hosts, HttpClassifier, HttpClient, Origin, Outcome,
    PerHost, Registry, ReqwestErrors, RetryBudget, StdClock, TokioClock, UsualErrors, breaker,
};
use atomic_breaker_server::{ByKey, Resource};
use atomic_breaker_tower::{BreakerLayer, BreakerService, RetryConfig, RetryLayer, RetryService};
use http::{Request, Response, StatusCode};
use hyper::body::Incoming;
use hyper_util::client::legacy::{Client, connect::HttpConnector};
use hyper_util::rt::TokioExecutor;
use tower::Layer;
use tower::util::BoxCloneSyncService;

type Hyper = Client<HttpConnector, String>;
type Boxed = BoxCloneSyncService<Request<String>, Response<Incoming>, io::Error>;
type HyperError = hyper_util::client::legacy::Error;
type ByTenant = ByKey<&'static Registry<String>, fn(&Request<String>) -> String>;

static HTTP: HttpClassifier = HttpClassifier::new();
static ONLY_5XX: HttpClassifier = HttpClassifier::new().statuses(|status| match status.as_u16() {
    500..=599 => Failure::new().into(),
    _ => Outcome::Success,
});
static OF_HYPER: HttpClassifier<UsualErrors> = HttpClassifier::new().errors(UsualErrors);
static AT_END: AtEnd<HttpClassifier> = HttpClassifier::new().at_end_of_body();
static OF_BODIES: AtEnd<HttpClassifier, UsualErrors> = HttpClassifier::new()
    .at_end_of_body()
    .body_errors(UsualErrors);
static GRPC: AtEnd<GrpcClassifier> = GrpcClassifier::new().at_end_of_body();
static STREAMS: AtHead<GrpcClassifier> = GrpcClassifier::new().at_head();
static OF_CHANNEL: AtEnd<GrpcClassifier<UsualErrors>, UsualErrors> = GrpcClassifier::new()
    .errors(UsualErrors)
    .at_end_of_body()
    .body_errors(UsualErrors);
static CODES: GrpcClassifier = GrpcClassifier::new().codes(|code| code.outcome());

static SERVER: Breaker = breaker(Config::new());
static KEPT: Resource = Resource::new(breaker(Config::new()));
static BUDGET: RetryBudget = RetryBudget::new();
static RETRY: RetryLayer<&RetryBudget, HttpClassifier> =
    RetryLayer::new(RetryConfig::new(), &BUDGET, HttpClassifier::new());
static HOSTS: LazyLock<Registry<Origin>> =
    LazyLock::new(|| Registry::new(Config::new()).expect("constant rules"));
static GUARD: LazyLock<ClientGuard> =
    LazyLock::new(|| ClientGuard::new(ClientConfig::new()).expect("constant settings"));
static WHOLE: LazyLock<ClientGuard> = LazyLock::new(|| {
    ClientGuard::new(ClientConfig::new().at_end_of_body()).expect("constant settings")
});

fn hyper() -> Hyper {
    Client::builder(TokioExecutor::new()).build_http()
}

fn boxed() -> Boxed {
    BoxCloneSyncService::new(tower::util::MapErr::new(hyper(), io::Error::other))
}

#[test]
fn classifiers_are_statics() {
    assert_eq!(HTTP.status(StatusCode::CONFLICT), Outcome::Success);
    let too_many = StatusCode::TOO_MANY_REQUESTS;
    assert_eq!(ONLY_5XX.status(too_many), Outcome::Success);
    let failure = Outcome::from(Failure::new());
    assert_eq!(AT_END.rules().status(too_many), Outcome::Ignored);
    let reset = io::Error::other("reset");
    assert_eq!(OF_HYPER.error(&reset), failure);
    let trailers = http::HeaderMap::new();
    for grpc in [
        GRPC.rules().code(GrpcCode::Internal, &trailers),
        CODES.code(GrpcCode::Internal, &trailers),
    ] {
        assert_eq!(grpc, failure);
    }
    let _ = (OF_BODIES, STREAMS, OF_CHANNEL);
}

type ByHost<R> = BreakerService<Hyper, PerHost<&'static Registry<Origin>>, R>;

/// As many layers as a user's own stack has.
struct Stack {
    by_host: ByHost<HttpClassifier>,
    shared: BreakerService<Hyper, PerHost<Arc<Registry<Origin>>>, HttpClassifier>,
    retried: RetryService<ByHost<HttpClassifier>, &'static RetryBudget, HttpClassifier>,
    whole: BreakerService<Hyper, &'static Breaker, AtEnd<HttpClassifier, UsualErrors>>,
    channel: GrpcDeadlineService<ByHost<AtEnd<GrpcClassifier>>>,
    by_tenant: BreakerLayer<ByTenant>,
}

#[tokio::test]
async fn layers_around_a_client_are_fields() {
    let layer = BreakerLayer::new(PerHost::new(&*HOSTS)).report(HTTP);
    let registry = Arc::new(Registry::new(Config::new()).unwrap());
    let tenants = Registry::<String>::new(Config::new()).unwrap().leak();
    let tenant_of = |request: &Request<String>| request.uri().path().to_owned();
    let stack = Stack {
        by_host: layer.layer(hyper()),
        shared: BreakerLayer::new(PerHost::new(registry))
            .report(HTTP)
            .layer(hyper()),
        retried: RETRY.layer(layer.layer(hyper())),
        whole: BreakerLayer::new(&SERVER).report(OF_BODIES).layer(hyper()),
        channel: GrpcDeadlineLayer::new(std::time::Duration::from_secs(3)).layer(
            BreakerLayer::new(PerHost::new(&*HOSTS))
                .report(GRPC)
                .layer(hyper()),
        ),
        by_tenant: BreakerLayer::new(ByKey::new(tenants, tenant_of)),
    };
    let _ = (stack.by_host, stack.shared, stack.retried);
    let _ = (stack.whole, stack.channel, stack.by_tenant);
}

type Shared<C = StdClock> = Arc<ClientGuard<C>>;

/// Clients with everything around them.
#[derive(Clone)]
struct Clients {
    hyper: ClientService<String, Response<ClientBody<Incoming>>, HyperError>,
    reqwest: ClientService<String, reqwest::Response, ClientError>,
    boxed: ClientService<String, Response<ClientBody<Incoming>>, io::Error>,
    shared: ClientService<String, Response<ClientBody<Incoming, Shared>>, HyperError>,
    whole: ClientService<String, Response<ClientBody<Incoming>>, HyperError>,
    whole_of_reqwest: ClientService<String, reqwest::Response, ClientError>,
    whole_and_shared:
        ClientService<String, Response<ClientBody<Incoming, Shared<TokioClock>>>, io::Error>,
    judged: ClientService<String, Response<ClientBody<Incoming>>, io::Error>,
}

struct Layers {
    usual: ClientLayer<String>,
    shared: ClientLayer<String, Arc<ClientGuard>>,
    whole: ClientLayer<String>,
}

/// A service that takes the bodies of such a client.
#[derive(Default)]
struct Bodies {
    of_hyper: Option<ClientBody<Incoming>>,
    of_reqwest: Option<reqwest::Body>,
    shared: Option<ClientBody<Incoming, Shared<TokioClock>>>,
}

#[tokio::test]
async fn guarded_clients_and_their_bodies_are_fields() {
    let judge = |error: &io::Error| UsualErrors.outcome(error);
    let shared = Arc::new(ClientGuard::new(ClientConfig::new()).unwrap());
    let config = ClientConfig::new().at_end_of_body();
    let whole = Arc::new(ClientGuard::with(config, TokioClock, ()).unwrap());
    let layers = Layers {
        usual: GUARD.layer(),
        shared: ClientLayer::new(shared),
        whole: WHOLE.layer(),
    };
    let clients = Clients {
        hyper: layers.usual.layer(hyper()),
        reqwest: layers.usual.layer(HttpClient::default()),
        boxed: layers.usual.layer(boxed()),
        shared: layers.shared.layer(hyper()),
        whole: layers.whole.layer(hyper()),
        whole_of_reqwest: layers.whole.layer(HttpClient::default()),
        whole_and_shared: ClientLayer::new(whole).layer(boxed()),
        judged: GUARD
            .layer()
            .errors(judge as fn(&io::Error) -> Outcome)
            .layer(boxed()),
    };
    let mut bodies = Bodies::default();
    let request = || {
        Request::get("http://a.invalid/")
            .body(String::new())
            .unwrap()
    };
    if false {
        use tower::ServiceExt;
        let Clients {
            whole,
            whole_of_reqwest,
            whole_and_shared,
            ..
        } = clients.clone();
        bodies.of_hyper = Some(whole.oneshot(request()).await.unwrap().into_body());
        bodies.of_reqwest = Some(whole_of_reqwest.oneshot(request()).await.unwrap().into());
        bodies.shared = Some(
            whole_and_shared
                .oneshot(request())
                .await
                .unwrap()
                .into_body(),
        );
    }
    assert!(bodies.of_hyper.is_none() && bodies.of_reqwest.is_none() && bodies.shared.is_none());
    let _ = (
        clients.hyper,
        clients.reqwest,
        clients.boxed,
        clients.shared,
        clients.judged,
    );
}

struct Middlewares {
    of_one: BreakerMiddleware<&'static Breaker>,
    of_resource: BreakerMiddleware<Arc<Resource>>,
    by_host: BreakerMiddleware<PerHost<&'static Registry<Origin>>>,
    of_guard: BreakerMiddleware<PerHost<&'static Hosts>>,
    judged: BreakerMiddleware<&'static Resource, fn(&reqwest_middleware::Error) -> Outcome>,
}

#[test]
fn middlewares_are_fields() {
    let judge = |error: &reqwest_middleware::Error| ReqwestErrors.outcome(error);
    let judge = judge as fn(&reqwest_middleware::Error) -> Outcome;
    let middlewares = Middlewares {
        of_one: BreakerMiddleware::new(&SERVER, reqwest::Client::new()),
        of_resource: BreakerMiddleware::new(
            Arc::new(Resource::new(breaker(Config::new()))),
            reqwest::Client::new(),
        ),
        by_host: BreakerMiddleware::new(PerHost::new(&*HOSTS), reqwest::Client::new()),
        of_guard: GUARD.middleware(reqwest::Client::new()),
        judged: BreakerMiddleware::new(&KEPT, reqwest::Client::new())
            .classify(HttpClassifier::new().errors(judge)),
    };
    let _ = (middlewares.of_one, middlewares.of_resource);
    let _ = (
        middlewares.by_host,
        middlewares.of_guard,
        middlewares.judged,
    );
}

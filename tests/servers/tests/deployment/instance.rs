// SPDX-License-Identifier: MIT OR Apache-2.0
//! The services: a web that calls shops, and shops that call dependencies, share what they learn, and work.

use std::sync::{Arc, Mutex};

use atomic_breaker_fleet::{FleetConfig, FleetHolds, FleetStatus, Joined};
use atomic_breaker_http::{Origin, RequestError, Unavailable};
use atomic_breaker_server::Prober;
use atomic_breaker_steps::Worker;
use http::{Request, Response, StatusCode};
use tokio::task::JoinHandle;

use crate::client::{Client, Target, get};
use crate::clock::InstanceClock;
use crate::engine::Reached;
use crate::net::{Life, Node, Unreachable, WEBS};
use crate::plan::{ENGINE_LIMIT, SECOND, TRY_LIMIT};
use crate::waiting::Waiting;
use crate::work::Work;
use crate::world::World;

/// A process.
pub(crate) struct Instance {
    pub(crate) life: Arc<Life>,
    pub(crate) clock: InstanceClock,
    pub(crate) client: Client,
    pub(crate) shop: Option<Shop>,
    prober: Option<JoinHandle<()>>,
}

/// The parts that only a shop has.
pub(crate) struct Shop {
    pub(crate) work: Work,
    pub(crate) waiting: Waiting,
    /// `None` once it was killed.
    running: Mutex<Option<(Joined, Worker)>>,
}

impl Instance {
    /// The first instances are webs, the others shops.
    pub(crate) fn start(world: &'static World, number: usize, run: u32) -> Arc<Self> {
        let is_web = number < WEBS;
        let node = if is_web {
            Node::web(number)
        } else {
            Node::shop(number - WEBS)
        };
        let life = Life::new(node, run);
        let clock = world.draw(InstanceClock::new);
        if is_web {
            let client = Client::new(world, &life, &clock, None);
            let prober = (number == 0).then(|| probe(world, &client));
            return Arc::new(Self {
                life,
                clock,
                client,
                shop: None,
                prober,
            });
        }
        let (client, shop) = Shop::start(world, &life, &clock);
        let shop = Some(shop);
        Arc::new(Self {
            life,
            clock,
            client,
            shop,
            prober: None,
        })
    }

    pub(crate) fn kill(&self) {
        self.life.kill();
        if let Some(shop) = &self.shop {
            shop.running.lock().unwrap().take();
            shop.waiting.end();
        }
        if let Some(prober) = &self.prober {
            prober.abort();
        }
    }
}

/// Pings shops that are open, so that no caller has to find out.
fn probe(world: &'static World, client: &Client) -> JoinHandle<()> {
    let hosts = client.guard().hosts();
    let life = Arc::clone(client.life());
    let prober = Prober::every(20 * SECOND).time_limit(TRY_LIMIT);
    let ping = move |key: Arc<Origin>, _| {
        let life = Arc::clone(&life);
        async move { ping(world, &life, &key.to_string()).await }
    };
    tokio::spawn(async move {
        hosts.run_prober(prober, 2, ping).await;
    })
}

async fn ping(world: &'static World, life: &Life, key: &str) -> Result<(), Unreachable> {
    let shops = (0..crate::net::SHOPS).map(Target::Shop);
    let target = shops
        .into_iter()
        .find(|target| target.origin().to_string() == key);
    let Some(target @ Target::Shop(number)) = target else {
        return Err(Unreachable("no such shop"));
    };
    let request = get(target);
    let response = world
        .net
        .send(life, target.node(), world.serve(number, &request))
        .await??;
    if response.status().is_success() {
        Ok(())
    } else {
        Err(Unreachable("not well"))
    }
}

impl Shop {
    fn start(world: &'static World, life: &Arc<Life>, clock: &InstanceClock) -> (Client, Self) {
        let plan = &world.plan;
        let name = life.node.to_string();
        let fleet = FleetConfig::new(plan.quorum)
            .time_limit(ENGINE_LIMIT)
            .poll(plan.fleet_poll)
            .instance(&name);
        let reached = Reached {
            world,
            life: Arc::clone(life),
        };
        let joined = Joined::new(reached, fleet).expect("settings that fit");
        let seats = joined.seats("hosts").expect("a short name");
        let client = Client::new(world, life, clock, Some(seats.clone()));
        assert!(seats.take(client.guard().hosts()));
        let work = Work::new(world, &client);
        let worker = work.steps.work();
        let waiting = Waiting::new(world, &joined, clock);
        let running = Mutex::new(Some((joined, worker)));
        (
            client,
            Self {
                work,
                waiting,
                running,
            },
        )
    }

    /// Handles a request of a web.
    pub(crate) async fn handle(
        &self,
        world: &'static World,
        client: &Client,
        request: &Request<()>,
    ) -> Response<String> {
        let status = if request.method() == http::Method::POST {
            let key = request
                .headers()
                .get("idempotency-key")
                .and_then(|key| key.to_str().ok());
            self.work.order(key.unwrap_or("none")).await
        } else {
            page(world, client).await
        };
        let mut response = Response::new(String::new());
        *response.status_mut() = status;
        response
    }

    pub(crate) fn fleet(&self) -> Option<(FleetStatus, FleetHolds)> {
        let running = self.running.lock().unwrap();
        let (joined, _) = running.as_ref()?;
        Some((joined.status(), joined.holds()))
    }
}

/// A page that needs two dependencies.
async fn page(world: &'static World, client: &Client) -> StatusCode {
    for target in [Target::Host(0), Target::Host(1)] {
        match client.request(target, get(target)).await {
            Ok(status) if status.is_success() => {}
            Err(error @ RequestError::Rejected(_)) => {
                let unavailable = Unavailable::from_error(&error).expect("a rejection");
                let unavailable = unavailable.status(world.plan.unavailable);
                return unavailable.response::<String>().status();
            }
            Ok(_) | Err(_) => return StatusCode::BAD_GATEWAY,
        }
    }
    StatusCode::OK
}

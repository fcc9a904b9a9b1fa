// SPDX-License-Identifier: MIT OR Apache-2.0
//! The network between all parts of the deployment: requests that get lost on the way there or back, processes that
//! are stopped or gone.

use std::fmt;
use std::future::pending;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::sleep;

pub(crate) const WEBS: usize = 2;
pub(crate) const SHOPS: usize = 3;
/// The number of dependencies that the shops share.
pub(crate) const HOSTS: usize = 3;
const NODES: usize = WEBS + SHOPS + HOSTS + 2;

/// Something on the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Node(usize);

impl Node {
    pub(crate) const DB: Self = Self(NODES - 2);
    pub(crate) const ENGINE: Self = Self(NODES - 1);

    pub(crate) const fn web(number: usize) -> Self {
        Self(number)
    }

    pub(crate) const fn shop(number: usize) -> Self {
        Self(WEBS + number)
    }

    pub(crate) const fn host(number: usize) -> Self {
        Self(WEBS + SHOPS + number)
    }
}

impl fmt::Display for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const NAMES: [&str; NODES] = [
            "web-0", "web-1", "shop-0", "shop-1", "shop-2", "payments", "stock", "mail",
            "database", "engine",
        ];
        f.write_str(NAMES[self.0])
    }
}

/// One direction between two nodes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) enum Link {
    #[default]
    Open,
    /// Requests are answered with an error at once.
    Refuses,
    /// Requests are lost.
    Drops,
    /// Requests take this much longer.
    Slow(Duration),
}

/// There was no answer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Unreachable(pub(crate) &'static str);

impl fmt::Display for Unreachable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

impl std::error::Error for Unreachable {}

/// One run of a process, from its start until it is killed. Whatever a killed process still has in memory waits for
/// good at its next contact with the world, so that it has no effect any more.
#[derive(Debug)]
pub(crate) struct Life {
    pub(crate) node: Node,
    /// The number of times that this process was started before.
    pub(crate) run: u32,
    is_dead: AtomicBool,
    is_stopped: watch::Sender<bool>,
}

impl Life {
    pub(crate) fn new(node: Node, run: u32) -> Arc<Self> {
        Arc::new(Self {
            node,
            run,
            is_dead: AtomicBool::new(false),
            is_stopped: watch::Sender::new(false),
        })
    }

    pub(crate) fn kill(&self) {
        self.is_dead.store(true, Relaxed);
    }

    pub(crate) fn is_dead(&self) -> bool {
        self.is_dead.load(Relaxed)
    }

    pub(crate) fn stop(&self, is_stopped: bool) {
        self.is_stopped.send_replace(is_stopped);
    }

    pub(crate) fn is_stopped(&self) -> bool {
        *self.is_stopped.borrow()
    }

    /// Waits while the process is stopped; for good if it was killed.
    pub(crate) async fn runs(&self) {
        if self.is_stopped() {
            let mut stopped = self.is_stopped.subscribe();
            let _ = stopped.wait_for(|is_stopped| !is_stopped).await;
        }
        if self.is_dead() {
            pending::<()>().await;
        }
    }
}

#[derive(Debug, Default)]
pub(crate) struct Net {
    links: Mutex<[[Link; NODES]; NODES]>,
    sent: AtomicU64,
}

impl Net {
    pub(crate) fn set(&self, from: Node, to: Node, link: Link) {
        self.links.lock().unwrap()[from.0][to.0] = link;
    }

    pub(crate) fn link(&self, from: Node, to: Node) -> Link {
        self.links.lock().unwrap()[from.0][to.0]
    }

    /// The number of requests that were sent.
    pub(crate) fn sent(&self) -> u64 {
        self.sent.load(Relaxed)
    }

    async fn pass(&self, from: Node, to: Node) -> Result<(), Unreachable> {
        match self.link(from, to) {
            Link::Open => Ok(()),
            Link::Refuses => Err(Unreachable("connection refused")),
            Link::Drops => pending().await,
            Link::Slow(time) => {
                sleep(time).await;
                Ok(())
            }
        }
    }

    /// Sends a request, which `handle` handles once it has arrived, and returns the response once it has come back.
    pub(crate) async fn send<T>(
        &self,
        from: &Life,
        to: Node,
        handle: impl Future<Output = T>,
    ) -> Result<T, Unreachable> {
        from.runs().await;
        self.sent.fetch_add(1, Relaxed);
        self.pass(from.node, to).await?;
        let response = handle.await;
        self.pass(to, from.node).await?;
        from.runs().await;
        Ok(response)
    }
}

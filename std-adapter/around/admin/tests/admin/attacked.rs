// SPDX-License-Identifier: MIT OR Apache-2.0
//! Growth, floods, many keys while calls run.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use crate::support::{App, Hosts, RULES, World, assert_has};
use atomic_breaker_admin::Timeline;
use atomic_breaker_server::{Guard, Registry, State};
use futures_util::future::join_all;
use serde_json::json;
use tokio::time::timeout;

#[tokio::test]
async fn no_request_makes_the_registry_grow() {
    let world = World::with(Timeline::new(), RULES, 16);
    let app = world.app();
    for number in 0..200 {
        let key = format!("key{number}");
        app.get(&format!("/status?search={key}&of={key}"))
            .await
            .json();
        app.get(&format!("/rules?of=hosts&key={key}"))
            .await
            .refused(404);
        app.get(&format!("/timeline?of=hosts&key={key}"))
            .await
            .json();
        for command in ["trip", "disable", "clear-rules", "reset"] {
            app.change(&json!({ "of": "hosts", "key": key, "do": command }))
                .await
                .refused(404);
        }
    }
    let stats = world.hosts.stats();
    assert_eq!((stats.keys, stats.evicted, stats.unguarded), (0, 0, 0));
    assert_eq!(app.get("/timeline").await.json()["events"], json!([]));
}

#[tokio::test]
async fn hostile_keys_are_returned_unchanged_and_found_again() {
    let world = World::new();
    let app = world.app();
    let hostile = [
        "<img src=x onerror=alert(1)>",
        "\"'`\\",
        "javascript:alert(1)",
        "a\nb\r\tc",
        "\u{202e}txt.exe",
        "line\u{2028}separator\u{2029}",
        "🦀🦀",
        "nul\0nul",
        "",
        " ",
        "../../etc/passwd",
        "a?b#c%00",
    ];
    for key in hostile {
        world.fail(key);
    }
    for key in hostile {
        let trip = app
            .changed(json!({ "of": "hosts", "key": key, "do": "trip" }))
            .await;
        assert_has(&trip["entry"], &json!({ "key": key, "state": "open" }));
    }
    assert_eq!(
        app.get("/status?state=open").await.json()["matching"],
        hostile.len()
    );
    assert_eq!(world.hosts.stats().keys, hostile.len());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_of_several_simultaneous_commands_is_done_or_refused() {
    let world = World::new();
    let app = world.app();
    world.fail("a");
    let epoch = app.get("/status?of=hosts").await.json()["entries"][0]["epoch"].clone();
    let change = json!({ "of": "hosts", "key": "a", "do": "force-open", "epoch": epoch });
    let answers = join_all((0..50).map(|_| app.change(&change))).await;
    let done = answers
        .iter()
        .filter(|answer| answer.status == 200 && answer.json()["changed"] == true);
    assert_eq!(done.count(), 1);
    assert!(
        answers
            .iter()
            .all(|answer| matches!(answer.status.as_u16(), 200 | 409))
    );
    assert_eq!(
        app.get("/timeline").await.json()["events"]
            .as_array()
            .unwrap()
            .len(),
        1
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thousand_simultaneous_readers_all_get_a_response() {
    let world = World::with(Timeline::new(), RULES, 10_000);
    let app = world.app();
    for number in 0..1_000 {
        world.fail(&format!("key {number}"));
    }
    let answers = join_all((0..1_000).map(|_| app.get("/status?limit=1"))).await;
    assert!(
        answers
            .iter()
            .all(|answer| answer.json()["matching"] == 1_001)
    );
}

/// A key whose readers are held up until the door is open.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Slow;

static IS_OPEN: Mutex<bool> = Mutex::new(false);
static OPENED: Condvar = Condvar::new();
static IS_READ: AtomicBool = AtomicBool::new(false);

impl fmt::Display for Slow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        IS_READ.store(true, Ordering::Relaxed);
        let is_open = IS_OPEN.lock().unwrap();
        drop(OPENED.wait_while(is_open, |is_open| !*is_open));
        f.write_str("slow")
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thousand_reads_without_a_response_hold_up_no_command() {
    let world = World::new();
    let slow = Registry::builder(RULES).build().unwrap();
    let _ = slow.of(Slow).call(|| Err::<(), _>("down"));
    let app = App::of(world.admin().registry("slow", Arc::new(slow)));
    let reads: Vec<_> = (0..1_000)
        .map(|_| {
            let app = app.clone();
            tokio::spawn(async move { app.get("/status").await.status })
        })
        .collect();
    while !IS_READ.load(Ordering::Relaxed) {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    let trip = json!({ "of": "payments", "do": "trip" });
    let tripped = timeout(Duration::from_secs(5), app.change(&trip)).await;
    *IS_OPEN.lock().unwrap() = true;
    OPENED.notify_all();
    tripped.expect("a command does not wait for reads").json();
    assert_eq!(world.payments.breaker().state(), State::Open);
    for read in reads {
        assert_eq!(read.await.unwrap(), 200);
    }
}

/// Calls a key that is closed for as long as it is let: how many calls, and how long one took on average.
struct Caller {
    is_over: Arc<AtomicBool>,
    thread: thread::JoinHandle<(u32, Duration)>,
}

impl Caller {
    fn start(hosts: &Arc<Hosts>, key: String) -> Self {
        let is_over = Arc::new(AtomicBool::new(false));
        let (hosts, until) = (Arc::clone(hosts), Arc::clone(&is_over));
        let thread = thread::spawn(move || {
            let (mut calls, started) = (0, Instant::now());
            while !until.load(Ordering::Relaxed) {
                for _ in 0..1_000 {
                    let _ = hosts.of(key.clone()).call(|| Ok::<_, &str>(()));
                }
                calls += 1_000;
            }
            (calls, started.elapsed() / calls)
        });
        Self { is_over, thread }
    }

    fn end(self) -> (u32, Duration) {
        self.is_over.store(true, Ordering::Relaxed);
        self.thread.join().unwrap()
    }
}

/// The bound is generous, as other programs may run; what was measured is printed.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ten_thousand_keys_are_read_while_calls_go_on() {
    const KEYS: usize = 10_000;
    const READS: u32 = 20;
    let world = World::with(Timeline::new(), RULES, KEYS);
    let app = world.app();
    let key = |number: usize| format!("host-{number:05}.example");
    for number in 0..KEYS {
        world.fail(&key(number));
    }
    let caller = Caller::start(&world.hosts, key(7));
    tokio::time::sleep(Duration::from_millis(300)).await;
    let (_, alone) = caller.end();
    for query in ["limit=100", "search=host-0999", "limit=1000"] {
        let caller = Caller::start(&world.hosts, key(7));
        let started = Instant::now();
        for _ in 0..READS {
            app.get(&format!("/status?{query}")).await.json();
        }
        let took = started.elapsed() / READS;
        let (calls, beside) = caller.end();
        println!(
            "figure: a status of 10,000 keys, {query}: {took:?}; a closed call alone {alone:?}, meanwhile {beside:?}"
        );
        assert!(took.as_millis() < 500, "{took:?}");
        assert!(calls > 1_000, "{calls} calls");
    }
}

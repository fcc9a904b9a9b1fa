// SPDX-License-Identifier: MIT OR Apache-2.0
//! Behaviour that affects all metrics of a process: it needs a separate process with one test.
#![allow(
    clippy::redundant_closure_for_method_calls,
    reason = "the path of the method is longer"
)]
#![cfg(feature = "metrics")]

use std::thread;
use std::time::{Duration, Instant};

use atomic_breaker_observe::{Metrics, publish, publish_each_second};
use atomic_breaker_server::Guard;
use atomic_breaker_server::{Config, ManualClock, Registry};
use metrics_exporter_prometheus::{PrometheusBuilder, PrometheusHandle};

/// Waits for a line of the page, for ten seconds at most.
fn wait_for(prometheus: &PrometheusHandle, line: &str) -> bool {
    let end = Instant::now() + Duration::from_secs(10);
    while Instant::now() < end {
        if prometheus.render().lines().any(|found| found == line) {
            return true;
        }
        thread::sleep(Duration::from_millis(20));
    }
    false
}

fn opened(key: &str, count: u32) -> String {
    format!(
        "circuit_breaker_key_opened{{circuit_breaker_name=\"hosts\",circuit_breaker_key=\"{key}\"}} {count}"
    )
}

#[test]
fn a_new_key_is_shown_at_zero_until_the_next_scrape_by_hand_and_by_the_thread() {
    let clock = ManualClock::new();
    let hosts = Registry::builder(Config::new())
        .clock(&clock)
        .observer(Metrics::new("hosts"))
        .build()
        .unwrap();
    // Before there is a recorder.
    hosts.command(&"a", |host| host.trip()).unwrap();
    assert!(hosts.of("a").acquire().is_err());

    let recorder = PrometheusBuilder::new().build_recorder();
    let prometheus = recorder.handle();
    metrics::set_global_recorder(recorder).unwrap();
    publish();
    assert!(prometheus.render().contains(&opened("a", 0)));
    publish();
    let page = prometheus.render();
    assert!(page.contains(&opened("a", 1)));
    assert!(page.contains(
        "circuit_breaker_key_rejections{circuit_breaker_name=\"hosts\",circuit_breaker_key=\"a\",circuit_breaker_enforcement=\"enforced\"} 1"
    ));

    #[cfg(feature = "steps")]
    jobs_that_ended_early_are_shown_at_zero_first(&prometheus);

    // First an interval of an hour at zero, then none: the second call takes effect, and starts no other thread.
    publish_each_second(Duration::from_secs(3_600)).unwrap();
    hosts.command(&"b", |host| host.trip()).unwrap();
    assert!(wait_for(&prometheus, &opened("b", 0)));
    publish();
    hosts.command(&"c", |host| host.trip()).unwrap();
    assert!(wait_for(&prometheus, &opened("c", 0)));
    publish_each_second(Duration::ZERO).unwrap();
    assert!(wait_for(&prometheus, &opened("c", 1)));

    // A fork has no such thread, and starts one of its own. Between two rounds of the thread here, as a lock that it
    // holds would be held in the fork forever.
    thread::sleep(Duration::from_millis(100));
    #[cfg(unix)]
    assert!(in_fork(|| {
        publish_each_second(Duration::ZERO).unwrap();
        hosts.command(&"d", |host| host.trip()).unwrap();
        wait_for(&prometheus, &opened("d", 1))
    }));
}

#[cfg(feature = "steps")]
fn jobs_that_ended_early_are_shown_at_zero_first(prometheus: &PrometheusHandle) {
    use atomic_breaker_steps::{Lane, MemoryStore, StepError, Steps, Workflow};

    let ends = Workflow::new("kind").step("step", "lane", async |_: u32| Err(StepError::end("no")));
    let runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = { runtime }.enable_all().build().unwrap();
    runtime.block_on(async {
        let steps = Steps::builder(MemoryStore::new())
            .lane(Lane::new("lane"))
            .workflow(&ends)
            .observer(Metrics::new("jobs"));
        let steps = steps.build().unwrap();
        steps.run(&ends, "k", &7).await.unwrap();
    });
    for count in [0, 1] {
        publish();
        let line = format!(
            "circuit_breaker_job_ended{{circuit_breaker_name=\"jobs\",circuit_breaker_kind=\"kind\",circuit_breaker_status=\"dead\"}} {count}"
        );
        let page = prometheus.render();
        assert!(page.lines().any(|found| found == line), "{count}: {page}");
    }
}

/// Returns whether a child of this process succeeds.
#[cfg(unix)]
fn in_fork(says: impl Fn() -> bool) -> bool {
    // SAFETY: the child ends without returning.
    match unsafe { libc::fork() } {
        0 => unsafe {
            // It must end, whatever happens.
            libc::alarm(30);
            libc::_exit(i32::from(!says()))
        },
        child => {
            let mut status = -1;
            // SAFETY: `status` is valid for writes.
            assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
            status == 0
        }
    }
}

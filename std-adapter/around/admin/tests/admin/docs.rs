// SPDX-License-Identifier: MIT OR Apache-2.0
//! The commands of `docs/admin-json.md`, by curl, against a server that is nested as the page says; and the buttons that
//! `docs/runbook.md` names.

use std::process::Command;

use crate::support::{App, World};
use axum::Router;

const PAGE: &str = include_str!("../../../docs/admin-json.md");

/// Each command, and what the page says it returns.
fn commands() -> Vec<&'static str> {
    let blocks = PAGE
        .split("```console\n")
        .skip(1)
        .filter_map(|rest| rest.split_once("```"));
    let lines = blocks.flat_map(|(block, _)| {
        block
            .split("\n$ ")
            .map(|line| line.trim_start_matches("$ "))
    });
    lines
        .map(str::trim)
        .filter(|line| line.starts_with("curl"))
        .filter(|line| cfg!(feature = "steps") || !line.contains("/job"))
        .collect()
}

/// Steps with a job that waits.
#[cfg(feature = "steps")]
async fn orders() -> atomic_breaker_steps::Steps<atomic_breaker_steps::MemoryStore> {
    use atomic_breaker_steps::{Lane, MemoryStore, StepError, Steps, Workflow};
    let orders = Workflow::new("order").step("invoice", "billing", async |state: u32| {
        Ok::<_, StepError>(state)
    });
    let steps = Steps::builder(MemoryStore::new())
        .lane(Lane::new("billing"))
        .workflow(&orders)
        .build()
        .unwrap();
    steps.enqueue(&orders, "order-7", &7).await.unwrap();
    steps
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs curl: tests/engines/run page"]
async fn the_commands_of_the_page_work() {
    let world = World::new();
    world.trip("a.example");
    let admin = world.admin();
    #[cfg(feature = "steps")]
    let admin = admin.steps("orders", &orders().await);
    let admin = App::of(admin);
    let address = App(Router::new().nest_service("/breakers", admin.0))
        .serve()
        .await;
    let commands = commands();
    assert!(commands.len() >= 8, "{commands:?}");
    for command in commands {
        let command = command.replace("localhost:8080", &address.to_string());
        let shown = command.clone();
        // Streams go on until the limit: curl then ends with 28.
        let run = move || {
            Command::new("sh")
                .args([
                    "-c",
                    &command.replacen("curl", "curl --max-time 2 --fail-with-body", 1),
                ])
                .output()
        };
        let output = tokio::task::spawn_blocking(run).await.unwrap().unwrap();
        let code = output.status.code().unwrap();
        let answer = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(
            code == 0 || code == 28 && shown.contains("/events"),
            "{shown}\n{code} {answer}"
        );
        assert!(
            !answer.is_empty() && !answer.contains("\"error\""),
            "{shown}\n{answer}"
        );
    }
}

/// All words that the runbook writes in bold are buttons to press, or are merely stressed.
#[tokio::test]
async fn every_button_of_the_runbook_is_on_the_page() {
    const RUNBOOK: &str = include_str!("../../../docs/runbook.md");
    const STRESSED: [&str; 2] = ["one process", "shadow mode"];
    let app = World::new().app();
    let page = app.get("/").await.body + &app.get("/?script").await.body;
    let buttons: Vec<&str> = RUNBOOK.split("**").skip(1).step_by(2).collect();
    assert!(buttons.len() >= 10, "{buttons:?}");
    for button in buttons.into_iter().filter(|it| !STRESSED.contains(it)) {
        let quoted = format!("'{button}'");
        let with_count = format!("`{button} $");
        assert!(
            page.contains(&quoted) || page.contains(&with_count),
            "no button says {button:?}"
        );
    }
}

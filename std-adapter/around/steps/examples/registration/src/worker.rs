// SPDX-License-Identifier: MIT OR Apache-2.0
//! A process of the application: takes requests, and works. This program once more, as a child process.

use std::error::Error;
use std::net::Ipv4Addr;
use std::time::Duration;

use atomic_breaker_steps::{Steps, Store, Workflow};
use tokio::io::{AsyncBufReadExt, BufReader, stdin};
use tokio::net::TcpListener;

use super::diary::{Diary, WithDiary};
use super::front;
use super::registration::{Registration, register, steps, workflow};
use super::scene;

/// The argument that makes this program a worker.
pub(crate) const ARGUMENT: &str = "work";

/// A line on its input is a request, one on its output a result; a front end on this port unless it is 0. Works until it
/// is killed, or its parent ends.
pub(crate) async fn work(store: impl Store, diary: Diary, port: u16) -> Result<(), Box<dyn Error>> {
    let registrations = workflow();
    let steps = steps(WithDiary(store, diary.clone()), &registrations, &diary)?;
    let worker = steps.work();
    if port > 0 {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await?;
        let router = front::router(steps.clone(), registrations.clone());
        tokio::spawn(async move { axum::serve(listener, router).await });
    }
    let mut requests = BufReader::new(stdin()).lines();
    while let Some(request) = requests.next_line().await? {
        let number = request.parse()?;
        let (steps, registrations) = (steps.clone(), registrations.clone());
        tokio::spawn(async move {
            let answer = answer(&steps, &registrations, number).await;
            println!("{number} {answer}");
        });
    }
    // Running steps may end, and the rest goes to others at once.
    worker.stop_within(Duration::from_secs(1)).await;
    Ok(())
}

async fn answer<D: Store>(
    steps: &Steps<D>,
    registrations: &Workflow<Registration>,
    number: u64,
) -> String {
    let (key, user) = (scene::key(number), scene::registration(number));
    let answer = if scene::is_at_once(number) {
        register(steps, registrations, &key, &user).await
    } else {
        let kept = steps.enqueue(registrations, &key, &user).await;
        kept.map(|_| "kept")
    };
    answer.map_or_else(|error| format!("failed: {error}"), str::to_owned)
}

// SPDX-License-Identifier: MIT OR Apache-2.0
//! Several processes behind one address, as a load balancer puts them.

use serde_json::json;

use crate::support::{App, World};

#[tokio::test]
async fn a_command_for_one_process_is_refused_by_another() {
    let worlds = [World::new(), World::new()];
    let [first, second] = [("web-1", &worlds[0]), ("web-2", &worlds[1])].map(|(name, world)| {
        world.trip("a.example");
        App::of(world.admin().instance(name))
    });
    // What the first one shows is confirmed, and reaches the second one, where the epoch is the same.
    let shown = first.get("/status?of=hosts").await.json();
    let entry = &shown["entries"][0];
    let mut command = json!({
        "of": "hosts", "key": "a.example", "do": "force-open", "epoch": entry["epoch"],
        "instance": shown["instance"],
    });
    let refusal = "this is \"web-2\", and the command is for \"web-1\": nothing was done";
    second.refuses(&command, 409, refusal).await;
    assert_eq!(first.changed(command.clone()).await["changed"], true);

    let other = second.get("/status?of=hosts").await.json();
    assert_eq!(other["entries"][0]["state"], "open");
    // Scripts that name none command whom they reach.
    command.as_object_mut().unwrap().remove("instance");
    assert_eq!(second.changed(command).await["changed"], true);
}

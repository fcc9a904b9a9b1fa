// SPDX-License-Identifier: MIT OR Apache-2.0
//! Keys that another program, an operator or an attacker has written: any that instances cannot read count as absent to
//! the script, too, so nothing stops spreading.

use std::collections::BTreeSet;

use atomic_breaker_fleet::contract::{instance, name, next, vote};
use atomic_breaker_fleet::{Fleet, Notice};
use redis::Client;

use crate::server::Server;

const RECORDS: &str = "{test}:records";
const RECORD: [&str; 12] = [
    "5",
    "00000000000000ab",
    "1",
    "1000",
    "2000",
    "1",
    "-",
    "0",
    "0",
    "000000000000000000000000000000ab",
    "3000",
    "9007199254740991",
];
/// The texts that may stand in the place of a part.
const PARTS: [&str; 30] = [
    "",
    "0",
    "1",
    "01",
    "0000000000000001",
    "00000000000000001",
    "+1",
    "-1",
    " 1",
    "1 ",
    "1\n",
    "\n1",
    "1.0",
    "1e3",
    "0x10",
    "inf",
    "-inf",
    "nan",
    "255",
    "256",
    "999",
    "4294967295",
    "4294967296",
    "9007199254740991",
    "9007199254740992",
    "9999999999999999",
    "-",
    "00000000000000AB",
    "000000000000000000000000000000AB",
    "ä",
];

/// A record with a fault, or more than one, or none.
fn packed(random: &mut fastrand::Rng) -> Vec<u8> {
    let mut parts = RECORD.map(str::to_owned).to_vec();
    for _ in 0..random.usize(0..3) {
        let (at, other) = (random.usize(..parts.len()), random.usize(..PARTS.len()));
        match random.u8(..8) {
            0 => drop(parts.remove(at)),
            1 => parts.insert(at, PARTS[other].to_owned()),
            _ => PARTS[other].clone_into(&mut parts[at]),
        }
    }
    let mut packed = parts.join(":").into_bytes();
    if random.u8(..8) == 0 && !packed.is_empty() {
        let at = random.usize(..packed.len());
        packed[at] = random.u8(..);
    }
    packed
}

#[tokio::test]
async fn a_record_is_read_by_the_script_and_by_instances_or_by_neither() {
    let Some(server) = Server::start() else {
        return;
    };
    let seed = fastrand::u64(..);
    println!("seed {seed}");
    let mut random = fastrand::Rng::with_seed(seed);
    let client = Client::open(server.address()).unwrap();
    let mut connection = client.get_multiplexed_async_connection().await.unwrap();
    let all: Vec<_> = (0..4_000_u32)
        .map(|each| (each.to_string(), packed(&mut random)))
        .collect();
    let mut write = redis::cmd("HSET");
    write.arg(RECORDS).arg("").arg("1:00000000000000ab");
    for (name, packed) in &all {
        write.arg(name).arg(packed);
    }
    let _: u32 = write.query_async(&mut connection).await.unwrap();
    let mut by_script = BTreeSet::new();
    for (name, _) in &all {
        // A finding on no period changes nothing.
        let script = include_str!("../../src/ledger.lua");
        let mut eval = redis::cmd("EVAL");
        eval.arg(script).arg(4).arg(RECORDS);
        for key in ["votes", "trips", "living"] {
            eval.arg(format!("{{test}}:{key}:{name}"));
        }
        for argument in ["1", name, "channel", "1", "verdict", "0", "0", "0", "0"] {
            eval.arg(argument);
        }
        let answer: (u32, u32, u64, Vec<u8>) = eval.query_async(&mut connection).await.unwrap();
        if !answer.3.is_empty() {
            by_script.insert(name.clone());
        }
    }
    let fleet = server.fleet();
    let mut reading = fleet.read(instance(1), 5_000).await.unwrap();
    while reading.more {
        reading = fleet.read(instance(1), 5_000).await.unwrap();
    }
    let by_instances: BTreeSet<_> = reading
        .messages
        .iter()
        .map(|message| message.name.to_string())
        .collect();
    for (name, packed) in &all {
        let said = (by_script.contains(name), by_instances.contains(name));
        assert_eq!(said.0, said.1, "{}", packed.escape_ascii());
    }
    // Some of both.
    assert!(
        (1_000..3_900).contains(&by_script.len()),
        "{}",
        by_script.len()
    );
}

#[tokio::test]
async fn what_nobody_can_read_is_replaced_and_heard() {
    for (field, value) in [
        (
            "payments",
            "5:00000000000000ab:1:inf:2000:1:-:0:0:-:0:9007199254740991",
        ),
        (
            "payments",
            "5:00000000000000ab:1:1000:2000:999:-:0:0:-:0:9007199254740991",
        ),
        ("payments", "5:ab:1:1000:2000:1:-:0:0:-:0:9007199254740991"),
        ("", "1e400:00000000000000ab"),
        ("", "of another program"),
    ] {
        let Some(server) = Server::start() else {
            return;
        };
        let fleet = server.fleet();
        let mut messages = fleet.subscribe().await.unwrap();
        server.command(&["HSET", RECORDS, field, value]);
        let answer = fleet.ask(instance(1), &name(), vote(1)).await.unwrap();
        assert!(answer.done, "{value}: {answer:?}");
        let heard = next(&mut messages).await;
        assert!(
            matches!(heard.notice, Notice::Open(_)),
            "{value}: {heard:?}"
        );
        let reading = server.fleet().read(instance(2), 5_000).await.unwrap();
        assert_eq!(reading.messages.len(), 1, "{value}: {reading:?}");
    }
}

/// Votes are kept apart from records.
#[tokio::test]
async fn a_vote_for_longer_than_instances_can_read_counts_as_the_shortest() {
    let Some(server) = Server::start() else {
        return;
    };
    let fleet = server.fleet();
    let mut messages = fleet.subscribe().await.unwrap();
    for from in [instance(1), instance(2)] {
        fleet.ask(from, &name(), vote(9)).await.unwrap();
        let (votes, field) = ("{test}:votes:payments", from.to_string());
        server.command(&["HSET", votes, &field, "99999999999:0"]);
    }
    let answer = fleet.ask(instance(3), &name(), vote(2)).await.unwrap();
    let Some(Notice::Open(period)) = answer.notice else {
        panic!("{answer:?}");
    };
    assert_eq!(period.open_ms, 1);
    next(&mut messages).await;
}

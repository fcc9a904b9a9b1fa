// SPDX-License-Identifier: MIT OR Apache-2.0
//! Rows that another program has changed.

use crate::server::Server;
use atomic_breaker_steps::Store;
use test_support::stores::damaged::{
    IMPOSSIBLE, what_no_job_can_have_is_parked_and_its_lane_goes_on,
};
use test_support::stores::{LEASE, put};

fn update(columns: &str) -> String {
    format!("UPDATE atomic_breaker.job SET {columns} WHERE key = $1")
}

const NO_CHECKS: &str = "DO $$ DECLARE name text; BEGIN
    FOR name IN SELECT conname FROM pg_constraint
        WHERE conrelid = 'atomic_breaker.job'::regclass AND contype = 'c'
    LOOP EXECUTE 'ALTER TABLE atomic_breaker.job DROP CONSTRAINT ' || quote_ident(name); END LOOP;
END $$";

#[tokio::test]
async fn damaged_rows_do_not_stop_their_lane() {
    let Some(server) = Server::start().await else {
        return;
    };
    let (store, client) = (server.store().await, server.client().await);
    client.batch_execute(NO_CHECKS).await.unwrap();
    let times = [
        "due = -9223372036854775808",
        "first_due = -9223372036854775808",
        "first_due = 9223372036854775807",
        "held_since = -9223372036854775808, held_up = 1",
    ];
    what_no_job_can_have_is_parked_and_its_lane_goes_on(
        &store,
        &IMPOSSIBLE,
        &times,
        async |key, columns| {
            let updated = client.execute(&update(columns), &[&key]).await;
            assert_eq!(updated.unwrap(), 1);
        },
    )
    .await;
    // A job that is never due keeps no worker busy.
    put(&store, "never").await;
    let never = update("due = 9223372036854775807");
    client.execute(&never, &[&"never"]).await.unwrap();
    let claim = store.claim("a", 9, LEASE).await.unwrap();
    assert!(
        claim.jobs.is_empty() && claim.next_due > Some(LEASE),
        "{claim:?}"
    );
}

#[tokio::test]
async fn the_tables_refuse_what_no_job_can_have() {
    let Some(server) = Server::start().await else {
        return;
    };
    let (store, client) = (server.store().await, server.client().await);
    put(&store, "k").await;
    for (columns, _) in IMPOSSIBLE {
        let error = client.execute(&update(columns), &[&"k"]).await.unwrap_err();
        let says = error.as_db_error().unwrap().message();
        assert!(says.contains("check constraint"), "{columns}: {says}");
    }
}

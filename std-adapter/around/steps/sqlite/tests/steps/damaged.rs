// SPDX-License-Identifier: MIT OR Apache-2.0
//! Rows that another program has changed.

use crate::connection;
use crate::folder::Folder;
use test_support::stores::damaged::{
    IMPOSSIBLE, what_no_job_can_have_is_parked_and_its_lane_goes_on,
};
use test_support::stores::put;

/// SQLite stores any bytes as text.
const NOT_UTF8: [(&str, &str); 3] = [
    ("state = CAST(x'22ff22' AS TEXT)", "state is not UTF-8"),
    ("step = CAST(x'fe' AS TEXT)", "step is not UTF-8"),
    ("kind = CAST(x'fd' AS TEXT)", "kind is not UTF-8"),
];

fn update(columns: &str) -> String {
    format!("UPDATE atomic_breaker_job SET {columns} WHERE key = ?1")
}

#[tokio::test]
async fn damaged_rows_do_not_stop_their_lane() {
    let folder = Folder::new();
    let own = connection(&folder);
    own.busy_timeout(std::time::Duration::from_secs(30))
        .unwrap();
    own.pragma_update(None, "ignore_check_constraints", true)
        .unwrap();
    let impossible: Vec<_> = IMPOSSIBLE.into_iter().chain(NOT_UTF8).collect();
    let times = [
        "due = -9223372036854775808",
        "first_due = -9223372036854775808",
        "first_due = 9223372036854775807",
        "held_since = -9223372036854775808, held_up = 1",
    ];
    what_no_job_can_have_is_parked_and_its_lane_goes_on(
        &folder.store(),
        &impossible,
        &times,
        async |key, columns| assert_eq!(own.execute(&update(columns), [key]).unwrap(), 1),
    )
    .await;
}

#[tokio::test]
async fn the_tables_refuse_what_no_job_can_have() {
    let folder = Folder::new();
    put(&folder.store(), "k").await;
    let own = connection(&folder);
    for columns in IMPOSSIBLE
        .map(|(columns, _)| columns)
        .into_iter()
        .chain(["id = 0"])
    {
        let error = own.execute(&update(columns), ["k"]).unwrap_err();
        assert!(
            error.to_string().contains("CHECK constraint"),
            "{columns}: {error}"
        );
    }
}

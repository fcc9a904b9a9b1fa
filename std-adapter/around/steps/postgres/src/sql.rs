// SPDX-License-Identifier: MIT OR Apache-2.0
//! The statements. All times are those of the server.

use atomic_breaker_steps::{Filter, Status};

/// Rewrites a statement of the application's own transaction so that it finds the tables; all others find them by
/// themselves.
pub(crate) fn of(schema: &str, sql: &str) -> String {
    sql.replace("{schema}", schema)
}

pub(crate) const INSERT: &str = r#"
INSERT INTO "{schema}".job (kind, key, step, lane, state, status, due, first_due, fence, is_alone)
SELECT $1, $2, $3, $4, $5, CASE WHEN $7 THEN 'running' ELSE 'waiting' END,
    now + $6, CASE WHEN $7 THEN now ELSE now + $6 END, $7::integer, $7
FROM "{schema}".micros() AS now
ON CONFLICT (kind, key) DO NOTHING
RETURNING id"#;

pub(crate) const BY_KEY: &str = r#"
SELECT *, "{schema}".micros() AS now FROM "{schema}".job WHERE kind = $1 AND key = $2"#;

pub(crate) const NEXT_DUE: &str = "
SELECT min(due) AS due, micros() AS now FROM job WHERE lane = $1 AND ended IS NULL";

/// The statement that finds the time of a lane's next job that is not due yet: those that another transaction has
/// locked are claimed again in a while.
pub(crate) const NEXT_LATER: &str = "
SELECT min(due) AS due, micros() AS now FROM job WHERE lane = $1 AND ended IS NULL AND due > micros()";

/// Begins a transaction that does not wait for the disk. A renewed lease that is lost in a crash of the server ends
/// sooner. A claim that is lost never happened, and its worker cannot save: no fence is used twice, and anything saved
/// later reaches the disk only after the claim.
pub(crate) const BEGIN_AT_EASE: &str = "BEGIN; SET LOCAL synchronous_commit = off";

pub(crate) const DUE: &str = "
SELECT *, micros() AS now FROM job
WHERE lane = $1 AND ended IS NULL AND due <= micros()
ORDER BY due, id
LIMIT $2
FOR UPDATE SKIP LOCKED";

/// Jobs are locked in order of their ids, so that no two saves wait for each other. Their states may be large, and are
/// not read.
pub(crate) const BY_IDS: &str = "
SELECT id, kind, key, step, lane, '' AS state, status, due, first_due, ended, failures, fence, is_suspect, is_alone,
    is_told, is_unparked, held_up, held_since, unknown_since, micros() AS now
FROM job
WHERE id = ANY($1)
ORDER BY id
FOR UPDATE";

pub(crate) const PARKED: &str = "
SELECT *, micros() AS now FROM job
WHERE status = 'parked' AND kind = $1 AND step = ANY($2) AND ended <= micros() - $3
ORDER BY id
LIMIT $4
FOR UPDATE SKIP LOCKED";

/// Writes rows that were read for update. A state that was not read, or is not new, is empty.
pub(crate) const WRITE: &str = "
UPDATE job SET
    step = new.step, lane = new.lane, state = coalesce(nullif(new.state, ''), job.state), status = new.status,
    due = new.due, ended = new.ended, failures = new.failures, fence = new.fence, is_suspect = new.is_suspect,
    is_alone = new.is_alone, is_told = new.is_told, is_unparked = new.is_unparked, held_up = new.held_up,
    held_since = new.held_since, unknown_since = new.unknown_since
FROM json_populate_recordset(NULL::job, $1::text::json) AS new
WHERE job.id = new.id";

pub(crate) const NOTE: &str = "
INSERT INTO failed (job, step, failures, error, at)
SELECT job, step, failures, error, at
FROM json_to_recordset($1::text::json)
    AS new (job bigint, once boolean, step text, failures bigint, error text, at bigint)
WHERE NOT (once AND EXISTS (
    SELECT FROM failed AS before
    WHERE before.job = new.job AND before.step = new.step
        AND before.failures = new.failures AND before.error = new.error
))";

pub(crate) const HISTORY: &str = "
SELECT step, failures, error, at, micros() AS now FROM failed WHERE job = $1 ORDER BY id";

pub(crate) const COUNTS: &str = "
SELECT lane, status, count(*), count(since), min(since), micros() FROM (
    SELECT lane, status, CASE
        WHEN status = 'waiting' AND (due <= micros() OR held_since IS NOT NULL) THEN coalesce(held_since, due)
    END AS since FROM (
        SELECT lane, due, held_since, CASE WHEN status = 'running' AND due <= micros() THEN 'waiting' ELSE status END AS status
        FROM job
    ) AS jobs
) AS jobs
GROUP BY lane, status";

/// Only rows that are deleted are locked, and the limit holds with any plan.
pub(crate) const FORGET: &str = "
DELETE FROM job WHERE id = ANY (ARRAY(
    SELECT id FROM job
    WHERE status IN ('done', 'cancelled') AND ended <= micros() - $1
    ORDER BY ended
    LIMIT $2
    FOR UPDATE SKIP LOCKED
))";

/// Written so that the index of stuck jobs can be used, or that of kinds and keys.
pub(crate) fn list(filter: &Filter) -> String {
    let of = if filter.kind.is_some() && filter.key.is_some() {
        "kind = $2 AND key = $3"
    } else {
        "($2::text IS NULL OR kind = $2) AND ($3::text IS NULL OR key = $3)"
    };
    let status = match filter.status {
        None => String::new(),
        Some(Status::Waiting) => {
            "AND (status = 'waiting' OR status = 'running' AND due <= micros())".to_owned()
        }
        Some(Status::Running) => "AND status = 'running' AND due > micros()".to_owned(),
        Some(status) => format!("AND status = '{}'", status.name()),
    };
    format!(
        "SELECT *, micros() AS now FROM job WHERE id > $1 {status} AND {of} ORDER BY id LIMIT $4"
    )
}

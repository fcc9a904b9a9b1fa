//! The statements. Each is a transaction of its own; all times are those of the server.

use atomic_breaker_steps::{Filter, Status};

/// Where the statements of the application's own transaction find the tables; all others find them by themselves.
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

/// This does not wait for the disk: a claim that is lost in a crash of the server never happened, and its worker cannot
/// save. To ensure that, no fence is used twice: it is the time, if that is greater than the last fence plus one.
/// Anything saved later reaches the disk only after the claim.
pub(crate) const CLAIM: &str = "
WITH found AS MATERIALIZED (
    SELECT id, due,
        status = 'running' AND is_alone AS is_lost,
        status = 'running' OR is_suspect AS comes_alone,
        nullif(concat_ws(', ',
            CASE WHEN failures NOT BETWEEN 0 AND 4294967295 THEN 'failures ' || failures END,
            CASE WHEN held_up NOT BETWEEN 0 AND 4294967295 THEN 'held_up ' || held_up END,
            CASE WHEN fence NOT BETWEEN 0 AND 9223372036854775806 THEN 'fence ' || fence END,
            CASE WHEN status NOT IN ('waiting', 'running')
                THEN 'status ' || quote_literal(status) || ' of one that has not ended' END
        ), '') AS faults
    FROM job
    WHERE lane = $1 AND ended IS NULL AND due <= micros()
    ORDER BY due, id
    LIMIT $2
    FOR UPDATE SKIP LOCKED
), ranked AS MATERIALIZED (
    SELECT *, row_number() OVER (ORDER BY due, id) AS rank FROM found
), taken AS MATERIALIZED (
    SELECT id, is_lost, faults, rank FROM ranked
    WHERE rank = 1 OR rank < (SELECT coalesce(min(rank), $2 + 1) FROM ranked WHERE comes_alone)
), claimed AS (
    UPDATE job SET
        status = 'running',
        due = micros() + $3,
        fence = greatest(CASE WHEN fence < 9223372036854775806 THEN fence + 1 END, micros()),
        is_suspect = is_suspect OR status = 'running',
        is_alone = (SELECT count(*) FROM taken) = 1
    FROM taken WHERE job.id = taken.id
    RETURNING taken.rank, taken.is_lost, taken.faults, job.*
)
SELECT claimed.*, micros() AS now, one.at_ease, CASE
    WHEN (SELECT count(*) FROM taken) = $2 THEN NULL
    WHEN (SELECT count(*) FROM taken) < (SELECT count(*) FROM found) THEN micros()
    ELSE least(
        (SELECT min(due) FROM job WHERE lane = $1 AND ended IS NULL AND due > micros()),
        CASE WHEN EXISTS (SELECT FROM taken) THEN micros() + $3 END
    ) END AS next_due
FROM (SELECT set_config('synchronous_commit', 'off', true) AS at_ease) AS one
LEFT JOIN claimed ON true
ORDER BY claimed.rank";

/// This does not wait for the disk either: if it is lost, the lease ends sooner.
pub(crate) const RENEW: &str = "
UPDATE job SET due = micros() + $3
WHERE id = $1 AND fence = $2 AND status = 'running'
RETURNING set_config('synchronous_commit', 'off', true)";

/// Jobs are locked in order of their ids before they are changed, so that no two saves wait for each other; the change
/// applies to the locked version.
pub(crate) const SAVE: &str = "
WITH given AS MATERIALIZED (
    SELECT * FROM unnest(
        $1::bigint[], $2::bigint[], $3::text[], $4::text[], $5::text[], $6::text[], $7::bigint[], $8::text[],
        $9::text[], $10::boolean[]
    ) WITH ORDINALITY
    AS given (id, fence, status, step, lane, state, due, counts_as, error, tell, place)
), held AS MATERIALIZED (
    SELECT job.id, given.tell AND (
        NOT job.is_told
        OR job.is_unparked AND given.counts_as NOT IN ('nothing', 'unknown')
        OR NOT job.is_unparked AND given.due IS NULL
    ) AS tell
    FROM given JOIN job ON job.id = given.id
    WHERE job.fence = given.fence AND job.status = 'running'
    ORDER BY job.id
    FOR UPDATE OF job
), saved AS (
    UPDATE job SET
        status = given.status,
        step = coalesce(given.step, job.step),
        lane = coalesce(given.lane, job.lane),
        state = coalesce(given.state, job.state),
        failures = CASE
            WHEN given.step IS NOT NULL THEN 0
            WHEN given.counts_as = 'failed' THEN least(greatest(job.failures, 0), 4294967294) + 1
            ELSE job.failures
        END,
        held_up = CASE
            WHEN given.counts_as = 'nothing' THEN job.held_up
            WHEN given.counts_as IN ('rejected', 'unknown') THEN least(greatest(job.held_up, 0), 4294967294) + 1
            ELSE 0
        END,
        held_since = CASE
            WHEN given.counts_as = 'nothing' THEN job.held_since
            WHEN given.counts_as IN ('rejected', 'unknown') THEN coalesce(job.held_since, micros())
        END,
        unknown_since = CASE
            WHEN given.counts_as = 'nothing' THEN job.unknown_since
            WHEN given.counts_as = 'unknown' THEN coalesce(job.unknown_since, micros())
        END,
        is_suspect = job.is_suspect AND given.step IS NULL AND given.due IS NOT NULL,
        due = coalesce(micros() + given.due, job.due),
        ended = CASE WHEN given.due IS NULL THEN micros() END,
        is_told = held.tell OR job.is_told
            AND NOT (job.is_unparked AND given.counts_as NOT IN ('nothing', 'unknown')),
        is_unparked = job.is_unparked AND given.counts_as IN ('nothing', 'unknown')
    FROM held JOIN given ON given.id = held.id
    WHERE job.id = held.id
    RETURNING given.place, held.tell, job.id, job.step, job.status,
        CASE WHEN given.counts_as = 'failed' THEN job.failures ELSE 0 END AS failures,
        CASE WHEN held.tell OR given.counts_as NOT IN ('rejected', 'unknown') THEN given.error END AS error
), noted AS (
    INSERT INTO failed (job, step, failures, error, at)
    SELECT id, step, failures, error, micros() FROM saved
    WHERE error IS NOT NULL AND NOT (status = 'parked' AND EXISTS (
        SELECT FROM failed AS before
        WHERE before.job = saved.id AND before.step = saved.step
            AND before.failures = saved.failures AND before.error = saved.error
    ))
)
SELECT place, tell FROM saved";

pub(crate) const UNPARK: &str = "
UPDATE job SET status = 'waiting', due = micros(), ended = NULL, held_up = 0, held_since = NULL,
    is_unparked = true
WHERE id = ANY (ARRAY(
    SELECT id FROM job
    WHERE status = 'parked' AND kind = $1 AND step = ANY($2) AND ended <= micros() - $3
    ORDER BY id
    LIMIT $4
    FOR UPDATE SKIP LOCKED
))";

pub(crate) const HISTORY: &str = "
SELECT step, failures, error, at, micros() AS now FROM failed WHERE job = $1 ORDER BY id";

pub(crate) const RETRY_NOW: &str = "
UPDATE job
SET status = 'waiting', due = micros(), failures = 0, is_suspect = false, ended = NULL,
    held_up = 0, held_since = NULL, unknown_since = NULL, is_told = false, is_unparked = false
WHERE id = $1 AND status IN ('waiting', 'dead', 'parked')";

pub(crate) const CANCEL: &str = "
UPDATE job
SET status = 'cancelled', fence = least(fence, 9223372036854775805) + 1, is_suspect = false, ended = micros()
WHERE id = $1 AND status NOT IN ('done', 'cancelled')";

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

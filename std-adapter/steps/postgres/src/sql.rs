//! The statements. Each is a transaction of its own; all times are those of the server.

use crate::row::{columns, fault};

/// All statements, with the schema's name filled in.
pub(crate) struct Sql {
    pub(crate) insert: String,
    pub(crate) by_key: String,
    pub(crate) by_id: String,
    pub(crate) claim: String,
    pub(crate) renew: String,
    pub(crate) save: String,
    pub(crate) unpark: String,
    pub(crate) history: String,
    pub(crate) retry_now: String,
    pub(crate) cancel: String,
    pub(crate) counts: String,
    pub(crate) oldest: String,
    pub(crate) forget: String,
    schema: String,
}

/// Jobs are locked in order of their ids before they are changed, so that no two saves wait for each other; the change
/// applies to the locked version.
const SAVE: &str = "
WITH given AS MATERIALIZED (
    SELECT * FROM unnest(
        $1::bigint[], $2::bigint[], $3::text[], $4::text[], $5::text[], $6::text[],
        $7::bigint[], $8::bigint[], $9::boolean[], $10::text[], $11::boolean[], $12::text[]
    ) WITH ORDINALITY
    AS given (id, fence, status, step, lane, state, due, tries, is_next, error, tell, held, place)
), held AS MATERIALIZED (
    SELECT job.id, job.is_told
    FROM given JOIN {schema}.job AS job ON job.id = given.id
    WHERE job.fence = given.fence AND job.status = 'running'
    ORDER BY job.id
    FOR UPDATE OF job
), saved AS (
    UPDATE {schema}.job AS job SET
        status = given.status,
        step = coalesce(given.step, job.step),
        lane = coalesce(given.lane, job.lane),
        state = coalesce(given.state, job.state),
        failures = CASE
            WHEN given.is_next THEN 0
            WHEN given.tries = 0 THEN job.failures
            ELSE least(greatest(job.failures, 0), 4294967295 - given.tries) + given.tries
        END,
        held_up = CASE
            WHEN given.held = 'no' THEN 0
            WHEN given.held = 'was' THEN job.held_up
            ELSE least(greatest(job.held_up, 0), 4294967294) + 1
        END,
        held_since = CASE
            WHEN given.held = 'was' THEN job.held_since
            WHEN given.held <> 'no' THEN coalesce(job.held_since, statement_timestamp())
        END,
        unknown_since = CASE
            WHEN given.held = 'was' THEN job.unknown_since
            WHEN given.held = 'unknown' THEN coalesce(job.unknown_since, statement_timestamp())
        END,
        is_suspect = job.is_suspect AND NOT given.is_next AND given.due IS NOT NULL,
        due = coalesce(statement_timestamp() + given.due * interval '1 microsecond', job.due),
        ended = CASE WHEN given.due IS NULL THEN statement_timestamp() END,
        is_told = job.is_told OR given.tell
    FROM held JOIN given ON given.id = held.id
    WHERE job.id = held.id
    RETURNING given.place, given.tell AND NOT held.is_told AS tell,
        job.id, job.step, job.status, given.error,
        CASE WHEN given.tries = 0 THEN 0 ELSE job.failures END AS failures,
        given.held IN ('knows', 'unknown') AND NOT (given.tell AND NOT held.is_told) AS is_silent
), noted AS (
    INSERT INTO {schema}.failed (job, step, failures, error)
    SELECT id, step, failures, error FROM saved
    WHERE error IS NOT NULL AND NOT is_silent AND NOT (status = 'parked' AND EXISTS (
        SELECT FROM {schema}.failed AS before
        WHERE before.job = saved.id AND before.step = saved.step
            AND before.failures = saved.failures AND before.error = saved.error
    ))
)
SELECT place, tell FROM saved";

/// This does not wait for the disk: a claim that is lost in a crash of the server never happened, and its worker cannot
/// save. To ensure that, no fence is used twice: it is the time, if that is greater than the last fence plus one.
/// Anything saved later reaches the disk only after the claim.
const CLAIM: &str = concat!(
    "
WITH found AS MATERIALIZED (
    SELECT id, due,
        status = 'running' AND is_alone AS is_lost,
        status = 'running' OR is_suspect AS comes_alone,
        ",
    fault!(),
    " AS fault
    FROM {schema}.job AS job
    WHERE lane = $1 AND ended IS NULL AND due <= statement_timestamp()
    ORDER BY due, id
    LIMIT $2
    FOR UPDATE SKIP LOCKED
), ranked AS MATERIALIZED (
    SELECT *, row_number() OVER (ORDER BY due, id) AS rank FROM found
), taken AS MATERIALIZED (
    SELECT id, is_lost, fault, rank FROM ranked
    WHERE rank = 1 OR rank < (SELECT coalesce(min(rank), $2 + 1) FROM ranked WHERE comes_alone)
), claimed AS (
    UPDATE {schema}.job AS job SET
        status = 'running',
        due = statement_timestamp() + $3::bigint * interval '1 microsecond',
        fence = greatest(
            CASE WHEN job.fence < 9223372036854775806 THEN job.fence + 1 END,
            floor(date_part('epoch', statement_timestamp()) * 1000000)::bigint
        ),
        is_suspect = job.is_suspect OR job.status = 'running',
        is_alone = (SELECT count(*) FROM taken) = 1
    FROM taken WHERE job.id = taken.id
    RETURNING taken.rank, taken.is_lost, taken.fault, job.fence, ",
    columns!(),
    "
)
SELECT claimed.*, one.at_ease, CASE
    WHEN (SELECT count(*) FROM taken) = $2 THEN NULL
    WHEN (SELECT count(*) FROM taken) < (SELECT count(*) FROM found) THEN 0
    ELSE floor(date_part('epoch', least(
        (SELECT CASE WHEN min(due) IS NOT NULL THEN least(min(due), '200000-01-01') END FROM {schema}.job
         WHERE lane = $1 AND ended IS NULL AND due > statement_timestamp()),
        CASE WHEN EXISTS (SELECT FROM taken)
             THEN statement_timestamp() + $3::bigint * interval '1 microsecond' END
    ) - statement_timestamp()) * 1000000)::bigint END AS next_us
FROM (SELECT set_config('synchronous_commit', 'off', true) AS at_ease) AS one
LEFT JOIN claimed ON true
ORDER BY claimed.rank"
);

/// This does not wait for the disk either: if it is lost, the lease ends sooner.
const RENEW: &str = "
WITH held AS MATERIALIZED (
    SELECT job.id
    FROM unnest($1::bigint[], $2::bigint[]) AS given (id, fence)
    JOIN {schema}.job AS job ON job.id = given.id
    WHERE job.fence = given.fence AND job.status = 'running'
    ORDER BY job.id
    FOR UPDATE OF job
)
UPDATE {schema}.job AS job
SET due = statement_timestamp() + $3::bigint * interval '1 microsecond'
FROM held WHERE job.id = held.id
RETURNING job.id, job.fence, set_config('synchronous_commit', 'off', true)";

impl Sql {
    pub(crate) fn new(schema: &str) -> Self {
        let schema = format!("\"{schema}\"");
        let sql = |text: &str| text.replace("{schema}", &schema);
        Self {
            insert: sql("
INSERT INTO {schema}.job (kind, key, step, lane, state, status, due, fence, is_alone, kept)
VALUES ($1, $2, $3, $4, $5, CASE WHEN $7 THEN 'running' ELSE 'waiting' END,
    statement_timestamp() + $6::bigint * interval '1 microsecond', $7::boolean::integer, $7,
    statement_timestamp() + CASE WHEN $7 THEN 0 ELSE $6::bigint END * interval '1 microsecond')
ON CONFLICT (kind, key) DO NOTHING
RETURNING id"),
            by_key: sql(concat!(
                "SELECT ",
                columns!(),
                " FROM {schema}.job AS job WHERE kind = $1 AND key = $2"
            )),
            by_id: sql(concat!(
                "SELECT ",
                columns!(),
                " FROM {schema}.job AS job WHERE id = $1"
            )),
            claim: sql(CLAIM),
            renew: sql(RENEW),
            save: sql(SAVE),
            unpark: sql("
UPDATE {schema}.job SET status = 'waiting', due = statement_timestamp(), ended = NULL,
    held_up = 0, held_since = NULL
WHERE id = ANY (ARRAY(
    SELECT id FROM {schema}.job
    WHERE status = 'parked' AND kind = $1 AND step = ANY($2::text[])
        AND ended <= statement_timestamp() - $3::bigint * interval '1 microsecond'
    ORDER BY id
    LIMIT $4
    FOR UPDATE SKIP LOCKED
))"),
            history: sql("
SELECT step, failures, error, floor(date_part('epoch', statement_timestamp() - at) * 1000000)::bigint AS ago_us
FROM {schema}.failed WHERE job = $1 ORDER BY id"),
            retry_now: sql("
UPDATE {schema}.job
SET status = 'waiting', due = statement_timestamp(), failures = 0, is_suspect = false, ended = NULL,
    held_up = 0, held_since = NULL, unknown_since = NULL
WHERE id = $1 AND status IN ('waiting', 'dead', 'parked')"),
            cancel: sql("
UPDATE {schema}.job
SET status = 'cancelled', fence = least(fence, 9223372036854775805) + 1, is_suspect = false, ended = statement_timestamp()
WHERE id = $1 AND status NOT IN ('done', 'cancelled')"),
            counts: sql("
SELECT lane, status, count(*), count(*) FILTER (
    WHERE status = 'waiting' AND (due <= statement_timestamp() OR held_since IS NOT NULL)
)
FROM {schema}.job GROUP BY lane, status"),
            oldest: sql("
SELECT floor(date_part('epoch', statement_timestamp() - min(greatest(coalesce(held_since, due), '0001-01-01'))) * 1000000)::bigint
FROM {schema}.job
WHERE ended IS NULL AND status = 'waiting' AND (due <= statement_timestamp() OR held_since IS NOT NULL)"),
            // Only rows that are deleted are locked, and the limit holds with any plan.
            forget: sql("
DELETE FROM {schema}.job WHERE id = ANY (ARRAY(
    SELECT id FROM {schema}.job
    WHERE status IN ('done', 'cancelled') AND ended <= statement_timestamp() - $1::bigint * interval '1 microsecond'
    ORDER BY ended
    LIMIT $2
    FOR UPDATE SKIP LOCKED
))"),
            schema,
        }
    }

    /// Written as literals, so that the index of stuck jobs can be used, or that of kinds and keys.
    pub(crate) fn list(&self, status: Option<&'static str>, is_one: bool) -> String {
        let schema = &self.schema;
        let of = if is_one {
            "kind = $2 AND key = $3"
        } else {
            "($2::text IS NULL OR kind = $2) AND ($3::text IS NULL OR key = $3)"
        };
        let status = match status {
            Some(status) => format!("AND status = '{status}'"),
            None => String::new(),
        };
        format!(
            "SELECT {} FROM {schema}.job AS job WHERE id > $1 {status} AND {of}
             ORDER BY id LIMIT $4",
            columns!()
        )
    }
}

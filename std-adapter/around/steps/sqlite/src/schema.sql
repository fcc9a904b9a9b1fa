-- Times are microseconds since 1970. `ended` is NULL while a job waits or runs; of one that runs, `due` is when its
-- lease is over. `held_up` is how often in a row it was given back without a try,
-- `held_since` when that was first, `unknown_since` since when no worker that claimed it knew how to run it.
CREATE TABLE atomic_breaker_job (
    id INTEGER PRIMARY KEY AUTOINCREMENT CHECK (id > 0),
    kind TEXT NOT NULL,
    key TEXT NOT NULL,
    step TEXT NOT NULL,
    lane TEXT NOT NULL,
    status TEXT NOT NULL CHECK (status IN ('waiting', 'running', 'done', 'dead', 'parked', 'cancelled')),
    due INTEGER NOT NULL,
    failures INTEGER NOT NULL DEFAULT 0 CHECK (failures BETWEEN 0 AND 4294967295),
    fence INTEGER NOT NULL DEFAULT 0 CHECK (fence BETWEEN 0 AND 9223372036854775806),
    is_suspect INTEGER NOT NULL DEFAULT 0 CHECK (is_suspect IN (0, 1)),
    is_alone INTEGER NOT NULL DEFAULT 0 CHECK (is_alone IN (0, 1)),
    is_told INTEGER NOT NULL DEFAULT 0 CHECK (is_told IN (0, 1)),
    is_unparked INTEGER NOT NULL DEFAULT 0 CHECK (is_unparked IN (0, 1)),
    held_up INTEGER NOT NULL DEFAULT 0 CHECK (held_up BETWEEN 0 AND 4294967295),
    held_since INTEGER,
    unknown_since INTEGER,
    first_due INTEGER NOT NULL,
    ended INTEGER,
    -- The last one, as it may be large.
    state TEXT NOT NULL,
    UNIQUE (kind, key),
    CONSTRAINT ended_by_status CHECK ((ended IS NULL) = (status IN ('waiting', 'running')))
) STRICT;

CREATE INDEX atomic_breaker_job_live ON atomic_breaker_job (lane, due) WHERE ended IS NULL;

CREATE INDEX atomic_breaker_job_over ON atomic_breaker_job (ended) WHERE status IN ('done', 'cancelled');

CREATE INDEX atomic_breaker_job_stuck ON atomic_breaker_job (status, id) WHERE status IN ('dead', 'parked');

CREATE TABLE atomic_breaker_failed (
    id INTEGER PRIMARY KEY,
    job INTEGER NOT NULL REFERENCES atomic_breaker_job (id) ON DELETE CASCADE,
    step TEXT NOT NULL,
    failures INTEGER NOT NULL CHECK (failures BETWEEN 0 AND 4294967295),
    error TEXT NOT NULL,
    at INTEGER NOT NULL
) STRICT;

CREATE INDEX atomic_breaker_failed_job ON atomic_breaker_failed (job, id);

CREATE TABLE atomic_breaker_schema (version INTEGER NOT NULL) STRICT;

INSERT INTO atomic_breaker_schema VALUES (1);

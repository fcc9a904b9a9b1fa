-- Times are microseconds since 1970. `ended` is NULL while a job waits or runs; of one that runs, `due` is when its
-- lease is over. `kept` is when it was to be due first.
CREATE TABLE atomic_breaker_job (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    kind TEXT NOT NULL,
    key TEXT NOT NULL,
    step TEXT NOT NULL,
    lane TEXT NOT NULL,
    status TEXT NOT NULL CHECK (status IN ('waiting', 'running', 'done', 'dead', 'parked', 'cancelled')),
    due INTEGER NOT NULL,
    failures INTEGER NOT NULL DEFAULT 0,
    fence INTEGER NOT NULL DEFAULT 0,
    is_suspect INTEGER NOT NULL DEFAULT 0,
    is_alone INTEGER NOT NULL DEFAULT 0,
    is_told INTEGER NOT NULL DEFAULT 0,
    kept INTEGER NOT NULL,
    ended INTEGER,
    -- The last one, as it may be large.
    state TEXT NOT NULL,
    UNIQUE (kind, key)
) STRICT;

CREATE INDEX atomic_breaker_job_live ON atomic_breaker_job (lane, due) WHERE ended IS NULL;

CREATE INDEX atomic_breaker_job_over ON atomic_breaker_job (ended) WHERE status IN ('done', 'cancelled');

CREATE INDEX atomic_breaker_job_stuck ON atomic_breaker_job (status, id) WHERE status IN ('dead', 'parked');

CREATE TABLE atomic_breaker_failed (
    id INTEGER PRIMARY KEY,
    job INTEGER NOT NULL REFERENCES atomic_breaker_job (id) ON DELETE CASCADE,
    step TEXT NOT NULL,
    failures INTEGER NOT NULL,
    error TEXT NOT NULL,
    at INTEGER NOT NULL
) STRICT;

CREATE INDEX atomic_breaker_failed_job ON atomic_breaker_failed (job, id);

-- `ended` is NULL while a job waits or runs; of one that runs, `due` is when its lease is over. `kept` is when it was to be due
-- first. `held_up` is how often in a row it was given back without a try, `held_since` when that was first, `unknown_since`
-- since when no worker that claimed it knew how to run it.
CREATE TABLE {schema}.job (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY CHECK (id > 0),
    kind text COLLATE "C" NOT NULL,
    key text COLLATE "C" NOT NULL,
    step text COLLATE "C" NOT NULL,
    lane text COLLATE "C" NOT NULL,
    status text COLLATE "C" NOT NULL
        CHECK (status IN ('waiting', 'running', 'done', 'dead', 'parked', 'cancelled')),
    due timestamptz NOT NULL CHECK (isfinite(due)),
    failures bigint NOT NULL DEFAULT 0 CHECK (failures BETWEEN 0 AND 4294967295),
    fence bigint NOT NULL DEFAULT 0 CHECK (fence BETWEEN 0 AND 9223372036854775806),
    is_suspect boolean NOT NULL DEFAULT false,
    is_alone boolean NOT NULL DEFAULT false,
    is_told boolean NOT NULL DEFAULT false,
    held_up bigint NOT NULL DEFAULT 0 CHECK (held_up BETWEEN 0 AND 4294967295),
    held_since timestamptz CHECK (isfinite(held_since)),
    unknown_since timestamptz CHECK (isfinite(unknown_since)),
    kept timestamptz NOT NULL DEFAULT statement_timestamp() CHECK (isfinite(kept)),
    ended timestamptz,
    state text NOT NULL,
    UNIQUE (kind, key),
    CONSTRAINT ended_by_status CHECK ((ended IS NULL) = (status IN ('waiting', 'running')))
-- Each claim and save leaves a dead row: taken away soon, however many jobs there are.
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 10000, autovacuum_vacuum_cost_delay = 0);

CREATE INDEX job_live ON {schema}.job (lane, due, id) WHERE ended IS NULL;

CREATE INDEX job_over ON {schema}.job (ended) WHERE status IN ('done', 'cancelled');

CREATE INDEX job_stuck ON {schema}.job (status, id) WHERE status IN ('dead', 'parked');

CREATE TABLE {schema}.failed (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    job bigint NOT NULL REFERENCES {schema}.job (id) ON DELETE CASCADE,
    step text COLLATE "C" NOT NULL,
    failures bigint NOT NULL CHECK (failures BETWEEN 0 AND 4294967295),
    error text NOT NULL,
    at timestamptz NOT NULL DEFAULT statement_timestamp()
);

CREATE INDEX failed_job ON {schema}.failed (job, id);

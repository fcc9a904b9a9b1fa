-- Times are microseconds since 1970, as in `to_timestamp(due / 1e6)`. `ended` is NULL while a job waits or runs; of one
-- that runs, `due` is when its lease is over. `held_up` is how often in a row it was given back without a try,
-- `held_since` when that was first, `unknown_since` since when no worker that claimed it knew how to run it.
DO $$ BEGIN
    IF NOT EXISTS (SELECT FROM pg_namespace WHERE nspname = '{schema}') THEN
        CREATE SCHEMA "{schema}";
    END IF;
END $$;

-- The time of the server.
CREATE FUNCTION "{schema}".micros() RETURNS bigint STABLE LANGUAGE sql AS
    $$ SELECT floor(date_part('epoch', statement_timestamp()) * 1000000)::bigint $$;

CREATE TABLE "{schema}".job (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY CHECK (id > 0),
    kind text COLLATE "C" NOT NULL,
    key text COLLATE "C" NOT NULL,
    step text COLLATE "C" NOT NULL,
    lane text COLLATE "C" NOT NULL,
    status text COLLATE "C" NOT NULL
        CHECK (status IN ('waiting', 'running', 'done', 'dead', 'parked', 'cancelled')),
    due bigint NOT NULL,
    first_due bigint NOT NULL,
    ended bigint,
    failures bigint NOT NULL DEFAULT 0 CHECK (failures BETWEEN 0 AND 4294967295),
    fence bigint NOT NULL DEFAULT 0 CHECK (fence BETWEEN 0 AND 9223372036854775806),
    is_suspect boolean NOT NULL DEFAULT false,
    is_alone boolean NOT NULL DEFAULT false,
    is_told boolean NOT NULL DEFAULT false,
    is_unparked boolean NOT NULL DEFAULT false,
    held_up bigint NOT NULL DEFAULT 0 CHECK (held_up BETWEEN 0 AND 4294967295),
    held_since bigint,
    unknown_since bigint,
    state text NOT NULL,
    UNIQUE (kind, key),
    CONSTRAINT ended_by_status CHECK ((ended IS NULL) = (status IN ('waiting', 'running')))
-- Each claim and save leaves a dead row: taken away soon, however many jobs there are.
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 10000, autovacuum_vacuum_cost_delay = 0);

CREATE INDEX job_live ON "{schema}".job (lane, due, id) WHERE ended IS NULL;

CREATE INDEX job_over ON "{schema}".job (ended) WHERE status IN ('done', 'cancelled');

CREATE INDEX job_stuck ON "{schema}".job (status, id) WHERE status IN ('dead', 'parked');

CREATE TABLE "{schema}".failed (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    job bigint NOT NULL REFERENCES "{schema}".job (id) ON DELETE CASCADE,
    step text COLLATE "C" NOT NULL,
    failures bigint NOT NULL CHECK (failures BETWEEN 0 AND 4294967295),
    error text NOT NULL,
    at bigint NOT NULL
);

CREATE INDEX failed_job ON "{schema}".failed (job, id);

CREATE TABLE "{schema}".version AS SELECT 1::bigint AS version;

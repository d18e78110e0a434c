CREATE TABLE connections (
    brand_id TEXT NOT NULL,
    id TEXT NOT NULL,
    platform TEXT NOT NULL,
    -- What the platform calls the account, for ever; what people call it; where it lives.
    remote_id TEXT NOT NULL,
    handle TEXT NOT NULL,
    server TEXT NOT NULL,
    details TEXT NOT NULL,
    status TEXT NOT NULL CHECK (status IN ('connected', 'expiring', 'expired', 'revoked')),
    scopes TEXT NOT NULL,
    -- Encrypted for this row alone. The version goes up with every renewal.
    secret BYTEA NOT NULL,
    secret_version BIGINT NOT NULL,
    -- Until when somebody is busy renewing it.
    renewing_until BIGINT NOT NULL,
    created_by TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    PRIMARY KEY (brand_id, id)
) {clustered};
CREATE UNIQUE INDEX connections_by_account ON connections (brand_id, platform, remote_id);

CREATE TABLE publish_jobs (
    brand_id TEXT NOT NULL,
    id TEXT NOT NULL,
    post_id TEXT NOT NULL,
    state TEXT NOT NULL,
    run_at BIGINT NOT NULL,
    late BIGINT NOT NULL,
    cancel_asked_at BIGINT,
    created_by TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    started_at BIGINT,
    finished_at BIGINT,
    PRIMARY KEY (brand_id, id)
) {clustered};
-- One live job per post.
CREATE UNIQUE INDEX publish_jobs_live ON publish_jobs (brand_id, post_id)
    WHERE state IN ('queued', 'running');
CREATE INDEX publish_jobs_of_post ON publish_jobs (brand_id, post_id, id);
CREATE INDEX publish_jobs_by_time ON publish_jobs (brand_id, run_at)
    WHERE state IN ('queued', 'running');

-- One entry per account that a job publishes to: the queue, and what a restart goes on from.
CREATE TABLE publish_targets (
    brand_id TEXT NOT NULL,
    job_id TEXT NOT NULL,
    number BIGINT NOT NULL,
    post_id TEXT NOT NULL,
    -- Whether the job has no other entry.
    alone BIGINT NOT NULL,
    -- Empty where the post names no account: the entry then says so when its time comes.
    connection_id TEXT NOT NULL,
    platform TEXT NOT NULL,
    stage TEXT NOT NULL,
    part BIGINT NOT NULL,
    parts BIGINT NOT NULL,
    attempt BIGINT NOT NULL,
    failures BIGINT NOT NULL,
    due_at BIGINT NOT NULL,
    next_at BIGINT NOT NULL,
    intent_at BIGINT,
    undecided_since BIGINT,
    absences BIGINT NOT NULL,
    late BIGINT NOT NULL,
    cancel BIGINT NOT NULL,
    renewed BIGINT NOT NULL,
    -- Goes up whenever the entry changes hands; whoever holds an older one is refused.
    token BIGINT NOT NULL,
    -- When it is to be taken up: its time, or the end of the lease of whoever holds it.
    wake_at BIGINT NOT NULL,
    -- What the account gets, frozen when its time came, and what the call says.
    draft TEXT,
    frozen TEXT,
    receipts TEXT NOT NULL,
    failure TEXT,
    updated_at BIGINT NOT NULL,
    PRIMARY KEY (brand_id, job_id, number)
) {clustered};
CREATE INDEX publish_targets_due ON publish_targets (wake_at, brand_id, job_id, number)
    WHERE stage IN ('waiting', 'preparing', 'calling', 'reading');
-- One live entry per post and account.
CREATE UNIQUE INDEX publish_targets_live ON publish_targets (brand_id, post_id, connection_id)
    WHERE stage IN ('waiting', 'preparing', 'calling', 'reading');

CREATE TABLE publish_attempts (
    brand_id TEXT NOT NULL,
    id TEXT NOT NULL,
    job_id TEXT NOT NULL,
    number BIGINT NOT NULL,
    part BIGINT NOT NULL,
    attempt BIGINT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('succeeded', 'failed')),
    class TEXT,
    code TEXT,
    message TEXT,
    repeat_is_safe BIGINT,
    retry_at BIGINT,
    finished_at BIGINT NOT NULL,
    PRIMARY KEY (brand_id, id)
) {clustered};
CREATE INDEX publish_attempts_of_job ON publish_attempts (brand_id, job_id, id);

-- What happened, in the transaction in which it happened, for whoever wants to be told.
CREATE TABLE outbox (
    id TEXT NOT NULL PRIMARY KEY,
    brand_id TEXT NOT NULL,
    event TEXT NOT NULL,
    resource_id TEXT NOT NULL,
    payload TEXT NOT NULL,
    created_at BIGINT NOT NULL
);

-- The sandbox's own network: what was posted to it.
CREATE TABLE sandbox_posts (
    brand_id TEXT NOT NULL,
    account TEXT NOT NULL,
    id TEXT NOT NULL,
    -- Chosen by whoever posts: the same again is the same post.
    operation TEXT NOT NULL,
    content TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    PRIMARY KEY (brand_id, account, id)
) {clustered};
CREATE UNIQUE INDEX sandbox_posts_by_operation ON sandbox_posts (brand_id, account, operation);

-- Publishing a post touched every index of its entry and its job with every step, because their
-- conditions named what changes with a step. They now name what changes once, at the end.
ALTER TABLE publish_targets ADD COLUMN live BIGINT NOT NULL DEFAULT 1;
UPDATE publish_targets SET live = 0
 WHERE stage NOT IN ('waiting', 'preparing', 'calling', 'reading');
DROP INDEX publish_targets_due;
CREATE INDEX publish_targets_due ON publish_targets (wake_at, brand_id, job_id, number)
    WHERE live = 1;
DROP INDEX publish_targets_live;
CREATE UNIQUE INDEX publish_targets_live ON publish_targets (brand_id, post_id, connection_id)
    WHERE live = 1;

DROP INDEX publish_jobs_live;
CREATE UNIQUE INDEX publish_jobs_live ON publish_jobs (brand_id, post_id)
    WHERE finished_at IS NULL;
DROP INDEX publish_jobs_by_time;
CREATE INDEX publish_jobs_by_time ON publish_jobs (brand_id, run_at) WHERE finished_at IS NULL;

-- Jobs change twice while they are published; with room on its page a row need not move.
--postgres ALTER TABLE publish_jobs SET (fillfactor = 70);

-- Events are read in their order: one tree is enough.
ALTER TABLE outbox RENAME TO outbox_before;
CREATE TABLE outbox (
    id TEXT NOT NULL,
    brand_id TEXT NOT NULL,
    event TEXT NOT NULL,
    resource_id TEXT NOT NULL,
    payload TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    PRIMARY KEY (id)
) {clustered};
INSERT INTO outbox (id, brand_id, event, resource_id, payload, created_at)
SELECT id, brand_id, event, resource_id, payload, created_at FROM outbox_before;
DROP TABLE outbox_before;

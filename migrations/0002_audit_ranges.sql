-- A link of the audit chain covers a range of ids instead of marking every entry, so sealing
-- writes one row. Links of the older kind cannot be carried over: the chain begins anew here.

DROP INDEX audit_log_unsealed;
DROP INDEX audit_log_sealed;
ALTER TABLE audit_log DROP COLUMN seal;
CREATE INDEX audit_log_by_id ON audit_log (id);

DROP TABLE audit_seals;
CREATE TABLE audit_seals (
    number BIGINT NOT NULL PRIMARY KEY,
    -- The entries above the link before and up to this id, of all workspaces.
    upto TEXT NOT NULL,
    entries BIGINT NOT NULL,
    previous BYTEA NOT NULL,
    hash BYTEA NOT NULL,
    created_at BIGINT NOT NULL
);

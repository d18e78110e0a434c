-- One text for both engines: TEXT, BIGINT and BYTEA only. Times are milliseconds since 1970,
-- states and JSON are text. `{clustered}` keeps a table's rows in the order of its key where
-- the engine can; crates/store/src/migrate.rs says what it becomes.

CREATE TABLE workspaces (
    id TEXT NOT NULL PRIMARY KEY,
    name TEXT NOT NULL,
    created_at BIGINT NOT NULL
);

CREATE TABLE users (
    id TEXT NOT NULL PRIMARY KEY,
    workspace_id TEXT NOT NULL REFERENCES workspaces (id),
    email TEXT NOT NULL UNIQUE,
    name TEXT NOT NULL,
    time_zone TEXT NOT NULL,
    role TEXT NOT NULL CHECK (role IN ('owner', 'member')),
    password_hash TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    disabled_at BIGINT
);
CREATE INDEX users_of_workspace ON users (workspace_id, id);

CREATE TABLE brands (
    id TEXT NOT NULL PRIMARY KEY,
    workspace_id TEXT NOT NULL REFERENCES workspaces (id),
    name TEXT NOT NULL,
    schedule TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    deleted_at BIGINT
);
CREATE INDEX brands_of_workspace ON brands (workspace_id, id);

CREATE TABLE memberships (
    user_id TEXT NOT NULL REFERENCES users (id),
    brand_id TEXT NOT NULL REFERENCES brands (id),
    created_at BIGINT NOT NULL,
    PRIMARY KEY (user_id, brand_id)
) {clustered};
CREATE INDEX memberships_of_brand ON memberships (brand_id, user_id);

CREATE TABLE api_keys (
    id TEXT NOT NULL PRIMARY KEY,
    user_id TEXT NOT NULL REFERENCES users (id),
    name TEXT NOT NULL,
    hash BYTEA NOT NULL UNIQUE,
    hint TEXT NOT NULL,
    scopes TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    expires_at BIGINT,
    revoked_at BIGINT,
    last_used_at BIGINT
);
CREATE INDEX api_keys_of_user ON api_keys (user_id, id);

CREATE TABLE sessions (
    id TEXT NOT NULL PRIMARY KEY,
    user_id TEXT NOT NULL REFERENCES users (id),
    hash BYTEA NOT NULL UNIQUE,
    created_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL
);
CREATE INDEX sessions_of_user ON sessions (user_id, id);

-- Goes up with every change to users, brands, keys and sessions, so that several processes know
-- when what they remember of an identity is no longer true.
CREATE TABLE identity_epoch (
    value BIGINT NOT NULL
);
INSERT INTO identity_epoch (value) VALUES (0);

-- Wrong passwords, counted on the account so that many addresses do not help.
CREATE TABLE sign_in_failures (
    email TEXT NOT NULL PRIMARY KEY,
    failures BIGINT NOT NULL,
    locked_until BIGINT NOT NULL
);

CREATE TABLE posts (
    brand_id TEXT NOT NULL,
    id TEXT NOT NULL,
    status TEXT NOT NULL,
    folder_path TEXT,
    scheduled_at BIGINT,
    published_at BIGINT,
    created_by TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    -- What the author wrote, as the JSON that answers carry.
    document TEXT NOT NULL,
    -- The words of it, folded for searching.
    search TEXT NOT NULL,
    PRIMARY KEY (brand_id, id)
) {clustered};
CREATE INDEX posts_by_status ON posts (brand_id, status, id);
CREATE INDEX posts_by_folder ON posts (brand_id, folder_path, id) WHERE folder_path IS NOT NULL;

-- How many of a kind a brand holds, spread over shards so that writers do not queue for a row.
CREATE TABLE brand_counts (
    brand_id TEXT NOT NULL,
    shard BIGINT NOT NULL,
    kind TEXT NOT NULL,
    amount BIGINT NOT NULL,
    PRIMARY KEY (brand_id, shard, kind)
) {clustered};

CREATE TABLE post_tags (
    brand_id TEXT NOT NULL,
    tag TEXT NOT NULL,
    post_id TEXT NOT NULL,
    PRIMARY KEY (brand_id, tag, post_id)
) {clustered};

-- Which posts need an asset.
CREATE TABLE post_media (
    brand_id TEXT NOT NULL,
    storage_path TEXT NOT NULL,
    post_id TEXT NOT NULL,
    PRIMARY KEY (brand_id, storage_path, post_id)
) {clustered};

CREATE TABLE content_folders (
    brand_id TEXT NOT NULL,
    scope TEXT NOT NULL CHECK (scope IN ('posts', 'media')),
    path TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    PRIMARY KEY (brand_id, scope, path)
) {clustered};

-- Stored bytes. One live row per workspace and content; an object without a live row is swept.
CREATE TABLE blobs (
    id TEXT NOT NULL PRIMARY KEY,
    workspace_id TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('pending', 'live', 'doomed')),
    sha256 BYTEA,
    bytes BIGINT,
    media_type TEXT,
    width BIGINT,
    height BIGINT,
    duration_ms BIGINT,
    created_at BIGINT NOT NULL
);
CREATE UNIQUE INDEX blobs_by_content ON blobs (workspace_id, sha256) WHERE state = 'live';
CREATE INDEX blobs_to_sweep ON blobs (state, created_at) WHERE state <> 'live';

-- A storage path: one name for a blob, held by one brand.
CREATE TABLE assets (
    brand_id TEXT NOT NULL,
    storage_path TEXT NOT NULL,
    blob_id TEXT NOT NULL REFERENCES blobs (id),
    created_at BIGINT NOT NULL,
    PRIMARY KEY (brand_id, storage_path)
) {clustered};
CREATE INDEX assets_of_blob ON assets (blob_id);

CREATE TABLE media_items (
    brand_id TEXT NOT NULL,
    id TEXT NOT NULL,
    storage_path TEXT NOT NULL,
    name TEXT,
    folder_path TEXT,
    tags TEXT NOT NULL,
    source_url TEXT,
    created_by TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    PRIMARY KEY (brand_id, id)
) {clustered};
CREATE UNIQUE INDEX media_items_by_path ON media_items (brand_id, storage_path);
CREATE INDEX media_items_by_folder ON media_items (brand_id, folder_path, id)
    WHERE folder_path IS NOT NULL;

CREATE TABLE media_tags (
    brand_id TEXT NOT NULL,
    tag TEXT NOT NULL,
    media_id TEXT NOT NULL,
    PRIMARY KEY (brand_id, tag, media_id)
) {clustered};

-- A promise to take one upload.
CREATE TABLE uploads (
    id TEXT NOT NULL PRIMARY KEY,
    brand_id TEXT NOT NULL,
    workspace_id TEXT NOT NULL,
    storage_path TEXT NOT NULL,
    media_type TEXT NOT NULL,
    bytes BIGINT NOT NULL,
    expires_at BIGINT NOT NULL,
    used_at BIGINT
);
CREATE INDEX uploads_by_expiry ON uploads (expires_at);

CREATE TABLE audit_log (
    workspace_id TEXT NOT NULL,
    id TEXT NOT NULL,
    brand_id TEXT,
    user_id TEXT,
    door TEXT NOT NULL,
    credential_id TEXT,
    request_id TEXT NOT NULL,
    ip TEXT,
    action TEXT NOT NULL,
    resource TEXT NOT NULL,
    resource_id TEXT NOT NULL,
    before TEXT,
    after TEXT,
    created_at BIGINT NOT NULL,
    -- The link of the hash chain that covers this entry.
    seal BIGINT,
    PRIMARY KEY (workspace_id, id)
) {clustered};
CREATE INDEX audit_log_unsealed ON audit_log (id) WHERE seal IS NULL;
CREATE INDEX audit_log_sealed ON audit_log (seal, id) WHERE seal IS NOT NULL;

CREATE TABLE audit_seals (
    number BIGINT NOT NULL PRIMARY KEY,
    entries BIGINT NOT NULL,
    previous BYTEA NOT NULL,
    hash BYTEA NOT NULL,
    created_at BIGINT NOT NULL
);

-- Answers kept for callers who repeat a request; encrypted, since an answer may hold a secret.
CREATE TABLE idempotency_keys (
    owner TEXT NOT NULL,
    name TEXT NOT NULL,
    fingerprint BYTEA NOT NULL,
    status BIGINT NOT NULL,
    answer BYTEA NOT NULL,
    created_at BIGINT NOT NULL,
    PRIMARY KEY (owner, name)
) {clustered};
CREATE INDEX idempotency_keys_by_age ON idempotency_keys (created_at);

-- What the installation itself has to remember.
CREATE TABLE service_settings (
    name TEXT NOT NULL PRIMARY KEY,
    value BYTEA NOT NULL
);

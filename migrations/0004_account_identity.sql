-- What tells an account from all others on its platform. Where every server counts its own
-- accounts the remote id alone does not: two servers may both have an account 1.
ALTER TABLE connections ADD COLUMN identity TEXT NOT NULL DEFAULT '';
UPDATE connections
   SET identity = CASE platform WHEN 'mastodon' THEN server || '/' || remote_id ELSE remote_id END;
DROP INDEX connections_by_account;
CREATE UNIQUE INDEX connections_by_account ON connections (brand_id, platform, identity);

-- Applications that customers have connected by OAuth. A grant is a row of `keys`, so that whatever
-- revokes or changes keys (Regenerate, a blocked account, a new add-on) covers grants, and reaches the
-- caches in the same way. Its row of `keys` has no hash that any key could match.
ALTER TABLE keys ADD COLUMN is_grant BIGINT NOT NULL DEFAULT 0;

DROP VIEW key_addons;

-- One row for each key and add-on; one row with an empty add-on for a key that has none.
CREATE VIEW key_addons AS
SELECT keys.id AS key_id,
       keys.account_id,
       accounts.email,
       keys.prefix,
       keys.hash,
       keys.created_us,
       keys.revoked_us,
       keys.is_grant,
       accounts.blocked_us,
       addons.addon,
       addons.expires_us
FROM keys
JOIN accounts ON accounts.id = keys.account_id
LEFT JOIN addons ON addons.account_id = keys.account_id;

CREATE TABLE oauth_grants (
    key_id            BIGINT PRIMARY KEY REFERENCES keys (id) ON DELETE CASCADE,
    -- The URL of the client's metadata document, and the name in it at the time of consent.
    client_id         TEXT NOT NULL,
    client_name       TEXT NOT NULL,
    redirect_uri      TEXT NOT NULL,
    -- The product whose MCP server accepts the tokens.
    audience          TEXT NOT NULL,
    -- Names of scopes, separated by spaces: those granted, and those of the current access token.
    scopes            TEXT NOT NULL,
    access_scopes     TEXT NOT NULL,
    -- Keyed hashes; of the refresh token also that of the part that all tokens of the grant share.
    code_hash         BYTEA NOT NULL,
    code_challenge    TEXT NOT NULL,
    code_used_us      BIGINT,
    access_hash       BYTEA,
    access_expires_us BIGINT,
    family_hash       BYTEA,
    refresh_hash      BYTEA,
    -- The end of the code; once that is used, of the refresh token.
    ends_us           BIGINT NOT NULL,
    -- When a token was last used, to the minute.
    used_us           BIGINT NOT NULL
);

CREATE INDEX oauth_grants_by_end ON oauth_grants (ends_us);

-- What the nodes of a cluster must agree about. A hub that runs alone keeps it in memory.

-- The part of each account's daily quota that nodes have taken, for the calls that they have admitted and those that
-- they may still admit.
CREATE TABLE quota_leases (
    account_id BIGINT NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
    product    TEXT NOT NULL,
    -- Days since the epoch, UTC.
    day        BIGINT NOT NULL,
    -- Calls of all nodes together, and of the last lease.
    leased     BIGINT NOT NULL,
    last_lease BIGINT NOT NULL,
    PRIMARY KEY (account_id, product, day)
);

CREATE INDEX quota_leases_by_day ON quota_leases (day);

-- Credentials for one socket each, which any node accepts once.
CREATE TABLE socket_tickets (
    hash     BYTEA PRIMARY KEY,
    key_id   BIGINT NOT NULL REFERENCES keys (id) ON DELETE CASCADE,
    until_us BIGINT NOT NULL
);

CREATE INDEX socket_tickets_by_key ON socket_tickets (key_id, until_us);

-- The greatest term of a leader that has written to the archive: one of a smaller term may not.
CREATE TABLE cluster_terms (
    -- The stream of the log.
    log  TEXT PRIMARY KEY,
    term BIGINT NOT NULL
);

-- When a leader last was alive, by the clock of this server.
CREATE TABLE cluster_signs (
    log   TEXT PRIMARY KEY,
    at_us BIGINT NOT NULL
);

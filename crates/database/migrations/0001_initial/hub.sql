-- Tables of the hub itself and of the nodes of its cluster.

-- Named values of the hub.
CREATE TABLE meta (
    name  TEXT PRIMARY KEY,
    value TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- Credentials for one socket each, which any node accepts once.
CREATE TABLE socket_tickets (
    hash     BLOB PRIMARY KEY,
    key_id   INTEGER NOT NULL REFERENCES keys (id) ON DELETE CASCADE,
    until_us INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX socket_tickets_by_key ON socket_tickets (key_id, until_us);

-- The greatest term of a leader that has written to the archive: one of a smaller term may not.
CREATE TABLE cluster_terms (
    -- The stream of the log.
    log  TEXT PRIMARY KEY,
    term INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- When a leader last was alive, by the clock of the database's server, and which node it was.
CREATE TABLE cluster_signs (
    log   TEXT PRIMARY KEY,
    at_us INTEGER NOT NULL,
    node  TEXT NOT NULL DEFAULT ''
) STRICT, WITHOUT ROWID;

-- Which matches of several providers are one match. Ids are ours: the digest of a provider and its
-- key. Times are microseconds since the epoch, UTC. Texts are for people to read.

-- A match that is followed under another id than its own.
CREATE TABLE match_bindings (
    own           INTEGER PRIMARY KEY,
    provider      TEXT NOT NULL,
    key           TEXT NOT NULL,
    match_id      INTEGER NOT NULL,
    swapped       INTEGER NOT NULL,
    -- rule or operator
    bound_by      TEXT NOT NULL,
    sides         TEXT NOT NULL,
    start         TEXT NOT NULL,
    competition   TEXT NOT NULL,
    -- What it was found to be, where that is known.
    with_own      INTEGER,
    with_provider TEXT,
    with_key      TEXT,
    bound_us      INTEGER NOT NULL
) STRICT;

CREATE INDEX match_bindings_by_match ON match_bindings (match_id);

-- Two that are never one match; the smaller id first.
CREATE TABLE match_splits (
    one      INTEGER NOT NULL,
    other    INTEGER NOT NULL,
    split_us INTEGER NOT NULL,
    PRIMARY KEY (one, other)
) STRICT, WITHOUT ROWID;

-- Two that may be one match. The lowest number is the oldest and goes first when there are too many.
CREATE TABLE match_doubts (
    id                INTEGER PRIMARY KEY,
    one               INTEGER NOT NULL,
    other             INTEGER NOT NULL,
    swapped           INTEGER NOT NULL,
    score             REAL NOT NULL,
    why               TEXT NOT NULL,
    one_provider      TEXT NOT NULL,
    one_key           TEXT NOT NULL,
    one_sides         TEXT NOT NULL,
    one_start         TEXT NOT NULL,
    one_competition   TEXT NOT NULL,
    other_provider    TEXT NOT NULL,
    other_key         TEXT NOT NULL,
    other_sides       TEXT NOT NULL,
    other_start       TEXT NOT NULL,
    other_competition TEXT NOT NULL,
    doubted_us        INTEGER NOT NULL,
    UNIQUE (one, other)
) STRICT;

CREATE INDEX match_doubts_by_other ON match_doubts (other);

-- What the operator wants. AUTOINCREMENT, because a running hub asks for those after the last one
-- that it has seen.
CREATE TABLE match_orders (
    id            INTEGER PRIMARY KEY AUTOINCREMENT,
    -- join or split
    kind          TEXT NOT NULL,
    provider      TEXT NOT NULL,
    key           TEXT NOT NULL,
    into_id       INTEGER,
    swapped       INTEGER NOT NULL,
    -- How the operator named the other one, unless by its id.
    with_provider TEXT,
    with_key      TEXT,
    ordered_us    INTEGER NOT NULL,
    -- When a hub took it up, and why it did not follow it.
    done_us       INTEGER,
    refused       TEXT
) STRICT;

-- Those that still wait are few among all that ever were.
CREATE INDEX match_orders_waiting ON match_orders (id) WHERE done_us IS NULL;

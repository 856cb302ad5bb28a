-- Prices by match instead of by row, in columns of JSON; what the hub writes is compressed (zlib). A value of before this
-- migration begins with `{`. Rows have no key of their own, so that matches that are written together lie together.

CREATE TABLE archive_prices (
    match_id   INTEGER NOT NULL UNIQUE,
    -- How many there are, how many of them are of the whole match, and of these of the consensus.
    total      INTEGER NOT NULL,
    whole      INTEGER NOT NULL,
    consensus  INTEGER NOT NULL,
    -- When the first and the last of them was written.
    oldest_us  INTEGER NOT NULL,
    updated_us INTEGER NOT NULL,
    -- Every price of the match: how it opened, what it was, what it is.
    prices     BLOB NOT NULL
) STRICT;

-- The match of each price of before this migration, by the id that clients know. Later ones have ids near that of their match.
CREATE TABLE archive_price_ids (
    public_id INTEGER PRIMARY KEY,
    match_id  INTEGER NOT NULL
) STRICT;

-- Blocks of the prices that a match has had, at most one for each price and time that the archive was written. A block
-- has a few hundred, received within a day. New ones are added to the one with the greatest number until it is full.
CREATE TABLE archive_trails (
    match_id INTEGER NOT NULL,
    number   INTEGER NOT NULL,
    -- When the first and the last were received.
    from_us  INTEGER NOT NULL,
    until_us INTEGER NOT NULL,
    ticks    BLOB NOT NULL,
    PRIMARY KEY (match_id, number)
) STRICT;

CREATE INDEX archive_trails_by_receipt ON archive_trails (from_us);

-- The rows of before are converted in steps (`crates/database/migrations/steps/`), those of the matches after `from_id` up to `until_id` in the last
-- one. Migration 23 follows when all are.
CREATE TABLE archive_conversion (
    from_id  INTEGER NOT NULL,
    until_id INTEGER NOT NULL
) STRICT;

INSERT INTO archive_conversion (from_id, until_id) VALUES (-1, -1);

-- Matches without a key of their own, as above; and the detail of a match, compressed (zlib), NULL where `detail` has it, as
-- versions before wrote it.
ALTER TABLE archive_matches RENAME TO archive_matches_before;
DROP INDEX archive_matches_by_change;
DROP INDEX archive_matches_by_start;

CREATE TABLE archive_matches (
    id            INTEGER NOT NULL UNIQUE,
    sport         TEXT NOT NULL,
    start_us      INTEGER,
    status        TEXT NOT NULL,
    brief         TEXT NOT NULL,
    record        TEXT NOT NULL,
    seen_us       INTEGER NOT NULL,
    change        INTEGER NOT NULL,
    detail        TEXT,
    packed_detail BLOB
) STRICT;

CREATE INDEX archive_matches_by_change ON archive_matches (change);
CREATE INDEX archive_matches_by_start ON archive_matches (start_us);

-- Prices by match instead of by row, in columns of JSON; what the hub writes is compressed (zlib). A value of before this
-- migration begins with `{`. Rows have no key of their own, so that matches that are written together lie together.

CREATE TABLE archive_prices (
    match_id   BIGINT NOT NULL UNIQUE,
    -- How many there are, how many of them are of the whole match, and of these of the consensus.
    total      BIGINT NOT NULL,
    whole      BIGINT NOT NULL,
    consensus  BIGINT NOT NULL,
    -- When the first and the last of them was written.
    oldest_us  BIGINT NOT NULL,
    updated_us BIGINT NOT NULL,
    -- Every price of the match: how it opened, what it was, what it is.
    prices     BYTEA NOT NULL
);

-- The match of each price of before this migration, by the id that clients know. Later ones have ids near that of their match.
CREATE TABLE archive_price_ids (
    public_id BIGINT PRIMARY KEY,
    match_id  BIGINT NOT NULL
);

-- Blocks of the prices that a match has had, at most one for each price and time that the archive was written. A block
-- has a few hundred, received within a day. New ones are added to the one with the greatest number until it is full.
CREATE TABLE archive_trails (
    match_id BIGINT NOT NULL,
    number   BIGINT NOT NULL,
    -- When the first and the last were received.
    from_us  BIGINT NOT NULL,
    until_us BIGINT NOT NULL,
    ticks    BYTEA NOT NULL,
    PRIMARY KEY (match_id, number)
);

CREATE INDEX archive_trails_by_receipt ON archive_trails (from_us);

-- The rows of before are converted in steps (`crates/database/migrations/steps/`), those of the matches after `from_id` up to `until_id` in the last
-- one. Migration 23 follows when all are.
CREATE TABLE archive_conversion (
    from_id  BIGINT NOT NULL,
    until_id BIGINT NOT NULL
);

INSERT INTO archive_conversion (from_id, until_id) VALUES (-1, -1);

-- The detail of a match, compressed (zlib); NULL where `detail` has it, as versions before wrote it.
ALTER TABLE archive_matches ADD COLUMN packed_detail BYTEA;

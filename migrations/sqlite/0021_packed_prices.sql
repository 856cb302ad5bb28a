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

INSERT INTO archive_prices (match_id, total, whole, consensus, oldest_us, updated_us, prices)
SELECT match_id, count(*), count(*) FILTER (WHERE period IS NULL),
       count(*) FILTER (WHERE period IS NULL AND bookmaker = 'consensus'), min(updated_us), max(updated_us),
       CAST(json_object(
    'id', json_group_array(id), 'public_id', json_group_array(public_id),
    'bookmaker', json_group_array(bookmaker), 'market', json_group_array(market),
    'period', json_group_array(period), 'line', json_group_array(line),
    'outcome', json_group_array(outcome),
    'opening', json_group_array(opening), 'opening_us', json_group_array(opening_us),
    'previous', json_group_array(previous),
    'price', json_group_array(price), 'price_us', json_group_array(price_us),
    'received_us', json_group_array(received_us), 'is_open', json_group_array(is_open),
    'is_offered', json_group_array(is_offered), 'in_play', json_group_array(in_play),
    'ticked_us', json_group_array(ticked_us), 'updated_us', json_group_array(updated_us)) AS BLOB)
FROM archive_odds GROUP BY match_id;

-- The match of each price of before this migration, by the id that clients know. Later ones have ids near that of their match.
CREATE TABLE archive_price_ids (
    public_id INTEGER PRIMARY KEY,
    match_id  INTEGER NOT NULL
) STRICT;

INSERT INTO archive_price_ids (public_id, match_id)
SELECT public_id, match_id FROM archive_odds WHERE public_id IS NOT NULL ORDER BY public_id;

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

INSERT INTO archive_trails (match_id, number, from_us, until_us, ticks)
SELECT match_id, day * 100000 + part, min(received_us), max(received_us), CAST(json_object(
    'odds', json_group_array(odds), 'at_us', json_group_array(at_us),
    'delay_us', json_group_array(received_us - at_us), 'price', json_group_array(price)) AS BLOB)
FROM (
    SELECT o.match_id, t.odds, t.at_us, t.received_us, t.price, t.received_us / 86400000000 AS day,
           (row_number() OVER (
               PARTITION BY o.match_id, t.received_us / 86400000000 ORDER BY t.received_us, t.odds, t.at_us
           ) - 1) / 256 AS part
    FROM archive_ticks t JOIN archive_odds o ON o.id = t.odds
) AS numbered GROUP BY match_id, day, part;

CREATE INDEX archive_trails_by_receipt ON archive_trails (from_us);

DROP TABLE archive_ticks;
DROP TABLE archive_odds;

-- Matches without a key of their own, as above; and the detail of a match, compressed (zlib), NULL where `detail` has it, as
-- versions before wrote it.
CREATE TABLE archive_matches_now (
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

INSERT INTO archive_matches_now (id, sport, start_us, status, brief, record, seen_us, change, detail)
SELECT id, sport, start_us, status, brief, record, seen_us, change, detail FROM archive_matches;

DROP TABLE archive_matches;
ALTER TABLE archive_matches_now RENAME TO archive_matches;

CREATE INDEX archive_matches_by_change ON archive_matches (change);
CREATE INDEX archive_matches_by_start ON archive_matches (start_us);

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

INSERT INTO archive_prices (match_id, total, whole, consensus, oldest_us, updated_us, prices)
SELECT match_id, count(*), count(*) FILTER (WHERE period IS NULL),
       count(*) FILTER (WHERE period IS NULL AND bookmaker = 'consensus'), min(updated_us), max(updated_us),
       convert_to(CAST(json_build_object(
    'id', json_agg(id), 'public_id', json_agg(public_id),
    'bookmaker', json_agg(bookmaker), 'market', json_agg(market),
    'period', json_agg(period), 'line', json_agg(line),
    'outcome', json_agg(outcome),
    'opening', json_agg(opening), 'opening_us', json_agg(opening_us),
    'previous', json_agg(previous),
    'price', json_agg(price), 'price_us', json_agg(price_us),
    'received_us', json_agg(received_us), 'is_open', json_agg(is_open),
    'is_offered', json_agg(is_offered), 'in_play', json_agg(in_play),
    'ticked_us', json_agg(ticked_us), 'updated_us', json_agg(updated_us)) AS TEXT), 'UTF8')
FROM archive_odds GROUP BY match_id;

-- The match of each price of before this migration, by the id that clients know. Later ones have ids near that of their match.
CREATE TABLE archive_price_ids (
    public_id BIGINT PRIMARY KEY,
    match_id  BIGINT NOT NULL
);

INSERT INTO archive_price_ids (public_id, match_id)
SELECT public_id, match_id FROM archive_odds WHERE public_id IS NOT NULL ORDER BY public_id;

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

INSERT INTO archive_trails (match_id, number, from_us, until_us, ticks)
SELECT match_id, day * 100000 + part, min(received_us), max(received_us), convert_to(CAST(json_build_object(
    'odds', json_agg(odds), 'at_us', json_agg(at_us),
    'delay_us', json_agg(received_us - at_us), 'price', json_agg(price)) AS TEXT), 'UTF8')
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

-- The detail of a match, compressed (zlib); NULL where `detail` has it, as versions before wrote it.
ALTER TABLE archive_matches ADD COLUMN packed_detail BYTEA;

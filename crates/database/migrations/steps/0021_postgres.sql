-- A step of the conversion of migration 21: some thousand prices with their history.

-- The number of rows of a step is unknown to the planner, which would read whole tables for each.
SET LOCAL enable_seqscan = off;
SET LOCAL enable_hashjoin = off;
SET LOCAL enable_mergejoin = off;
SET LOCAL jit = off;

UPDATE archive_conversion SET from_id = until_id, until_id =
    coalesce((SELECT match_id FROM archive_odds WHERE match_id > until_id ORDER BY match_id LIMIT 1 OFFSET 2000),
             9223372036854775807);

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
FROM archive_odds WHERE match_id > (SELECT from_id FROM archive_conversion)
  AND match_id <= (SELECT until_id FROM archive_conversion)
GROUP BY match_id;

INSERT INTO archive_price_ids (public_id, match_id)
SELECT public_id, match_id FROM archive_odds WHERE match_id > (SELECT from_id FROM archive_conversion)
  AND match_id <= (SELECT until_id FROM archive_conversion)
  AND public_id IS NOT NULL ORDER BY public_id;

INSERT INTO archive_trails (match_id, number, from_us, until_us, ticks)
SELECT match_id, day * 100000 + part, min(received_us), max(received_us), convert_to(CAST(json_build_object(
    'odds', json_agg(odds), 'at_us', json_agg(at_us),
    'delay_us', json_agg(received_us - at_us), 'price', json_agg(price)) AS TEXT), 'UTF8')
FROM (
    SELECT o.match_id, t.odds, t.at_us, t.received_us, t.price, t.received_us / 86400000000 AS day,
           (row_number() OVER (
               PARTITION BY o.match_id, t.received_us / 86400000000 ORDER BY t.received_us, t.odds, t.at_us
           ) - 1) / 256 AS part
    FROM archive_odds o JOIN archive_ticks t ON t.odds = o.id
    WHERE o.match_id > (SELECT from_id FROM archive_conversion)
      AND o.match_id <= (SELECT until_id FROM archive_conversion)
) AS numbered GROUP BY match_id, day, part;

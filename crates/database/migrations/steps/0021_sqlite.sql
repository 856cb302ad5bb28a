-- A step of the conversion of migration 21: some thousand prices with their history, or some hundred matches.

UPDATE archive_conversion SET from_id = until_id, until_id = min(
    coalesce((SELECT match_id FROM archive_odds WHERE match_id > until_id ORDER BY match_id LIMIT 1 OFFSET 2000),
             9223372036854775807),
    coalesce((SELECT id FROM archive_matches_before WHERE id > until_id ORDER BY id LIMIT 1 OFFSET 500),
             9223372036854775807));

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
FROM archive_odds WHERE match_id > (SELECT from_id FROM archive_conversion)
  AND match_id <= (SELECT until_id FROM archive_conversion)
GROUP BY match_id;

INSERT INTO archive_price_ids (public_id, match_id)
SELECT public_id, match_id FROM archive_odds WHERE match_id > (SELECT from_id FROM archive_conversion)
  AND match_id <= (SELECT until_id FROM archive_conversion)
  AND public_id IS NOT NULL ORDER BY public_id;

INSERT INTO archive_trails (match_id, number, from_us, until_us, ticks)
SELECT match_id, day * 100000 + part, min(received_us), max(received_us), CAST(json_object(
    'odds', json_group_array(odds), 'at_us', json_group_array(at_us),
    'delay_us', json_group_array(received_us - at_us), 'price', json_group_array(price)) AS BLOB)
FROM (
    SELECT o.match_id, t.odds, t.at_us, t.received_us, t.price, t.received_us / 86400000000 AS day,
           (row_number() OVER (
               PARTITION BY o.match_id, t.received_us / 86400000000 ORDER BY t.received_us, t.odds, t.at_us
           ) - 1) / 256 AS part
    FROM archive_odds o CROSS JOIN archive_ticks t ON t.odds = o.id
    WHERE o.match_id > (SELECT from_id FROM archive_conversion)
      AND o.match_id <= (SELECT until_id FROM archive_conversion)
) AS numbered GROUP BY match_id, day, part;

INSERT INTO archive_matches (id, sport, start_us, status, brief, record, seen_us, change, detail)
SELECT id, sport, start_us, status, brief, record, seen_us, change, detail FROM archive_matches_before
WHERE id > (SELECT from_id FROM archive_conversion)
  AND id <= (SELECT until_id FROM archive_conversion);

-- By these alone the prices of matches are counted, and those of one market are found.
DROP INDEX archive_odds_by_match;
CREATE INDEX archive_odds_by_match ON archive_odds (match_id, market, period, updated_us);

-- Players who were on the pitch, the latest match first.
CREATE INDEX archive_appearances_by_start ON archive_appearances (start_us DESC, match_id) WHERE played = 1;

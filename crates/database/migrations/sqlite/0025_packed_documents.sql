-- The summary and the outline of a match, and a signal, compressed (zstd). NULL where the text beside it has the document, as
-- versions before wrote it; otherwise that text is empty.
ALTER TABLE archive_matches ADD COLUMN packed_summary BLOB;
ALTER TABLE archive_matches ADD COLUMN packed_outline BLOB;
ALTER TABLE archive_signals ADD COLUMN packed BLOB;

-- Players of a team and of a season are found by its matches, which are in memory.
DROP INDEX archive_appearances_by_team;
DROP INDEX archive_appearances_by_season;

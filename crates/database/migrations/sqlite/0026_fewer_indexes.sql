-- Matches are selected by their start in memory.
DROP INDEX archive_matches_by_start;

-- The id is the row's own, which every index has.
DROP INDEX archive_signals_by_begin;
CREATE INDEX archive_signals_by_begin ON archive_signals (began_us);

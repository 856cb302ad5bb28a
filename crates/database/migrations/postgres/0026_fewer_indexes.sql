-- Matches are selected by their start in memory.
DROP INDEX archive_matches_by_start;

-- Few signals begin at one moment.
DROP INDEX archive_signals_by_begin;
CREATE INDEX archive_signals_by_begin ON archive_signals (began_us);

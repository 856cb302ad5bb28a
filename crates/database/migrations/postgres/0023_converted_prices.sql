-- What the steps of migration 21 have converted. It did so itself before it had steps.

DROP TABLE IF EXISTS archive_conversion;
DROP TABLE IF EXISTS archive_ticks;
DROP TABLE IF EXISTS archive_odds;

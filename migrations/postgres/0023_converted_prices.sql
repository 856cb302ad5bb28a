-- What the steps of migration 21 have converted.

DROP TABLE archive_conversion;
DROP TABLE archive_ticks;
DROP TABLE archive_odds;

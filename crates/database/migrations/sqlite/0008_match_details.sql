-- What lists of matches leave out of a record: prices, line-ups, players, shots. Without it a list of 200 matches
-- reads a fifth of the bytes. Null where the whole is still in `record`, as version 0.1 wrote it.
ALTER TABLE archive_matches ADD COLUMN detail TEXT;

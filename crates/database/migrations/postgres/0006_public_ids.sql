-- Every id that clients see is from 1 to 2147483647.

-- Which number was given to which digest of a provider's key, once and for ever.
CREATE TABLE public_ids (
    own BIGINT PRIMARY KEY,
    id  BIGINT NOT NULL UNIQUE
);

-- What clients know rows by; NULL in rows of before, until they are written again.
ALTER TABLE archive_odds ADD COLUMN public_id BIGINT;
CREATE UNIQUE INDEX archive_odds_by_public_id ON archive_odds (public_id);

ALTER TABLE archive_appearances ADD COLUMN public_id BIGINT;
CREATE UNIQUE INDEX archive_appearances_by_public_id ON archive_appearances (public_id);

-- Ids by which this provider's match names its sides and competition, each with the id by which the
-- match that it was found to be was showing them: a JSON array of pairs.
ALTER TABLE match_bindings ADD COLUMN aliases TEXT NOT NULL DEFAULT '[]';

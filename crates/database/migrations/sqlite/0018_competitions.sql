-- Pairs of competitions of two providers of which the operator said that they are one, or are not; the smaller id first.
CREATE TABLE match_competitions (
    one            INTEGER NOT NULL,
    other          INTEGER NOT NULL,
    one_provider   TEXT NOT NULL,
    one_name       TEXT NOT NULL,
    other_provider TEXT NOT NULL,
    other_name     TEXT NOT NULL,
    -- same or apart
    decision       TEXT NOT NULL,
    decided_us     INTEGER NOT NULL,
    PRIMARY KEY (one, other)
) STRICT, WITHOUT ROWID;

-- The competitions of a doubt, where feeds state them, and those of an order about competitions, whose names its keys are.
ALTER TABLE match_doubts ADD COLUMN one_competition_id INTEGER;
ALTER TABLE match_doubts ADD COLUMN other_competition_id INTEGER;
ALTER TABLE match_orders ADD COLUMN competition_id INTEGER;
ALTER TABLE match_orders ADD COLUMN with_competition_id INTEGER;

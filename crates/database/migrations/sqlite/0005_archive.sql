-- What has passed through the hub, kept. Ids are ours. Times are microseconds since the epoch, UTC.
-- Prices and lines are decimal texts: digits of prices as they were told, lines without needless zeros. `change` is the
-- number of the write, so that whoever keeps a copy in memory asks for what is newer than it has seen.

-- One row: the number of the last write. Who writes counts on here first and holds the row until it has
-- committed, so that numbers become visible in their order.
CREATE TABLE archive_counter (
    id     INTEGER PRIMARY KEY,
    change INTEGER NOT NULL
) STRICT;

INSERT INTO archive_counter (id, change) VALUES (1, 0);

-- A match; `record` is all of it as JSON, the columns beside it are what lists filter by and show.
CREATE TABLE archive_matches (
    id        INTEGER PRIMARY KEY,
    sport     TEXT NOT NULL,
    start_us  INTEGER,
    status    TEXT NOT NULL,
    -- The part of the record that lists need: JSON.
    brief     TEXT NOT NULL,
    record    TEXT NOT NULL,
    seen_us   INTEGER NOT NULL,
    change    INTEGER NOT NULL
) STRICT;

CREATE INDEX archive_matches_by_change ON archive_matches (change);
CREATE INDEX archive_matches_by_start ON archive_matches (start_us);

-- Whom and what matches are of: competitions, seasons, teams, players, managers, referees, venues.
CREATE TABLE archive_entities (
    id         INTEGER NOT NULL,
    sport      TEXT NOT NULL,
    -- competition, season, team, player, manager, referee, venue, horse, jockey, trainer
    kind       TEXT NOT NULL,
    name       TEXT NOT NULL,
    -- Of a season its competition, of a player the team played for last.
    parent     INTEGER,
    country    TEXT,
    -- What else is known: JSON.
    about      TEXT NOT NULL,
    change     INTEGER NOT NULL,
    PRIMARY KEY (kind, id)
) STRICT, WITHOUT ROWID;

CREATE INDEX archive_entities_by_change ON archive_entities (change);

-- A player in a football match: whether in the line-up, and what was counted.
CREATE TABLE archive_appearances (
    match_id  INTEGER NOT NULL,
    player    INTEGER NOT NULL,
    team      INTEGER NOT NULL,
    season    INTEGER,
    start_us  INTEGER,
    starter   INTEGER NOT NULL,
    -- Whether the player was on the pitch.
    played    INTEGER NOT NULL,
    position  TEXT,
    number    INTEGER,
    goals     INTEGER NOT NULL,
    assists   INTEGER NOT NULL,
    yellow    INTEGER NOT NULL,
    red       INTEGER NOT NULL,
    fouls     INTEGER NOT NULL,
    -- Counters by name: JSON.
    stats     TEXT NOT NULL,
    PRIMARY KEY (match_id, player)
) STRICT, WITHOUT ROWID;

CREATE INDEX archive_appearances_by_player ON archive_appearances (player, start_us);
CREATE INDEX archive_appearances_by_team ON archive_appearances (team, start_us);
CREATE INDEX archive_appearances_by_season ON archive_appearances (season, player);

-- One price of one bookmaker: how it opened, what it was, what it is.
CREATE TABLE archive_odds (
    id          INTEGER PRIMARY KEY,
    match_id    INTEGER NOT NULL,
    bookmaker   TEXT NOT NULL,
    market      TEXT NOT NULL,
    period      TEXT,
    line        TEXT,
    outcome     TEXT NOT NULL,
    opening     TEXT NOT NULL,
    opening_us  INTEGER NOT NULL,
    previous    TEXT,
    -- The last price that was on offer.
    price       TEXT NOT NULL,
    price_us    INTEGER NOT NULL,
    received_us INTEGER NOT NULL,
    -- Whether it can be taken now.
    is_open     INTEGER NOT NULL,
    -- Whether there is a price at all, be the market suspended or not.
    is_offered  INTEGER NOT NULL,
    in_play     INTEGER NOT NULL,
    -- When its last tick was, and when any of this was written last.
    ticked_us   INTEGER NOT NULL,
    updated_us  INTEGER NOT NULL
) STRICT;

CREATE INDEX archive_odds_by_match ON archive_odds (match_id);
CREATE INDEX archive_odds_by_update ON archive_odds (updated_us, id);

-- Every bookmaker of whom there is a price.
CREATE TABLE archive_bookmakers (
    slug   TEXT PRIMARY KEY,
    change INTEGER NOT NULL
) STRICT;

-- Every price that a row has had, at most one for each time that the archive was written.
CREATE TABLE archive_ticks (
    odds        INTEGER NOT NULL,
    at_us       INTEGER NOT NULL,
    received_us INTEGER NOT NULL,
    -- NULL: it was withdrawn.
    price       TEXT,
    PRIMARY KEY (odds, at_us)
) STRICT, WITHOUT ROWID;

CREATE INDEX archive_ticks_by_receipt ON archive_ticks (received_us);

-- What odds and play said.
CREATE TABLE archive_signals (
    id        INTEGER PRIMARY KEY,
    sport     TEXT NOT NULL,
    kind      TEXT NOT NULL,
    match_id  INTEGER NOT NULL,
    -- 0 to 100.
    strength  INTEGER NOT NULL,
    began_us  INTEGER NOT NULL,
    ended_us  INTEGER,
    -- The rest of it: JSON.
    about     TEXT NOT NULL
) STRICT;

CREATE INDEX archive_signals_by_begin ON archive_signals (began_us, id);

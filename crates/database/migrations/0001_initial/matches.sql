-- Tables about matches. Identifiers are the hub's own; prices and lines are decimal texts.

-- Sources ---

-- Keys with which sources push. They belong to no account, follow no channel, and each is valid for one source.
CREATE TABLE feed_keys (
    id          INTEGER PRIMARY KEY AUTOINCREMENT,
    source      TEXT NOT NULL,
    prefix      TEXT NOT NULL UNIQUE,
    hash        BLOB NOT NULL,
    -- Whether the source may send matches under other providers' keys as well.
    all_matches INTEGER NOT NULL,
    created_us  INTEGER NOT NULL,
    revoked_us  INTEGER,
    -- The deadline for pushes that state none, in milliseconds.
    deadline_ms INTEGER
) STRICT;

CREATE INDEX feed_keys_by_source ON feed_keys (source);

-- When the state of each source changed, and why; the last 100 changes of each.
CREATE TABLE source_states (
    id     INTEGER PRIMARY KEY AUTOINCREMENT,
    source TEXT NOT NULL,
    at_us  INTEGER NOT NULL,
    -- live, late, down or recovering
    state  TEXT NOT NULL,
    reason TEXT
) STRICT;

CREATE INDEX source_states_by_source ON source_states (source, id);

-- How far a source has read, in its own terms, with the time of its last message that the hub has.
CREATE TABLE source_positions (
    source   TEXT PRIMARY KEY,
    position TEXT NOT NULL,
    last_us  INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Identity: which matches of several providers are one match ---
-- Identifiers are digests of a provider and its key; the texts beside them are for people to read.

-- The public number of each digest, from 1 to 2147483647, assigned once.
CREATE TABLE public_ids (
    own INTEGER PRIMARY KEY,
    id  INTEGER NOT NULL UNIQUE
) STRICT;

-- Matches that are followed under another identifier than their own.
CREATE TABLE match_bindings (
    own           INTEGER PRIMARY KEY,
    provider      TEXT NOT NULL,
    key           TEXT NOT NULL,
    match_id      INTEGER NOT NULL,
    swapped       INTEGER NOT NULL,
    -- rule or operator
    bound_by      TEXT NOT NULL,
    sides         TEXT NOT NULL,
    start         TEXT NOT NULL,
    competition   TEXT NOT NULL,
    -- The match that it was found to be, where that is known.
    with_own      INTEGER,
    with_provider TEXT,
    with_key      TEXT,
    bound_us      INTEGER NOT NULL,
    -- Identifiers of this provider's sides and competition, each with the one that the other match showed: a JSON array
    -- of pairs.
    aliases       TEXT NOT NULL DEFAULT '[]'
) STRICT;

CREATE INDEX match_bindings_by_match ON match_bindings (match_id);

-- Pairs that are never one match; the smaller identifier first.
CREATE TABLE match_splits (
    one      INTEGER NOT NULL,
    other    INTEGER NOT NULL,
    split_us INTEGER NOT NULL,
    PRIMARY KEY (one, other)
) STRICT, WITHOUT ROWID;

-- Pairs that may be one match. The lowest number is the oldest, and is deleted first when there are too many.
CREATE TABLE match_doubts (
    id                   INTEGER PRIMARY KEY,
    one                  INTEGER NOT NULL,
    other                INTEGER NOT NULL,
    swapped              INTEGER NOT NULL,
    score                REAL NOT NULL,
    why                  TEXT NOT NULL,
    one_provider         TEXT NOT NULL,
    one_key              TEXT NOT NULL,
    one_sides            TEXT NOT NULL,
    one_start            TEXT NOT NULL,
    one_competition      TEXT NOT NULL,
    other_provider       TEXT NOT NULL,
    other_key            TEXT NOT NULL,
    other_sides          TEXT NOT NULL,
    other_start          TEXT NOT NULL,
    other_competition    TEXT NOT NULL,
    doubted_us           INTEGER NOT NULL,
    -- The competitions, where feeds state them.
    one_competition_id   INTEGER,
    other_competition_id INTEGER,
    UNIQUE (one, other)
) STRICT;

CREATE INDEX match_doubts_by_other ON match_doubts (other);

-- Decisions of the operator. A running hub asks for those after the last one that it has seen.
CREATE TABLE match_orders (
    id                  INTEGER PRIMARY KEY AUTOINCREMENT,
    -- join or split
    kind                TEXT NOT NULL,
    provider            TEXT NOT NULL,
    key                 TEXT NOT NULL,
    into_id             INTEGER,
    swapped             INTEGER NOT NULL,
    -- How the operator named the other one, unless by its identifier.
    with_provider       TEXT,
    with_key            TEXT,
    ordered_us          INTEGER NOT NULL,
    -- When a hub processed it, and why it refused.
    done_us             INTEGER,
    refused             TEXT,
    -- In orders about competitions, whose keys are their names.
    competition_id      INTEGER,
    with_competition_id INTEGER
) STRICT;

CREATE INDEX match_orders_waiting ON match_orders (id) WHERE done_us IS NULL;

-- Pairs of competitions of two providers that the operator has decided; the smaller identifier first.
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

-- Archive: what has passed through the hub ---
-- `change` is the number of the write: a copy in memory asks for what is newer than it has seen.

-- One row: the number of the last write. Writers count here first and hold the row until they have committed, so that
-- numbers become visible in their order.
CREATE TABLE archive_counter (
    id     INTEGER PRIMARY KEY,
    change INTEGER NOT NULL
) STRICT;

INSERT INTO archive_counter (id, change) VALUES (1, 0);

-- Matches, in three compressed documents (zstd): a summary for lists, an outline, and the rest. SQLite stores rows in
-- order of insertion because `id` is no primary key: matches that are written together lie together.
CREATE TABLE archive_matches (
    id             INTEGER NOT NULL UNIQUE,
    sport          TEXT NOT NULL,
    start_us       INTEGER,
    status         TEXT NOT NULL,
    seen_us        INTEGER NOT NULL,
    change         INTEGER NOT NULL,
    packed_detail  BLOB NOT NULL,
    packed_summary BLOB NOT NULL,
    packed_outline BLOB NOT NULL
) STRICT;

CREATE INDEX archive_matches_by_change ON archive_matches (change);

-- Competitions, seasons, teams, players, managers, referees, venues, horses, jockeys, trainers.
CREATE TABLE archive_entities (
    id      INTEGER NOT NULL,
    sport   TEXT NOT NULL,
    -- competition, season, team, player, manager, referee, venue, horse, jockey, trainer
    kind    TEXT NOT NULL,
    name    TEXT NOT NULL,
    -- Of a season its competition, of a player the team played for last.
    parent  INTEGER,
    country TEXT,
    -- Other fields: JSON.
    about   TEXT NOT NULL,
    change  INTEGER NOT NULL,
    PRIMARY KEY (kind, id)
) STRICT, WITHOUT ROWID;

CREATE INDEX archive_entities_by_change ON archive_entities (change);

-- Players in football matches: whether in the line-up, and their counters. An index of those with a row in statistics,
-- the latest match first, differs between the databases.
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
    public_id INTEGER,
    PRIMARY KEY (match_id, player)
) STRICT, WITHOUT ROWID;

CREATE INDEX archive_appearances_by_player ON archive_appearances (player, start_us);
CREATE UNIQUE INDEX archive_appearances_by_public_id ON archive_appearances (public_id);

-- The current prices of each match, in compressed columns of JSON: how they opened, what they were, what they are.
CREATE TABLE archive_prices (
    match_id   INTEGER NOT NULL UNIQUE,
    -- How many there are, how many of them are of the whole match, and of these of the consensus.
    total      INTEGER NOT NULL,
    whole      INTEGER NOT NULL,
    consensus  INTEGER NOT NULL,
    -- When the first and the last of them was written.
    oldest_us  INTEGER NOT NULL,
    updated_us INTEGER NOT NULL,
    prices     BLOB NOT NULL
) STRICT;

-- The history of prices: blocks of a few hundred ticks that were received within a day, at most one tick for each price
-- and write of the archive. New ones are added to the block with the greatest number until it is full.
CREATE TABLE archive_trails (
    match_id INTEGER NOT NULL,
    number   INTEGER NOT NULL,
    -- When the first and the last were received.
    from_us  INTEGER NOT NULL,
    until_us INTEGER NOT NULL,
    ticks    BLOB NOT NULL,
    PRIMARY KEY (match_id, number)
) STRICT;

CREATE INDEX archive_trails_by_receipt ON archive_trails (from_us);

-- Every bookmaker that has had a price.
CREATE TABLE archive_bookmakers (
    slug   TEXT PRIMARY KEY,
    change INTEGER NOT NULL
) STRICT;

-- Signals from odds and play.
CREATE TABLE archive_signals (
    id       INTEGER PRIMARY KEY,
    sport    TEXT NOT NULL,
    kind     TEXT NOT NULL,
    match_id INTEGER NOT NULL,
    -- 0 to 100.
    strength INTEGER NOT NULL,
    began_us INTEGER NOT NULL,
    ended_us INTEGER,
    -- Other fields: a compressed document (zstd).
    packed   BLOB NOT NULL
) STRICT;

CREATE INDEX archive_signals_by_begin ON archive_signals (began_us);

-- Points deducted from teams in competitions of football, entered by an operator.
CREATE TABLE deductions (
    id          INTEGER PRIMARY KEY,
    -- Named as in the settings.
    competition TEXT NOT NULL,
    season      TEXT NOT NULL,
    team        TEXT NOT NULL,
    points      INTEGER NOT NULL,
    -- As text, `2020-07-14`.
    date        TEXT,
    reason      TEXT,
    entered_us  INTEGER NOT NULL
) STRICT;

-- When the state of each source changed, and why; the last 100 changes of each.
CREATE TABLE source_states (
    id     INTEGER PRIMARY KEY AUTOINCREMENT,
    source TEXT NOT NULL,
    at_us  INTEGER NOT NULL,
    -- 'live', 'late', 'down' or 'recovering'.
    state  TEXT NOT NULL,
    reason TEXT
) STRICT;

CREATE INDEX source_states_by_source ON source_states (source, id);

-- How far a source has read, by its own account, with the time of its last message that the hub has.
CREATE TABLE source_positions (
    source   TEXT PRIMARY KEY,
    position TEXT NOT NULL,
    last_us  INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

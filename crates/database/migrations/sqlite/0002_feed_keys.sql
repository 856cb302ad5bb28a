-- Keys by which sources push what they have. They belong to no account, follow no channel, and each
-- is good for the one source that it names. Times are microseconds since the epoch, UTC.
CREATE TABLE feed_keys (
    id          INTEGER PRIMARY KEY AUTOINCREMENT,
    source      TEXT NOT NULL,
    prefix      TEXT NOT NULL UNIQUE,
    hash        BLOB NOT NULL,
    -- Whether the source may speak of matches under other providers' keys as well.
    all_matches INTEGER NOT NULL,
    created_us  INTEGER NOT NULL,
    revoked_us  INTEGER
) STRICT;

CREATE INDEX feed_keys_by_source ON feed_keys (source);

-- Accounts, their keys and what they have paid for. Times are microseconds since the epoch, UTC.

-- AUTOINCREMENT, here and for keys, because ids are held outside of the database and must not come
-- back with another meaning after a deletion.
CREATE TABLE accounts (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    -- An operator's key may belong to nobody in particular. Addresses that differ only in case
    -- reach the same person, so they are the same account.
    email      TEXT COLLATE NOCASE UNIQUE,
    created_us INTEGER NOT NULL
) STRICT;

CREATE TABLE addons (
    account_id INTEGER NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
    addon      TEXT NOT NULL,
    expires_us INTEGER NOT NULL,
    PRIMARY KEY (account_id, addon)
) STRICT, WITHOUT ROWID;

CREATE TABLE keys (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    account_id INTEGER NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
    prefix     TEXT NOT NULL UNIQUE,
    hash       BLOB NOT NULL,
    created_us INTEGER NOT NULL,
    revoked_us INTEGER,
    -- The number of the last change that a holder of this key must be told of; 0 for none so far.
    changed    INTEGER NOT NULL DEFAULT 0
) STRICT;

CREATE INDEX keys_by_account ON keys (account_id);
CREATE INDEX keys_by_change ON keys (changed);

CREATE TABLE meta (
    name  TEXT PRIMARY KEY,
    value TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- Changes are numbered by triggers, so that no writer can forget to, not even an operator with the
-- sqlite3 shell. The counter has its own table because the highest number in `keys` goes down when
-- its row is deleted. A deleted key tells nobody: revoke it first.
CREATE TABLE changes (
    latest INTEGER NOT NULL
) STRICT;

INSERT INTO changes (latest) VALUES (0);

CREATE TRIGGER key_revoked AFTER UPDATE OF revoked_us ON keys
BEGIN
    UPDATE changes SET latest = latest + 1;
    UPDATE keys SET changed = (SELECT latest FROM changes) WHERE id = NEW.id;
END;

CREATE TRIGGER addon_added AFTER INSERT ON addons
BEGIN
    UPDATE changes SET latest = latest + 1;
    UPDATE keys SET changed = (SELECT latest FROM changes) WHERE account_id = NEW.account_id;
END;

CREATE TRIGGER addon_moved AFTER UPDATE OF expires_us ON addons
BEGIN
    UPDATE changes SET latest = latest + 1;
    UPDATE keys SET changed = (SELECT latest FROM changes) WHERE account_id = NEW.account_id;
END;

CREATE TRIGGER addon_removed AFTER DELETE ON addons
BEGIN
    UPDATE changes SET latest = latest + 1;
    UPDATE keys SET changed = (SELECT latest FROM changes) WHERE account_id = OLD.account_id;
END;

-- One row for each key and add-on; one row with an empty add-on for a key that has none.
CREATE VIEW key_addons AS
SELECT keys.id AS key_id,
       keys.account_id,
       accounts.email,
       keys.prefix,
       keys.hash,
       keys.created_us,
       keys.revoked_us,
       addons.addon,
       addons.expires_us
FROM keys
JOIN accounts ON accounts.id = keys.account_id
LEFT JOIN addons ON addons.account_id = keys.account_id;

-- For SQLite, after the files for both databases. Programs poll for changes.

CREATE INDEX archive_appearances_by_start ON archive_appearances (start_us DESC, match_id)
WHERE played = 1 OR yellow + red > 0;

-- Changes of keys and their accounts get a number: see `changes`.

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

CREATE TRIGGER account_blocked AFTER UPDATE OF blocked_us ON accounts
BEGIN
    UPDATE changes SET latest = latest + 1;
    UPDATE keys SET changed = (SELECT latest FROM changes) WHERE account_id = NEW.id;
END;

CREATE TRIGGER account_zone AFTER UPDATE OF time_zone ON accounts
BEGIN
    UPDATE changes SET latest = latest + 1;
    UPDATE keys SET changed = (SELECT latest FROM changes) WHERE account_id = NEW.id;
END;

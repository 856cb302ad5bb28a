-- The IANA name of the time zone in which a customer means days; empty for UTC. Keys carry it.
ALTER TABLE accounts ADD COLUMN time_zone TEXT;

CREATE TRIGGER account_zone AFTER UPDATE OF time_zone ON accounts
BEGIN
    UPDATE changes SET latest = latest + 1;
    UPDATE keys SET changed = (SELECT latest FROM changes) WHERE account_id = NEW.id;
END;

DROP VIEW key_addons;

-- One row for each key and add-on; one row with an empty add-on for a key that has none.
CREATE VIEW key_addons AS
SELECT keys.id AS key_id,
       keys.account_id,
       accounts.email,
       keys.prefix,
       keys.hash,
       keys.created_us,
       keys.revoked_us,
       keys.is_grant,
       keys.name,
       keys.scopes,
       keys.networks,
       keys.ends_us,
       accounts.blocked_us,
       accounts.time_zone,
       addons.addon,
       addons.expires_us
FROM keys
JOIN accounts ON accounts.id = keys.account_id
LEFT JOIN addons ON addons.account_id = keys.account_id;

-- Players with a row in statistics, the latest match first: those on the pitch, and those booked on the bench.
DROP INDEX archive_appearances_by_start;
CREATE INDEX archive_appearances_by_start ON archive_appearances (start_us DESC, match_id)
WHERE played = 1 OR yellow + red > 0;

-- Named keys, of which an account has several: each has a name, and may be limited. The main key of an account has no name.
ALTER TABLE keys ADD COLUMN name TEXT;
-- Names of scopes, and networks in CIDR notation, separated by spaces. No networks: any address.
ALTER TABLE keys ADD COLUMN scopes TEXT NOT NULL DEFAULT '';
ALTER TABLE keys ADD COLUMN networks TEXT NOT NULL DEFAULT '';
-- The end of the key; empty for one that does not end.
ALTER TABLE keys ADD COLUMN ends_us INTEGER;

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
       addons.addon,
       addons.expires_us
FROM keys
JOIN accounts ON accounts.id = keys.account_id
LEFT JOIN addons ON addons.account_id = keys.account_id;

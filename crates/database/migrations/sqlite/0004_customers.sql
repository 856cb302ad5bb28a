-- What it takes to have customers: log-in, links by mail, sessions, orders, a ledger, usage, and who
-- operates the service. Times are microseconds since the epoch, UTC; amounts are decimal text.

-- Addresses are stored in lower case, so that they compare alike in every database.
UPDATE accounts SET email = lower(email);

-- Argon2id, in PHC form.
ALTER TABLE accounts ADD COLUMN password TEXT;
-- When the address was confirmed. Until then the account is inactive and has no key.
ALTER TABLE accounts ADD COLUMN active_us INTEGER;
ALTER TABLE accounts ADD COLUMN blocked_us INTEGER;
-- When the Founder badge was granted.
ALTER TABLE accounts ADD COLUMN founder_us INTEGER;
-- How many mails were asked for in the hour that began then, for the limit.
ALTER TABLE accounts ADD COLUMN asked_us INTEGER;
ALTER TABLE accounts ADD COLUMN asked INTEGER NOT NULL DEFAULT 0;
-- A deleted account keeps its row, without address and password, because the ledger speaks of it.
ALTER TABLE accounts ADD COLUMN deleted_us INTEGER;

UPDATE accounts SET active_us = created_us;

CREATE INDEX accounts_unconfirmed ON accounts (created_us) WHERE active_us IS NULL;

CREATE TRIGGER account_blocked AFTER UPDATE OF blocked_us ON accounts
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
       accounts.blocked_us,
       addons.addon,
       addons.expires_us
FROM keys
JOIN accounts ON accounts.id = keys.account_id
LEFT JOIN addons ON addons.account_id = keys.account_id;

-- Links that were or will be sent by mail. The link itself is not here: it is signed with a secret.
CREATE TABLE links (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    account_id INTEGER NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
    -- verify, reset or email
    kind       TEXT NOT NULL,
    -- What takes effect when the link is followed: the password hash of a registration, the new
    -- address of a change.
    password   TEXT,
    email      TEXT,
    -- The hash of the cookie of the browser that asked for it, which it may log in.
    visitor    BLOB,
    created_us INTEGER NOT NULL,
    expires_us INTEGER NOT NULL,
    used_us    INTEGER
) STRICT;

CREATE INDEX links_by_account ON links (account_id, kind);

-- Who operates the service. They are no customers: another table, another cookie.
CREATE TABLE admins (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    name       TEXT NOT NULL UNIQUE,
    password   TEXT NOT NULL,
    created_us INTEGER NOT NULL
) STRICT;

CREATE TABLE sessions (
    -- SHA-256 of the cookie's secret.
    hash       BLOB PRIMARY KEY,
    -- One of the two.
    account_id INTEGER REFERENCES accounts (id) ON DELETE CASCADE,
    admin_id   INTEGER REFERENCES admins (id) ON DELETE CASCADE,
    created_us INTEGER NOT NULL,
    seen_us    INTEGER NOT NULL,
    expires_us INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX sessions_by_account ON sessions (account_id);
CREATE INDEX sessions_by_expiry ON sessions (expires_us);

-- Mail that waits, and what became of it. Bodies are written when it is sent, so no link lies here.
CREATE TABLE mails (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    address    TEXT NOT NULL,
    -- Which text it is.
    kind       TEXT NOT NULL,
    link_id    INTEGER REFERENCES links (id) ON DELETE CASCADE,
    created_us INTEGER NOT NULL,
    attempts   INTEGER NOT NULL DEFAULT 0,
    -- When to try next.
    next_us    INTEGER NOT NULL,
    sent_us    INTEGER,
    -- When it was given up, and what was said last.
    failed_us  INTEGER,
    error      TEXT
) STRICT;

CREATE INDEX mails_waiting ON mails (next_us) WHERE sent_us IS NULL AND failed_us IS NULL;

-- What a customer wants to buy, and what the provider has said of it since. Facts only ever grow, so
-- that it does not matter in which order and how often they come.
CREATE TABLE orders (
    -- Random, and told to the provider.
    id            TEXT PRIMARY KEY,
    account_id    INTEGER NOT NULL REFERENCES accounts (id),
    -- card or paypal
    rail          TEXT NOT NULL,
    addon         TEXT NOT NULL,
    months        INTEGER NOT NULL,
    days          INTEGER NOT NULL,
    amount        TEXT NOT NULL,
    currency      TEXT NOT NULL,
    founder       INTEGER NOT NULL,
    created_us    INTEGER NOT NULL,
    -- The provider's name for the checkout, where the customer pays, and its name for the payment.
    checkout_ref  TEXT,
    checkout_url  TEXT,
    payment_ref   TEXT,
    paid_us       INTEGER,
    -- In all, so far.
    refunded      TEXT NOT NULL DEFAULT '0',
    closed_us     INTEGER,
    -- When the provider was last asked about it, while it was open.
    asked_us      INTEGER,
    -- The days that the ledger has granted for it, less those taken back.
    days_granted  INTEGER NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;

CREATE INDEX orders_by_account ON orders (account_id, created_us);
CREATE UNIQUE INDEX orders_by_checkout ON orders (rail, checkout_ref);
CREATE INDEX orders_by_payment ON orders (rail, payment_ref);
CREATE INDEX orders_open ON orders (account_id) WHERE paid_us IS NULL AND closed_us IS NULL;

-- Every day that was ever granted or taken back, and why. Only ever added to.
CREATE TABLE ledger (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    account_id INTEGER NOT NULL REFERENCES accounts (id),
    addon      TEXT NOT NULL,
    order_id   TEXT REFERENCES orders (id),
    -- purchase, refund or gift
    kind       TEXT NOT NULL,
    days       INTEGER NOT NULL,
    amount     TEXT NOT NULL,
    currency   TEXT NOT NULL,
    -- The end of the add-on then.
    expires_us INTEGER NOT NULL,
    note       TEXT NOT NULL,
    at_us      INTEGER NOT NULL
) STRICT;

CREATE INDEX ledger_by_account ON ledger (account_id, id);
CREATE INDEX ledger_by_order ON ledger (order_id);

-- What providers have told, once each.
CREATE TABLE webhooks (
    rail        TEXT NOT NULL,
    event_id    TEXT NOT NULL,
    kind        TEXT NOT NULL,
    order_id    TEXT,
    outcome     TEXT NOT NULL,
    received_us INTEGER NOT NULL,
    PRIMARY KEY (rail, event_id)
) STRICT, WITHOUT ROWID;

-- What accounts have used, by product and day.
CREATE TABLE usage (
    account_id INTEGER NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
    product    TEXT NOT NULL,
    -- Days since the epoch, UTC.
    day        INTEGER NOT NULL,
    calls      INTEGER NOT NULL,
    mcp_calls  INTEGER NOT NULL,
    socket_ms  INTEGER NOT NULL,
    messages   INTEGER NOT NULL,
    PRIMARY KEY (account_id, product, day)
) STRICT, WITHOUT ROWID;

CREATE INDEX usage_by_day ON usage (day);

-- The last time that each process wrote to it: tells a write whose answer was lost whether it took
-- place.
CREATE TABLE usage_flushes (
    -- Random, each process its own.
    writer INTEGER PRIMARY KEY,
    flush  INTEGER NOT NULL,
    -- Days since the epoch, UTC.
    day    INTEGER NOT NULL
) STRICT;

-- Customers' tables. All files but `sqlite.sql` and `postgres.sql` are in the dialect of SQLite; `migrations.rs` replaces the
-- names of types for PostgreSQL. Columns `…_us` are microseconds since the epoch, UTC; a `day` counts days since the epoch,
-- UTC. Amounts are decimal texts.

-- Accounts and what they have paid for ---

-- Customers. AUTOINCREMENT, here and elsewhere, because identifiers are held outside of the database and must not come
-- back with another meaning after a deletion.
CREATE TABLE accounts (
    id             INTEGER PRIMARY KEY AUTOINCREMENT,
    -- In lower case. NULL for operators' keys without an address, and for deleted accounts.
    email          TEXT COLLATE NOCASE UNIQUE,
    created_us     INTEGER NOT NULL,
    -- Argon2id, in PHC form.
    password       TEXT,
    -- When the address was confirmed. Until then the account is inactive and has no key.
    active_us      INTEGER,
    blocked_us     INTEGER,
    -- When the Founder badge was granted.
    founder_us     INTEGER,
    -- How many mails strangers asked for in the hour that began then, for the limit.
    asked_us       INTEGER,
    asked          INTEGER NOT NULL DEFAULT 0,
    -- A deleted account keeps its row, without address and password, because the ledger refers to it.
    deleted_us     INTEGER,
    -- As `asked`, for browsers that are known to the account: strangers cannot use up what its owner may ask for.
    owner_asked_us INTEGER,
    owner_asked    INTEGER NOT NULL DEFAULT 0,
    -- When its owner was last told that somebody registered the address once more.
    noticed_us     INTEGER,
    -- The country that the customer named, as a code of ISO 3166-1.
    country        TEXT,
    -- The IANA name of the time zone in which the customer means days; NULL for UTC.
    time_zone      TEXT
) STRICT;

CREATE INDEX accounts_unconfirmed ON accounts (created_us) WHERE active_us IS NULL;

-- The add-ons of accounts and when they end.
CREATE TABLE addons (
    account_id INTEGER NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
    addon      TEXT NOT NULL,
    expires_us INTEGER NOT NULL,
    PRIMARY KEY (account_id, addon)
) STRICT, WITHOUT ROWID;

-- API keys: the main key of an account, its named keys, and grants of OAuth.
CREATE TABLE keys (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    account_id INTEGER NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
    prefix     TEXT NOT NULL UNIQUE,
    hash       BLOB NOT NULL,
    created_us INTEGER NOT NULL,
    revoked_us INTEGER,
    -- The number of the last change that the holders of this key must learn; 0 for none so far.
    changed    INTEGER NOT NULL DEFAULT 0,
    -- Whether it is a grant of OAuth: its `hash` matches no key.
    is_grant   INTEGER NOT NULL DEFAULT 0,
    -- NULL for the main key.
    name       TEXT,
    -- Names of scopes, and networks in CIDR notation, separated by spaces. No networks: any address.
    scopes     TEXT NOT NULL DEFAULT '',
    networks   TEXT NOT NULL DEFAULT '',
    -- NULL for a key without an end.
    ends_us    INTEGER
) STRICT;

CREATE INDEX keys_by_account ON keys (account_id);
CREATE INDEX keys_by_change ON keys (changed);

-- The number of the last change of a key or its account. Triggers count, so that no writer can forget to, not even an
-- operator with a shell. It has a table of its own because the highest number in `keys` falls when its row is deleted.
-- The deletion of a key is no change: revoke it first. PostgreSQL locks the one row until the writer commits, so that
-- numbers become visible in their order.
CREATE TABLE changes (
    latest INTEGER NOT NULL
) STRICT;

INSERT INTO changes (latest) VALUES (0);

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

-- Applications that customers have connected by OAuth. Each grant is a row of `keys`, so that whatever revokes or changes
-- keys covers grants and reaches the caches in the same way.
CREATE TABLE oauth_grants (
    key_id            INTEGER PRIMARY KEY REFERENCES keys (id) ON DELETE CASCADE,
    -- The URL of the client's metadata document, and the name in it at the time of consent.
    client_id         TEXT NOT NULL,
    client_name       TEXT NOT NULL,
    redirect_uri      TEXT NOT NULL,
    -- The product whose MCP server accepts the tokens.
    audience          TEXT NOT NULL,
    -- Names of scopes, separated by spaces: those granted, and those of the current access token.
    scopes            TEXT NOT NULL,
    access_scopes     TEXT NOT NULL,
    -- Keyed hashes; of the refresh token also that of the part that all tokens of the grant share.
    code_hash         BLOB NOT NULL,
    code_challenge    TEXT NOT NULL,
    code_used_us      INTEGER,
    access_hash       BLOB,
    access_expires_us INTEGER,
    family_hash       BLOB,
    refresh_hash      BLOB,
    -- The end of the code; once that is used, of the refresh token.
    ends_us           INTEGER NOT NULL,
    -- When a token was last used, to the minute.
    used_us           INTEGER NOT NULL
) STRICT;

CREATE INDEX oauth_grants_by_end ON oauth_grants (ends_us);

-- Links that were or will be sent by mail. The link itself is not stored: it is signed with a secret.
CREATE TABLE links (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    account_id INTEGER NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
    -- verify, reset or email
    kind       TEXT NOT NULL,
    -- What takes effect when the link is followed: the password hash of a registration, the new address of a change.
    password   TEXT,
    email      TEXT,
    -- The hash of the cookie of the browser that asked for it, which it may log in.
    visitor    BLOB,
    created_us INTEGER NOT NULL,
    expires_us INTEGER NOT NULL,
    used_us    INTEGER
) STRICT;

CREATE INDEX links_by_account ON links (account_id, kind);

-- Mail that waits, and what became of it. Bodies are written when it is sent, so no link is stored here.
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
    -- When it was given up, and the last error.
    failed_us  INTEGER,
    error      TEXT,
    -- Values for the text, for kinds that need them: the receipt of a payment, as JSON.
    content    TEXT
) STRICT;

CREATE INDEX mails_waiting ON mails (next_us) WHERE sent_us IS NULL AND failed_us IS NULL;

-- Operators of the service. They are no customers: another table, another cookie.
CREATE TABLE admins (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    name       TEXT NOT NULL UNIQUE,
    password   TEXT NOT NULL,
    created_us INTEGER NOT NULL
) STRICT;

-- Sessions of browsers, each of a customer or of an operator.
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

-- Payments ---

-- What customers want to buy, and what the provider has reported since. Facts are only ever added, so that their order
-- and repetition do not matter.
CREATE TABLE orders (
    -- Random, and sent to the provider.
    id           TEXT PRIMARY KEY,
    account_id   INTEGER NOT NULL REFERENCES accounts (id),
    -- card or paypal
    rail         TEXT NOT NULL,
    addon        TEXT NOT NULL,
    months       INTEGER NOT NULL,
    days         INTEGER NOT NULL,
    amount       TEXT NOT NULL,
    currency     TEXT NOT NULL,
    founder      INTEGER NOT NULL,
    created_us   INTEGER NOT NULL,
    -- The provider's name for the checkout, where the customer pays, and its name for the payment.
    checkout_ref TEXT,
    checkout_url TEXT,
    payment_ref  TEXT,
    paid_us      INTEGER,
    -- In all, so far.
    refunded     TEXT NOT NULL DEFAULT '0',
    closed_us    INTEGER,
    -- When the provider was last asked about it, while it was open.
    asked_us     INTEGER,
    -- The days that the ledger has granted for it, less those taken back.
    days_granted INTEGER NOT NULL DEFAULT 0,
    -- The country of the customer then, and the tax that the price includes, in percent.
    country      TEXT,
    tax_percent  TEXT
) STRICT, WITHOUT ROWID;

CREATE INDEX orders_by_account ON orders (account_id, created_us);
CREATE UNIQUE INDEX orders_by_checkout ON orders (rail, checkout_ref);
CREATE INDEX orders_by_payment ON orders (rail, payment_ref);
CREATE INDEX orders_open ON orders (account_id) WHERE paid_us IS NULL AND closed_us IS NULL;

-- Every day that was ever granted or taken back, and why. Rows are only added.
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

-- Events that payment providers have sent, once each.
CREATE TABLE webhooks (
    rail        TEXT NOT NULL,
    event_id    TEXT NOT NULL,
    kind        TEXT NOT NULL,
    order_id    TEXT,
    outcome     TEXT NOT NULL,
    received_us INTEGER NOT NULL,
    PRIMARY KEY (rail, event_id)
) STRICT, WITHOUT ROWID;

-- Usage ---

-- What accounts have used, by product and day.
CREATE TABLE usage (
    account_id INTEGER NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
    product    TEXT NOT NULL,
    day        INTEGER NOT NULL,
    calls      INTEGER NOT NULL,
    mcp_calls  INTEGER NOT NULL,
    socket_ms  INTEGER NOT NULL,
    messages   INTEGER NOT NULL,
    PRIMARY KEY (account_id, product, day)
) STRICT, WITHOUT ROWID;

CREATE INDEX usage_by_day ON usage (day);

-- The last write of each process to `usage`: whether a write took effect whose answer was lost.
CREATE TABLE usage_flushes (
    -- Random, each process its own.
    writer INTEGER PRIMARY KEY,
    flush  INTEGER NOT NULL,
    day    INTEGER NOT NULL
) STRICT;

-- The part of each account's daily quota that the nodes of a cluster have taken, for the calls that they have admitted and
-- those that they may still admit.
CREATE TABLE quota_leases (
    account_id INTEGER NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
    product    TEXT NOT NULL,
    day        INTEGER NOT NULL,
    -- Calls of all nodes together, and of the last lease.
    leased     INTEGER NOT NULL,
    last_lease INTEGER NOT NULL,
    PRIMARY KEY (account_id, product, day)
) STRICT, WITHOUT ROWID;

CREATE INDEX quota_leases_by_day ON quota_leases (day);

-- Customers' webhooks ---

-- What customers want to have sent to a URL of theirs. The secret that signs it is not stored: it is derived from the
-- secret of the server, the row, and the generation.
CREATE TABLE customer_webhooks (
    id           INTEGER PRIMARY KEY AUTOINCREMENT,
    account_id   INTEGER NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
    url          TEXT NOT NULL,
    -- Kinds of events, and names and patterns of channels, separated by spaces. No channels: all.
    events       TEXT NOT NULL,
    channels     TEXT NOT NULL,
    -- Rises with each rotation of the secret.
    generation   INTEGER NOT NULL DEFAULT 1,
    rotated_us   INTEGER,
    -- Rises with each change that the hub must notice.
    version      INTEGER NOT NULL DEFAULT 1,
    created_us   INTEGER NOT NULL,
    -- It gets the events from then on: since it was created, or enabled again.
    active_us    INTEGER NOT NULL,
    -- Failed attempts since the last that succeeded, the time of the first of them, and until when none is made.
    failures     INTEGER NOT NULL DEFAULT 0,
    failing_us   INTEGER,
    paused_us    INTEGER NOT NULL DEFAULT 0,
    -- Deliveries that were dropped because too many were waiting.
    dropped      INTEGER NOT NULL DEFAULT 0,
    disabled_us  INTEGER,
    disabled_why TEXT,
    -- Conditions on prices: one in each line, `match_winner home >= 2.5`.
    prices       TEXT NOT NULL DEFAULT ''
) STRICT;

CREATE INDEX customer_webhooks_by_account ON customer_webhooks (account_id);

-- The conditions on prices that are met, as text, in each channel.
CREATE TABLE webhook_prices (
    webhook_id INTEGER NOT NULL REFERENCES customer_webhooks (id) ON DELETE CASCADE,
    condition  TEXT NOT NULL,
    channel    TEXT NOT NULL,
    since_us   INTEGER NOT NULL,
    PRIMARY KEY (webhook_id, condition, channel)
) STRICT;

-- Deliveries: those that wait, and the log of those that are done.
CREATE TABLE webhook_deliveries (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    webhook_id INTEGER NOT NULL REFERENCES customer_webhooks (id) ON DELETE CASCADE,
    -- The same for all attempts, and for the same event of a record that is read again.
    message_id TEXT NOT NULL,
    kind       TEXT NOT NULL,
    channel    TEXT NOT NULL,
    eid        TEXT NOT NULL,
    body       TEXT NOT NULL,
    created_us INTEGER NOT NULL,
    attempts   INTEGER NOT NULL DEFAULT 0,
    -- When to try next.
    next_us    INTEGER NOT NULL,
    -- The answer to the last attempt, or why there was none.
    status     INTEGER,
    error      TEXT,
    -- When and how it ended: delivered, failed, dropped.
    done_us    INTEGER,
    outcome    TEXT
) STRICT;

CREATE UNIQUE INDEX webhook_deliveries_by_message ON webhook_deliveries (webhook_id, message_id);
CREATE INDEX webhook_deliveries_waiting ON webhook_deliveries (webhook_id, next_us) WHERE done_us IS NULL;
CREATE INDEX webhook_deliveries_by_webhook ON webhook_deliveries (webhook_id, id);
CREATE INDEX webhook_deliveries_by_age ON webhook_deliveries (created_us);

-- The last record of the log whose events are among the deliveries.
CREATE TABLE webhook_position (
    id     INTEGER PRIMARY KEY,
    record INTEGER NOT NULL,
    at_us  INTEGER NOT NULL
) STRICT;

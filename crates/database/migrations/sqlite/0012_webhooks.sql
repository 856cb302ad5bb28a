-- Webhooks: what customers want to have sent to a URL of theirs. The secret that signs it is not here: it follows from the
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
    disabled_why TEXT
) STRICT;

CREATE INDEX customer_webhooks_by_account ON customer_webhooks (account_id);

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

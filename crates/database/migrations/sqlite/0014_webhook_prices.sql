-- Conditions on prices: one in each line, `match_winner home >= 2.5`.
ALTER TABLE customer_webhooks ADD COLUMN prices TEXT NOT NULL DEFAULT '';

-- The conditions that are met, as text, in each channel.
CREATE TABLE webhook_prices (
    webhook_id INTEGER NOT NULL REFERENCES customer_webhooks (id) ON DELETE CASCADE,
    condition  TEXT NOT NULL,
    channel    TEXT NOT NULL,
    since_us   INTEGER NOT NULL,
    PRIMARY KEY (webhook_id, condition, channel)
) STRICT;

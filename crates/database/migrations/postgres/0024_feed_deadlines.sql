-- The deadline that a feed key states for pushes that state none, in milliseconds.
ALTER TABLE feed_keys ADD COLUMN deadline_ms BIGINT;

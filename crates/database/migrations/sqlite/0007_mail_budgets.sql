-- Mails that strangers can cause to an account have a budget of their own (asked_us, asked), so that they
-- cannot use up what its owner may ask for.

-- How many mails browsers that are known to the account asked for in the hour that began then.
ALTER TABLE accounts ADD COLUMN owner_asked_us INTEGER;
ALTER TABLE accounts ADD COLUMN owner_asked INTEGER NOT NULL DEFAULT 0;
-- When its owner was last told that somebody registered the address once more.
ALTER TABLE accounts ADD COLUMN noticed_us INTEGER;

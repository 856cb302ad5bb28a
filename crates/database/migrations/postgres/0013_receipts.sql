-- What a mail is about, for the kinds that say more than their text: the receipt of a payment, as JSON.
ALTER TABLE mails ADD COLUMN content TEXT;

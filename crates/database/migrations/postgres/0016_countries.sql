-- The country that a customer named, as a code of ISO 3166-1, and that of an order with the tax that its price includes, in percent.
ALTER TABLE accounts ADD COLUMN country TEXT;
ALTER TABLE orders ADD COLUMN country TEXT;
ALTER TABLE orders ADD COLUMN tax_percent TEXT;

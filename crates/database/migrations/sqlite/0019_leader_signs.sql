-- Which node led: its own note says nothing about others.
ALTER TABLE cluster_signs ADD COLUMN node TEXT NOT NULL DEFAULT '';

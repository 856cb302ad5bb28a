-- Points that competitions of football took from teams, entered by an operator. The competition is named as in the settings.
CREATE TABLE deductions (
    id          INTEGER PRIMARY KEY,
    competition TEXT NOT NULL,
    season      TEXT NOT NULL,
    team        TEXT NOT NULL,
    points      INTEGER NOT NULL,
    -- As text, `2020-07-14`.
    date        TEXT,
    reason      TEXT,
    entered_us  INTEGER NOT NULL
) STRICT;

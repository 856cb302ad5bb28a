//! Strokes of a tennis match, and its score, in the words of the Scores API.

use serde_json::Value;

use super::fields::Fields;

/// One update of a tennis match.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TennisIncident {
    /// Its number, which orders; shared by incidents and scores.
    pub sequence: u64,
    /// `lastUpdated`, ISO 8601 in UTC, in whole seconds.
    pub updated: Option<String>,
    pub kind: Kind,
    pub reading: Reading,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Point,
    Ace,
    DoubleFault,
    /// A serve, a fault, a break, the warm-up: what is no point.
    Other,
}

/// What the scoreboard shows with it, player 1 first.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Reading {
    /// 1 or 2.
    pub server: Option<u8>,
    pub first_to_serve: Option<u8>,
    /// 1 or 2. A fault repeats the last one.
    pub won_by: Option<u8>,
    /// From 1: the set in which the point was played.
    pub set: Option<u8>,
    /// Points in the game; absent on a point that ends it.
    pub shown: Option<[DisplayedPoints; 2]>,
    /// Games in the set, with the one that the point has ended.
    pub games: Option<[u8; 2]>,
    pub sets: Option<[u8; 2]>,
    /// Games of each set, as far as they are given.
    pub set_games: [Vec<u8>; 2],
    pub wins_game: bool,
    pub undo: bool,
    /// `onCourt`, `warmUp`, `inPlay`, ...
    pub status: Option<String>,
    /// Of how many sets the match is at most.
    pub best_of: Option<u8>,
    pub start: Option<String>,
}

/// Points as a scoreboard shows them: 0, 15, 30, 40 and Av, or the count of a tie-break.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DisplayedPoints {
    Number(u16),
    Advantage,
}

/// Points of one side of a game or a tie-break; no tie-break has come near this.
const POINTS_MAX: u16 = 999;

/// All incidents of a match in order, each number once. One without a number is passed over.
pub(super) fn all(incidents: Fields<'_>) -> Vec<TennisIncident> {
    let entry = |(key, value): (&String, &Value)| one(Fields::from_value(value)?, key.parse().ok());
    let mut all: Vec<_> = incidents.entries().filter_map(entry).collect();
    all.sort_by_key(|incident| incident.sequence);
    all.dedup_by_key(|incident| incident.sequence);
    all
}

pub(super) fn one(fields: Fields<'_>, key: Option<u64>) -> Option<TennisIncident> {
    let context = fields.object("updateContext");
    let sequence = key.or_else(|| context?.number("updateSequence"))?;
    let kind = context.and_then(|it| it.text("updateType")).map_or(Kind::Other, |it| kind(&it));
    let updated = context.and_then(|it| it.owned("lastUpdated"));
    let reading = fields.object("values").map(reading).unwrap_or_default();
    Some(TennisIncident { sequence, updated, kind, reading })
}

fn kind(text: &str) -> Kind {
    match text.to_ascii_lowercase().as_str() {
        "point" => Kind::Point,
        "ace" => Kind::Ace,
        "doublefault" => Kind::DoubleFault,
        _ => Kind::Other,
    }
}

fn reading(values: Fields<'_>) -> Reading {
    let player = |key: &str| values.number(key).filter(|player| (1..=2).contains(player));
    let games = |first: &str, second: &str| {
        values.number::<u8>(first).zip(values.number(second)).map(<[u8; 2]>::from)
    };
    Reading {
        server: player("server"),
        first_to_serve: player("firstToServe"),
        won_by: player("wonBy"),
        set: values.number("currentSet").filter(|set| (1..=5).contains(set)),
        shown: shown(values, ["team1PointsAfter", "team2PointsAfter"])
            .or_else(|| shown(values, ["player1PointsWon", "player2PointsWon"])),
        games: games("player1GamesWon", "player2GamesWon"),
        sets: games("player1SetsWon", "player2SetsWon"),
        set_games: ["player1SetScores", "player2SetScores"].map(|key| numbers(values, key)),
        wins_game: values.flag("winsGame"),
        undo: values.flag("undo"),
        status: values.owned("eventTypeStatus"),
        best_of: values.number("bestOfSets").filter(|sets| matches!(sets, 3 | 5)),
        start: values.owned("startDate"),
    }
}

fn shown(values: Fields<'_>, keys: [&str; 2]) -> Option<[DisplayedPoints; 2]> {
    let [first, second] = keys.map(|key| DisplayedPoints::parse(&values.text(key)?));
    Some([first?, second?])
}

impl DisplayedPoints {
    pub(super) fn parse(text: &str) -> Option<Self> {
        match text.to_ascii_lowercase().as_str() {
            "av" | "a" | "ad" | "adv" | "advantage" => Some(Self::Advantage),
            number => number.parse().ok().filter(|number| *number <= POINTS_MAX).map(Self::Number),
        }
    }
}

/// `6,3,2`, with any separator between the numbers.
fn numbers(values: Fields<'_>, key: &str) -> Vec<u8> {
    let text = values.text(key).unwrap_or_default();
    let parts = text.split(|c: char| !c.is_ascii_digit()).filter(|part| !part.is_empty());
    parts.take(5).map_while(|part| part.parse().ok()).collect()
}

//! A scoreboard of the in-play service, with the timeline of the match if it was requested.

use serde_json::Value;

use super::{
    fields::{self, Fields},
    incident::DisplayedPoints,
};

/// Updates of one timeline; the busiest known has some two hundred.
const UPDATES_MAX: usize = 2000;

/// How a match stands.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Board {
    /// Home and away, player 1 and player 2.
    pub teams: [Team; 2],
    /// The minute in progress, stoppage time counted on.
    pub minute: Option<u16>,
    /// Seconds of that minute; timelines have none.
    pub second: Option<u8>,
    /// `IN_PLAY` in a timeline; in scores the same as `phase`.
    pub status: Option<String>,
    /// The last change of phase: `KickOff`, `FirstHalfEnd`, `SecondHalfKickOff`, ...
    pub phase: Option<String>,
    /// What has happened, in order; only timelines have it.
    pub updates: Option<Vec<Update>>,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Team {
    pub name: Option<String>,
    /// Goals.
    pub goals: Option<u16>,
    pub half_time: Option<u16>,
    /// After 90 minutes.
    pub full_time: Option<u16>,
    pub penalties: Option<u16>,
    pub yellow_cards: Option<u32>,
    pub red_cards: Option<u32>,
    pub corners: Option<u32>,
    /// In tennis: points in the game, games in the set, sets, and games of the sets that are over.
    pub points: Option<DisplayedPoints>,
    pub games: Option<u8>,
    pub sets: Option<u8>,
    pub sets_over: Vec<u8>,
    pub serves: bool,
}

/// Something that has happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Update {
    pub id: Option<u64>,
    pub time: Option<String>,
    pub kind: String,
    /// 0 for home, 1 for away.
    pub team: Option<usize>,
    pub player: Option<String>,
    /// The minute in progress, stoppage time counted on.
    pub minute: Option<u16>,
    /// The same up to the end of the period.
    pub regular: Option<u16>,
    pub added: Option<u16>,
}

impl Board {
    pub(super) fn new(fields: Fields<'_>) -> Self {
        let score = fields.object("score");
        let side = |key: &str| score.and_then(|score| score.object(key)).map(Team::new);
        let phase = fields.owned("inPlayMatchStatus").or_else(|| fields.owned("matchStatus"));
        Self {
            teams: ["home", "away"].map(|key| side(key).unwrap_or_default()),
            minute: fields.number("timeElapsed").or_else(|| fields.number("elapsedRegularTime")),
            second: fields.number("timeElapsedSeconds").filter(|second| *second < 60),
            status: fields.owned("status"),
            phase,
            updates: fields.list("updateDetails").map(|updates| all(updates)),
        }
    }
}

impl Team {
    fn new(fields: Fields<'_>) -> Self {
        let sets_over = fields.list("gameSequence").into_iter().flatten();
        Self {
            name: fields.owned("name"),
            goals: fields.number("score"),
            half_time: fields.number("halfTimeScore"),
            full_time: fields.number("fullTimeScore"),
            penalties: fields.number("penaltiesScore"),
            yellow_cards: fields.number("numberOfYellowCards"),
            red_cards: fields.number("numberOfRedCards"),
            corners: fields.number("numberOfCorners"),
            points: fields.text("score").and_then(|text| DisplayedPoints::parse(&text)),
            games: fields.number("games"),
            sets: fields.number("sets"),
            sets_over: sets_over.take(5).map_while(fields::number).collect(),
            serves: fields.flag("isServing"),
        }
    }
}

/// In the order of their ids, which rise with gaps; what has none keeps its place.
fn all(updates: &[Value]) -> Vec<Update> {
    let updates = updates.iter().take(UPDATES_MAX);
    let mut all: Vec<_> = updates.filter_map(|it| update(Fields::from_value(it)?)).collect();
    if all.iter().all(|update| update.id.is_some()) {
        all.sort_by_key(|update| update.id);
        all.dedup_by_key(|update| update.id);
    }
    all
}

fn update(fields: Fields<'_>) -> Option<Update> {
    let team = fields.text("team").and_then(|team| match &*team {
        "home" => Some(0),
        "away" => Some(1),
        _ => None,
    });
    Some(Update {
        id: fields.number("updateId"),
        time: fields.owned("updateTime"),
        kind: fields.owned("type").or_else(|| fields.owned("updateType"))?,
        team,
        player: fields.owned("player"),
        minute: fields.number("matchTime"),
        regular: fields.number("elapsedRegularTime"),
        added: fields.number("elapsedAddedTime").filter(|added| *added > 0),
    })
}

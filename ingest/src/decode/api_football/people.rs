//! Who plays in a fixture, and what each of them did.

use std::sync::Arc;

use serde_json::value::RawValue;

use super::{
    super::json,
    fixture::{NamedEntity, RawNamedEntity, small},
};

/// The line-up of one team.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sheet {
    pub team: Arc<str>,
    /// `4-3-3`.
    pub formation: Option<Arc<str>>,
    pub coach: Option<NamedEntity>,
    /// Those who start first.
    pub players: Vec<SheetPlayer>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SheetPlayer {
    pub player: NamedEntity,
    pub number: Option<u16>,
    /// `G`, `D`, `M`, `F`.
    pub position: Option<Arc<str>>,
    pub starter: bool,
}

/// What one player did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlayerStatistics {
    pub team: Arc<str>,
    pub player: NamedEntity,
    /// Whether the player is captain, if known.
    pub captain: Option<bool>,
    /// Group and name of each: `("shots", "total")`. Those unknown are left out.
    pub counts: Vec<(&'static str, &'static str, u32)>,
    /// In hundredths: 725 is 7.25 of 10.
    pub rating: Option<u16>,
}

/// More than any rules allow in a squad.
const PLAYERS_MAX: usize = 60;

/// Of `lineups`. An entry that cannot be used costs only itself.
pub(super) fn sheets(text: &str) -> Vec<Sheet> {
    elements::<RawSheet>(text, 2).filter_map(RawSheet::read).collect()
}

/// Of `players`, likewise.
pub(super) fn statistics(text: &str) -> Vec<PlayerStatistics> {
    elements::<RawTeam>(text, 2).flat_map(RawTeam::read).collect()
}

fn elements<T: serde::de::DeserializeOwned>(text: &str, max: usize) -> impl Iterator<Item = T> {
    let all: Vec<&RawValue> = serde_json::from_str(text).unwrap_or_default();
    let all: Vec<T> =
        all.into_iter().take(max).filter_map(|one| serde_json::from_str(one.get()).ok()).collect();
    all.into_iter()
}

json::lenient! {
    #[serde(rename_all = "camelCase")]
    struct RawSheet {
        team: Option<RawNamedEntity> as "json::known_value",
        formation: Option<Arc<str>> as "json::key",
        coach: Option<RawNamedEntity> as "json::known_value",
        #[serde(rename = "startXI")]
        start_xi: Vec<RawEntry> as "json::known_all",
        substitutes: Vec<RawEntry> as "json::known_all",
    }

    struct RawEntry {
        player: Option<RawPlayer> as "json::known_value",
    }

    struct RawPlayer {
        id: Option<Arc<str>> as "json::key",
        name: Option<Arc<str>> as "json::key",
        number: Option<u64> as "json::whole",
        pos: Option<Arc<str>> as "json::key",
    }

    struct RawTeam {
        team: Option<RawNamedEntity> as "json::known_value",
        players: Vec<RawOne> as "json::known_all",
    }

    struct RawOne {
        player: Option<RawNamedEntity> as "json::known_value",
        /// One of this match.
        statistics: Vec<serde_json::Map<String, serde_json::Value>> as "json::known_all",
    }
}

impl RawSheet {
    fn read(self) -> Option<Sheet> {
        let starters = self.start_xi.into_iter().map(|entry| (entry, true));
        let bench = self.substitutes.into_iter().map(|entry| (entry, false));
        let players = starters.chain(bench).take(PLAYERS_MAX);
        Some(Sheet {
            team: self.team?.into_id()?,
            formation: self.formation,
            coach: self.coach.and_then(RawNamedEntity::player),
            players: players.filter_map(|(entry, starter)| entry.player?.read(starter)).collect(),
        })
    }
}

impl RawPlayer {
    fn read(self, starter: bool) -> Option<SheetPlayer> {
        let player = NamedEntity { name: self.name.or_else(|| self.id.clone())?, id: self.id };
        Some(SheetPlayer { player, number: small(self.number), position: self.pos, starter })
    }
}

/// The counts that are used.
const COUNTS: [(&str, &str); 20] = [
    ("games", "minutes"),
    ("shots", "total"),
    ("shots", "on"),
    ("goals", "total"),
    ("goals", "conceded"),
    ("goals", "assists"),
    ("goals", "saves"),
    ("passes", "total"),
    ("passes", "key"),
    ("passes", "accuracy"),
    ("tackles", "total"),
    ("tackles", "interceptions"),
    ("duels", "total"),
    ("duels", "won"),
    ("dribbles", "attempts"),
    ("dribbles", "success"),
    ("fouls", "drawn"),
    ("fouls", "committed"),
    ("cards", "yellow"),
    ("cards", "red"),
];

/// Written as text: `7.2`.
fn rating(value: &serde_json::Value) -> Option<u16> {
    let rating: f64 = value.as_str().map_or_else(|| value.as_f64(), |text| text.parse().ok())?;
    (0.0..=10.0).contains(&rating).then(|| (rating * 100.0).round() as u16)
}

impl RawTeam {
    fn read(self) -> Vec<PlayerStatistics> {
        let Some(team) = self.team.and_then(RawNamedEntity::into_id) else { return Vec::new() };
        let players = self.players.into_iter().take(PLAYERS_MAX);
        players.filter_map(|one| one.read(&team)).collect()
    }
}

impl RawOne {
    fn read(self, team: &Arc<str>) -> Option<PlayerStatistics> {
        let groups = self.statistics.into_iter().next()?;
        let value = |(group, name)| groups.get(group)?.get(name);
        let count = |column: &(&'static str, &'static str)| {
            let value = value(*column)?;
            let text = value.as_str().map(|text| text.parse().ok());
            let number = value.as_u64().and_then(|number| u32::try_from(number).ok());
            Some((column.0, column.1, text.unwrap_or(number)?))
        };
        let played = groups.get("games").and_then(|games| games.get("captain"));
        Some(PlayerStatistics {
            team: Arc::clone(team),
            player: self.player.and_then(RawNamedEntity::player)?,
            captain: played.and_then(serde_json::Value::as_bool),
            rating: value(("games", "rating")).and_then(rating),
            counts: COUNTS.iter().filter_map(count).collect(),
        })
    }
}

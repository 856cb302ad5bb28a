//! A tennis match as a row of lists and as a detail.

use facts::event::Sport;
use serde::Serialize;
use utoipa::ToSchema;

use super::{
    super::{price, shape, sport_stats::SportStats},
    figures,
};
use crate::{
    rating,
    rest::{Api, number::Number},
};
use history::query::{Entity, EntityKind};
use record::{EntityRef, Key, MatchRecord, TennisRecord, Vocabulary};

#[derive(Debug, Serialize, ToSchema)]
pub(super) struct TennisMatch {
    id: Key,
    tournament: Option<TournamentBrief>,
    player1: Option<PlayerBrief>,
    player2: Option<PlayerBrief>,
    match_date: Option<String>,
    status: &'static str,
    round_name: Option<String>,
    player1_sets: Option<u32>,
    player2_sets: Option<u32>,
    sets_detail: Vec<SetGames>,
    winner_id: Option<Key>,
    /// What the bookmakers together give, while they do.
    odds_player1: Option<Number>,
    odds_player2: Option<Number>,
    /// Counted from the points, once a feed has reported an ace or a double fault of the match; null
    /// before, because many feeds never report them.
    p1_aces: Option<u32>,
    p1_double_faults: Option<u32>,
    p1_first_serve_pct: Option<f64>,
    p1_first_serve_won_pct: Option<f64>,
    p1_second_serve_won_pct: Option<f64>,
    p1_break_points_saved_pct: Option<f64>,
    p1_break_points_converted_pct: Option<f64>,
    p1_service_games: Option<u32>,
    p1_service_games_won: Option<u32>,
    p1_games_won: Option<u32>,
    p2_aces: Option<u32>,
    p2_double_faults: Option<u32>,
    p2_first_serve_pct: Option<f64>,
    p2_first_serve_won_pct: Option<f64>,
    p2_second_serve_won_pct: Option<f64>,
    p2_break_points_saved_pct: Option<f64>,
    p2_break_points_converted_pct: Option<f64>,
    p2_service_games: Option<u32>,
    p2_service_games_won: Option<u32>,
    p2_games_won: Option<u32>,
    /// The aces of each set.
    aces_per_set: Option<Vec<SetGames>>,
    point_by_point_available: bool,
    #[serde(flatten)]
    live: Option<Standing>,
}

/// What rows of matches in play say beside.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = SportsStanding)]
pub(super) struct Standing {
    /// From 1.
    current_set: Option<usize>,
    current_game_p1: Option<u32>,
    current_game_p2: Option<u32>,
    /// As the umpire calls it: `40-A`.
    current_point: Option<String>,
    is_serving_p1: Option<bool>,
}

/// A number of each player.
#[derive(Debug, Clone, Copy, Serialize, ToSchema)]
pub(super) struct SetGames {
    pub(super) p1: u32,
    pub(super) p2: u32,
}

#[derive(Debug, Serialize, ToSchema)]
pub(super) struct TournamentBrief {
    pub(super) id: Key,
    pub(super) name: String,
    /// `ATP` or `WTA`, where its name or category says it.
    pub(super) circuit: Option<&'static str>,
    pub(super) category: Option<String>,
    pub(super) surface: Option<String>,
}

#[derive(Debug, Serialize, ToSchema)]
pub(super) struct PlayerBrief {
    pub(super) id: Key,
    pub(super) name: String,
    pub(super) short_name: Option<String>,
    /// By the circuit.
    pub(super) gender: Option<&'static str>,
    pub(super) country_code: Option<String>,
    /// Calculated from stored results.
    pub(super) current_ranking: Option<CurrentRanking>,
}

#[derive(Debug, Clone, Serialize, ToSchema)]
pub(super) struct CurrentRanking {
    pub(super) position: usize,
    pub(super) points: i64,
    /// `ATP` or `WTA`: the circuit whose players it ranks; `results` for players whose circuit is
    /// unknown. Calculated from stored results.
    #[serde(rename = "type")]
    pub(super) kind: &'static str,
}

impl TennisMatch {
    pub(super) fn new(api: &Api, record: &MatchRecord, sport_stats: &SportStats) -> Self {
        let MatchRecord { summary, play, .. } = record;
        let tennis = play.tennis();
        let [player1, player2] = PlayerBrief::both(api, record, sport_stats);
        let [odds1, _, odds2] = price::consensus(record).map(|price| price.map(Number));
        let [p1, p2] = tennis.map_or([None, None], served);
        let figures = figures::player_figures(record);
        let winner = rating::winner(summary).or(summary.winner);
        let winner = winner.and_then(|it| summary.sides?.get(usize::from(it)).copied());
        Self {
            id: summary.id,
            tournament: TournamentBrief::new(record),
            player1,
            player2,
            match_date: shape::start(record),
            status: summary.status.word(Vocabulary::Sport(Sport::Tennis)),
            round_name: summary.round_name.as_ref().map(|name| name.to_string()),
            player1_sets: shape::side_value(summary.score, 0),
            player2_sets: shape::side_value(summary.score, 1),
            sets_detail: summary.parts.iter().map(|&[p1, p2]| SetGames { p1, p2 }).collect(),
            winner_id: winner,
            odds_player1: odds1,
            odds_player2: odds2,
            p1_aces: p1.map(|it| it.aces),
            p1_double_faults: p1.map(|it| it.double_faults),
            p1_first_serve_pct: None,
            p1_first_serve_won_pct: None,
            p1_second_serve_won_pct: None,
            p1_break_points_saved_pct: figures[0].break_points_saved_pct,
            p1_break_points_converted_pct: figures[0].break_points_converted_pct,
            p1_service_games: figures[0].service_games,
            p1_service_games_won: figures[0].service_games_won,
            p1_games_won: figures[0].games_won,
            p2_aces: p2.map(|it| it.aces),
            p2_double_faults: p2.map(|it| it.double_faults),
            p2_first_serve_pct: None,
            p2_first_serve_won_pct: None,
            p2_second_serve_won_pct: None,
            p2_break_points_saved_pct: figures[1].break_points_saved_pct,
            p2_break_points_converted_pct: figures[1].break_points_converted_pct,
            p2_service_games: figures[1].service_games,
            p2_service_games_won: figures[1].service_games_won,
            p2_games_won: figures[1].games_won,
            aces_per_set: tennis.and_then(aces_per_set),
            point_by_point_available: tennis.is_some_and(|tennis| !tennis.points.is_empty()),
            live: tennis.filter(|_| summary.status.is_live()).map(Standing::new),
        }
    }
}

impl Standing {
    fn new(tennis: &TennisRecord) -> Self {
        let set = tennis.sets.last();
        let [first, second] = &tennis.game;
        let games = set.map(|set| set.games.map(u32::from));
        Self {
            current_set: set.map(|_| tennis.sets.len()),
            current_game_p1: shape::side_value(games, 0),
            current_game_p2: shape::side_value(games, 1),
            current_point: tennis.followed.then(|| format!("{first}-{second}")),
            is_serving_p1: tennis.server.map(|server| server == 0),
        }
    }
}

impl TournamentBrief {
    pub(super) fn new(record: &MatchRecord) -> Option<Self> {
        let EntityRef { id, name } = record.names.competition.as_ref()?;
        let (surface, kind) = (&record.names.surface, &record.names.category);
        Some(Self {
            id: *id,
            name: name.to_string(),
            circuit: circuit(name, kind.as_deref()),
            category: category(kind.as_deref()),
            surface: surface.as_ref().map(|surface| surface.to_lowercase()),
        })
    }

    pub(super) fn from_entity(entity: &Entity) -> Self {
        let about = |key: &str| entity.about.get(key).and_then(|value| value.as_str());
        let kind = about("category");
        Self {
            id: entity.id,
            name: entity.name.to_string(),
            circuit: circuit(&entity.name, kind),
            category: category(kind),
            surface: about("surface").map(str::to_lowercase),
        }
    }
}

impl PlayerBrief {
    pub(super) fn new(
        api: &Api,
        named: &EntityRef,
        circuit: Option<&'static str>,
        sport_stats: &SportStats,
    ) -> Self {
        let entity = api.history.entity(EntityKind::Player, named.id);
        let country = entity.and_then(|entity| entity.country.clone());
        Self {
            id: named.id,
            name: named.name.to_string(),
            short_name: None,
            gender: gender(circuit),
            country_code: shape::country_code(country.as_ref()),
            current_ranking: CurrentRanking::new(named.id, sport_stats),
        }
    }

    pub(super) fn both(
        api: &Api,
        record: &MatchRecord,
        sport_stats: &SportStats,
    ) -> [Option<Self>; 2] {
        let circuit = TournamentBrief::new(record).and_then(|tournament| tournament.circuit);
        shape::both(record, |named| Self::new(api, named, circuit, sport_stats))
    }
}

impl CurrentRanking {
    pub(super) fn new(player: Key, sport_stats: &SportStats) -> Option<Self> {
        let position = sport_stats.position(player)?;
        let kind = super::rankings::kind(player, sport_stats);
        Some(Self { position, points: sport_stats.elo(player)?, kind })
    }
}

/// The serves of one player that ended a point by themselves.
#[derive(Debug, Clone, Copy, Default)]
struct ServeStats {
    aces: u32,
    double_faults: u32,
}

/// Aces and double faults of each player, if the feed reports any.
fn served(tennis: &TennisRecord) -> [Option<ServeStats>; 2] {
    let mut both: Option<[ServeStats; 2]> = None;
    for point in &tennis.points {
        let Some(how) = point.how.as_deref() else { continue };
        let both = both.get_or_insert_default();
        if let Some(winner) = both.get_mut(usize::from(point.winner)) {
            winner.aces += u32::from(how == "ace");
        }
        if let Some(server) = both.get_mut(usize::from(point.server)) {
            server.double_faults += u32::from(how == "double_fault");
        }
    }
    both.map_or([None, None], |both| both.map(Some))
}

fn aces_per_set(tennis: &TennisRecord) -> Option<Vec<SetGames>> {
    if tennis.points.iter().all(|point| point.how.is_none()) {
        return None;
    }
    let mut sets = vec![SetGames { p1: 0, p2: 0 }; tennis.sets.len()];
    let aces = tennis.points.iter().filter(|point| point.how.as_deref() == Some("ace"));
    for point in aces {
        if let Some(set) = sets.get_mut(usize::from(point.set).saturating_sub(1)) {
            set.p1 += u32::from(point.winner == 0);
            set.p2 += u32::from(point.winner == 1);
        }
    }
    Some(sets)
}

/// `ATP` or `WTA`, if the name or the category of a tournament contains it.
pub(in crate::rest::sports) fn circuit(name: &str, kind: Option<&str>) -> Option<&'static str> {
    let texts = [name, kind.unwrap_or_default()];
    let words = || texts.iter().flat_map(|text| text.split(|c: char| !c.is_alphanumeric()));
    let named = ["ATP", "WTA"];
    let named = named.into_iter().find(|it| words().any(|word| word.eq_ignore_ascii_case(it)));
    // Women's categories are `wta_1000` and the like.
    named.or_else(|| (category(kind).as_deref() == Some("masters_1000")).then_some("ATP"))
}

/// The gender of a circuit's players.
pub(super) fn gender(circuit: Option<&str>) -> Option<&'static str> {
    match circuit {
        Some("ATP") => Some("M"),
        Some("WTA") => Some("F"),
        _ => None,
    }
}

/// `grand_slam`, `atp_500`: the feed's category, normalised.
pub(super) fn category(category: Option<&str>) -> Option<String> {
    let category = category?.to_lowercase();
    let words = category.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    Some(words.collect::<Vec<_>>().join("_"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn circuit_and_category_are_read_from_names() {
        assert_eq!(circuit("ATP Halle", None), Some("ATP"));
        assert_eq!(circuit("Halle", Some("atp_500")), Some("ATP"));
        assert_eq!(circuit("WTA 1000 Madrid", None), Some("WTA"));
        assert_eq!(circuit("Wimbledon", Some("grand_slam")), None);
        assert_eq!(circuit("Paris", Some("Masters 1000")), Some("ATP"));
        assert_eq!(category(Some("Grand Slam")).as_deref(), Some("grand_slam"));
        assert_eq!(gender(Some("WTA")), Some("F"));
    }
}

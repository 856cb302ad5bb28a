//! A match in the shape of version 1: SERVICE sections 1.6 and 9.

use fanout::Micros;
use serde::Serialize;
use utoipa::ToSchema;

use super::{
    league::{LeagueRow, SeasonRow},
    live_stats::LiveStats,
    request::V1Query,
    team::Venue,
};
use crate::rest::{
    Api, Number,
    football::{
        country,
        event::{Sides, minute},
        share, short_name, teams,
    },
    odds::consensus::MainOdds,
};
use history::query::{EntityKind, regulation};
use record::{EntityRef, FootballRecord, IncidentRecord, Key, MatchRecord, Status, Vocabulary};

/// What rows and details have in common.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[schema(as = V1Event)]
pub(super) struct Event {
    pub(super) id: u64,
    league: Option<LeagueRow>,
    season: Option<SeasonRow>,
    home_team: Option<String>,
    away_team: Option<String>,
    /// In the requested time zone; midnight where only the day is known.
    event_date: Option<String>,
    /// Only the day of the start is known.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    day_only: bool,
    round_number: Option<u16>,
    /// Empty if no feed reports it.
    round_name: String,
    group_name: Option<String>,
    status: &'static str,
    /// Without extra time and the shoot-out; null before the kick-off.
    home_score: Option<u32>,
    away_score: Option<u32>,
    home_score_ht: Option<u16>,
    away_score_ht: Option<u16>,
    /// In play as in version 2; of a finished match 90, or 120 with extra time.
    current_minute: Option<u32>,
    /// `1T`, `HT`, `2T`, `FT`, `ET`, `PEN` or nothing.
    period: &'static str,
    odds_home: Option<Number>,
    odds_draw: Option<Number>,
    odds_away: Option<Number>,
    odds_over_15: Option<Number>,
    odds_over_25: Option<Number>,
    odds_over_35: Option<Number>,
    odds_under_15: Option<Number>,
    odds_under_25: Option<Number>,
    odds_under_35: Option<Number>,
    odds_btts_yes: Option<Number>,
    odds_btts_no: Option<Number>,
    /// Expected goals, once the match is over; while it is in play, in `home_xg_live` and `away_xg_live`.
    actual_home_xg: Option<f64>,
    actual_away_xg: Option<f64>,
    home_xg_live: Option<f64>,
    away_xg_live: Option<f64>,
    penalty_shootout: Option<Sides>,
    /// Goals of extra time alone.
    extra_time_score: Option<Sides>,
    /// No feed provides it.
    is_local_derby: Option<bool>,
    is_neutral_ground: Option<bool>,
    /// No feed provides it.
    travel_distance_km: Option<f64>,
    /// As in version 2.
    weather_code: Option<u8>,
    /// In metres per second.
    wind_speed: Option<f64>,
    temperature_c: Option<i8>,
    /// No feed provides it.
    pitch_condition: Option<i32>,
    attendance: Option<u32>,
    /// Whether the match can be followed on a socket now.
    live_websocket: bool,
    live_stats: Option<Box<LiveStats>>,
    /// Possession and attacks, each with both sides. Null if no feed reports them.
    sr_stats: Option<Pressures>,
    /// No feed provides a colour: null.
    jerseys: Option<Jerseys>,
    venue: Option<Venue>,
    incidents: Vec<Incident>,
    /// No feed provides it: null, as the next.
    funfacts: Option<Vec<FunFact>>,
    unavailable_players: Option<Unavailable>,
    pub(super) home_coach: Option<Coach>,
    pub(super) away_coach: Option<Coach>,
}

/// A row of lists.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[schema(as = V1EventRow)]
pub(super) struct EventRow {
    #[serde(flatten)]
    #[schema(inline)]
    pub(super) event: Event,
    home_team_obj: Option<TeamBrief>,
    away_team_obj: Option<TeamBrief>,
}

#[derive(Debug, Clone, Serialize, ToSchema)]
#[schema(as = V1TeamBrief)]
pub(super) struct TeamBrief {
    id: u64,
    name: String,
    /// The name, unless a feed provides one.
    short_name: String,
}

#[derive(Debug, Clone, Serialize, ToSchema)]
#[schema(as = V1EventCoach)]
pub(super) struct Coach {
    pub(super) id: u64,
    name: String,
    short_name: String,
    /// Empty if no feed reports it.
    country: String,
    /// No feed provides it, nor the intensity, the line and the styles.
    profile: &'static str,
    /// That of most line-ups that are known; empty in lists.
    pub(super) preferred_formation: String,
    pressing_intensity: Option<f64>,
    defensive_line: &'static str,
    top_styles: Vec<String>,
}

#[derive(Debug, Clone, Serialize, ToSchema)]
#[schema(as = V1FunFact)]
struct FunFact {
    type_id: u32,
    sentence: String,
}

/// Each counter with both sides: SERVICE section 8, row 15. Null is what no feed reported.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[schema(as = V1Pressures)]
struct Pressures {
    /// In percent, as all that ends in `_pct`.
    possession: Option<BothSides>,
    attack: Option<BothSides>,
    dangerous_attack: Option<BothSides>,
    /// No feed provides it.
    ball_safe: Option<BothSides>,
    attack_pct: Option<BothSides>,
    dangerous_attack_pct: Option<BothSides>,
    ball_safe_pct: Option<BothSides>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[schema(as = V1BothSides)]
struct BothSides {
    home: u32,
    away: u32,
}

#[derive(Debug, Clone, Serialize, ToSchema)]
#[schema(as = V1Jerseys)]
struct Jerseys {
    home: Jersey,
    away: Jersey,
}

#[derive(Debug, Clone, Serialize, ToSchema)]
#[schema(as = V1Jersey)]
struct Jersey {
    player: JerseyColours,
    #[serde(rename = "GK")]
    goalkeeper: JerseyColours,
}

#[derive(Debug, Clone, Serialize, ToSchema)]
#[schema(as = V1JerseyColours)]
struct JerseyColours {
    /// Colours are hexadecimal digits, without a mark before them.
    base: String,
    number: String,
    sleeve: String,
    /// `short_sleeves`, for example.
    #[serde(rename = "type")]
    kind: String,
    real: bool,
}

/// No feed provides them.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[schema(as = V1Unavailable)]
struct Unavailable {
    home: Vec<UnavailablePlayer>,
    away: Vec<UnavailablePlayer>,
}

#[derive(Debug, Clone, Serialize, ToSchema)]
#[schema(as = V1UnavailablePlayer)]
struct UnavailablePlayer {
    name: String,
    status: String,
    reason: Option<String>,
    expected_return: Option<String>,
}

#[derive(Debug, Clone, Serialize, ToSchema)]
#[schema(as = V1Incident)]
struct Incident {
    /// `goal`, `card`, `substitution`, `period`, `var`, `penalty_missed`, `shootout`.
    #[serde(rename = "type")]
    kind: String,
    minute: u16,
    added_time: Option<u16>,
    is_home: Option<bool>,
    player: Option<String>,
    player_id: Option<u64>,
    assist: Option<String>,
    /// Of a goal `regular`, `own_goal`, `penalty`; of a card `yellow`, `yellowRed`, `red`.
    detail: Option<String>,
    home_score: Option<u16>,
    away_score: Option<u16>,
}

impl Incident {
    fn new(incident: &IncidentRecord) -> Self {
        let (kind, card) = match &*incident.kind {
            "yellow" => ("card", Some("yellow")),
            "second_yellow" => ("card", Some("yellowRed")),
            "red" => ("card", Some("red")),
            other => (other, None),
        };
        let detail = card.map(ToOwned::to_owned);
        Self {
            kind: kind.to_owned(),
            minute: incident.minute,
            added_time: incident.added,
            is_home: incident.side.map(|side| side == 0),
            player: incident.player.as_ref().map(|it| it.name.to_string()),
            player_id: incident.player.as_ref().map(|it| it.id),
            assist: incident.assist.as_ref().map(|it| it.name.to_string()),
            detail: detail.or_else(|| incident.detail.as_ref().map(|it| it.to_string())),
            home_score: incident.score.map(|score| score[0]),
            away_score: incident.score.map(|score| score[1]),
        }
    }
}

/// A match and what its event is made from besides.
pub(super) struct EventSource<'a> {
    pub(super) record: &'a MatchRecord,
    pub(super) odds: MainOdds,
    pub(super) league: Option<LeagueRow>,
    pub(super) season: Option<SeasonRow>,
    /// Whether the hub has the match, so that its clock is right.
    pub(super) is_fresh: bool,
    pub(super) now: Micros,
}

impl Event {
    pub(super) fn new(query: &V1Query<'_>, source: EventSource<'_>) -> Self {
        let EventSource { record, odds, league, season, is_fresh, now } = source;
        let MatchRecord { summary, names, .. } = record;
        let team = |side: usize| names.sides.as_ref().map(|sides| sides[side].name.to_string());
        let coach = |side: usize| Some(Coach::new(query.api, names.coaches[side].as_ref()?));
        let football = record.play.football();
        let score = regulation(summary);
        let expected = |side: usize| summary.expected_goals.map(|both| both[side].goals());
        let (is_over, is_live) = (summary.status.is_over(), summary.status.is_live());
        Self {
            id: summary.id,
            league,
            season,
            home_team: team(0),
            away_team: team(1),
            event_date: query.start(summary),
            day_only: summary.day_only,
            round_number: summary.round,
            round_name: summary.round_name.as_deref().unwrap_or_default().to_owned(),
            group_name: summary.group.as_deref().map(ToOwned::to_owned),
            status: summary.status.word(Vocabulary::Football),
            home_score: score.map(|score| score[0]),
            away_score: score.map(|score| score[1]),
            home_score_ht: summary.half_time.map(|goals| goals[0]),
            away_score_ht: summary.half_time.map(|goals| goals[1]),
            current_minute: current_minute(record, is_fresh, now),
            period: summary.status.period(),
            odds_home: odds.home_win,
            odds_draw: odds.draw,
            odds_away: odds.away_win,
            odds_over_15: odds.over_15_goals,
            odds_over_25: odds.over_25_goals,
            odds_over_35: odds.over_35_goals,
            odds_under_15: odds.under_15_goals,
            odds_under_25: odds.under_25_goals,
            odds_under_35: odds.under_35_goals,
            odds_btts_yes: odds.btts_yes,
            odds_btts_no: odds.btts_no,
            actual_home_xg: expected(0).filter(|_| is_over),
            actual_away_xg: expected(1).filter(|_| is_over),
            home_xg_live: expected(0).filter(|_| is_live),
            away_xg_live: expected(1).filter(|_| is_live),
            penalty_shootout: summary.penalties.map(Sides::from),
            extra_time_score: summary.extra_time.map(Sides::from),
            is_local_derby: None,
            is_neutral_ground: summary.neutral,
            travel_distance_km: None,
            weather_code: summary.weather.map(|it| it.code),
            wind_speed: summary.weather.map(|it| f64::from(it.wind_speed)),
            temperature_c: summary.weather.map(|it| it.temperature_c),
            pitch_condition: None,
            attendance: summary.attendance,
            live_websocket: is_fresh && !is_over,
            live_stats: LiveStats::new(record).map(Box::new),
            sr_stats: football.and_then(Pressures::new),
            jerseys: None,
            venue: Venue::from_names(query.api, names),
            incidents: football.map(incidents).unwrap_or_default(),
            funfacts: None,
            unavailable_players: None,
            home_coach: coach(0),
            away_coach: coach(1),
        }
    }
}

impl EventRow {
    pub(super) fn new(api: &Api, event: Event, record: &MatchRecord) -> Self {
        let team = |side: usize| {
            let EntityRef { id, name } = &record.names.sides.as_ref()?[side];
            TeamBrief::new(api, *id).or_else(|| {
                let name = name.to_string();
                Some(TeamBrief { id: *id, short_name: name.clone(), name })
            })
        };
        Self { event, home_team_obj: team(0), away_team_obj: team(1) }
    }
}

impl TeamBrief {
    /// `None` if nothing has this id.
    pub(super) fn new(api: &Api, id: Key) -> Option<Self> {
        let team = api.history.entity(EntityKind::Team, id)?;
        Some(Self { id, short_name: teams::short_name(&team), name: team.name.to_string() })
    }
}

impl Coach {
    fn new(api: &Api, coach: &EntityRef) -> Self {
        let entity = api.history.entity(EntityKind::Manager, coach.id);
        Self {
            id: coach.id,
            name: coach.name.to_string(),
            short_name: short_name(&coach.name),
            country: country::name_or_empty(entity.and_then(|it| it.country.clone()).as_deref()),
            profile: "",
            preferred_formation: String::new(),
            pressing_intensity: None,
            defensive_line: "",
            top_styles: Vec::new(),
        }
    }
}

impl Pressures {
    fn new(football: &FootballRecord) -> Option<Self> {
        let [home, away] = &football.counters();
        let both = |name: &str| Some(BothSides { home: *home.get(name)?, away: *away.get(name)? });
        let shares = |name: &str| {
            Some(BothSides { home: share(home, away, name)?, away: share(away, home, name)? })
        };
        let pressures = Self {
            possession: both("ball_possession"),
            attack: both("attacks"),
            dangerous_attack: both("dangerous_attacks"),
            ball_safe: None,
            attack_pct: shares("attacks"),
            dangerous_attack_pct: shares("dangerous_attacks"),
            ball_safe_pct: None,
        };
        (pressures.possession.is_some() || pressures.attack.is_some()).then_some(pressures)
    }
}

/// Incidents that were not retracted.
fn incidents(football: &FootballRecord) -> Vec<Incident> {
    let standing = football.incidents.iter().filter(|it| it.retracted.is_none());
    standing.map(Incident::new).collect()
}

/// The minute as everywhere while the match is in play, and the last one of a finished match.
fn current_minute(record: &MatchRecord, is_fresh: bool, now: Micros) -> Option<u32> {
    let summary = &record.summary;
    match summary.status {
        Status::Finished if summary.extra_time.is_some() => Some(120),
        Status::Finished => Some(90),
        status => minute(record.play.football().filter(|_| is_fresh)?.clock?, status, now),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::{ClockRecord, MatchSummary, testing};

    #[test]
    fn pressure_has_one_value_per_counter() {
        let stats = [
            [("ball_possession".into(), 51), ("attacks".into(), 60)].into(),
            [("ball_possession".into(), 49), ("attacks".into(), 30)].into(),
        ];
        let football = FootballRecord { stats, ..FootballRecord::default() };
        let json = serde_json::to_value(Pressures::new(&football)).expect("it is JSON");
        assert_eq!(json["possession"], serde_json::json!({"home": 51, "away": 49}));
        assert_eq!(json["attack_pct"], serde_json::json!({"home": 67, "away": 33}));
        assert_eq!(json["dangerous_attack"], serde_json::Value::Null);
        assert!(Pressures::new(&FootballRecord::default()).is_none());
    }

    #[test]
    fn minute_is_the_same_as_in_version_2_until_the_end() {
        let at = |status, extra_time, is_fresh| {
            let clock = Some(ClockRecord { at: 0, second: 17 * 60 + 58, running: false });
            let football = FootballRecord { clock, ..FootballRecord::default() };
            let record = testing::record(testing::MATCH, football);
            let summary =
                MatchSummary { status, extra_time, ..MatchSummary::clone(&record.summary) };
            current_minute(&MatchRecord { summary: summary.into(), ..record }, is_fresh, 0)
        };
        assert_eq!(at(Status::FirstHalf, None, true), Some(17));
        assert_eq!(at(Status::FirstHalf, None, false), None, "a clock that nobody moves");
        assert_eq!(at(Status::NotStarted, None, true), None);
        assert_eq!(at(Status::Finished, None, false), Some(90));
        assert_eq!(at(Status::Finished, Some([0, 1]), true), Some(120));
    }
}

//! A match in the shape of version 1: SERVICE section 1.6.

use std::collections::BTreeMap;

use fanout::Micros;
use serde::Serialize;
use utoipa::ToSchema;

use super::{league::LeagueRow, request::V1Query};
use crate::api::{
    Number,
    football::{country, share, short_name},
    odds::consensus::MainOdds,
};
use history::query::{EntityKind, regulation};
use record::{ClockRecord, FootballRecord, IncidentRecord, Key, MatchRecord, Status, Vocabulary};

#[derive(Debug, Clone, Serialize, ToSchema)]
#[schema(as = V1Event)]
pub(super) struct Event {
    id: u64,
    league: Option<LeagueRow>,
    home_team: Option<String>,
    away_team: Option<String>,
    home_team_obj: Option<TeamBrief>,
    away_team_obj: Option<TeamBrief>,
    /// In the requested time zone; midnight where only the day is known.
    event_date: Option<String>,
    /// Only the day of the start is known.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    day_only: bool,
    status: &'static str,
    /// Without extra time and the shoot-out; null before the kick-off.
    home_score: Option<u32>,
    away_score: Option<u32>,
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
    live_stats: SideStats,
    /// Possession and attacks, each with both sides. Null if no feed reports them.
    sr_stats: Option<Pressures>,
    /// No feed provides a colour: null.
    jerseys: Option<Jerseys>,
    venue: Option<PlaceBrief>,
    incidents: Vec<Incident>,
    /// Nothing of ours: always empty, and null below.
    funfacts: Vec<String>,
    unavailable_players: Unavailable,
    home_coach: Option<CoachBrief>,
    away_coach: Option<CoachBrief>,
    /// Expected goals of the home side, once the match is over; while it is in play, in `home_xg_live`.
    actual_home_xg: Option<f64>,
    home_xg_live: Option<f64>,
}

#[derive(Debug, Clone, Serialize, ToSchema)]
#[schema(as = V1TeamBrief)]
pub(super) struct TeamBrief {
    id: u64,
    name: String,
    /// No feed provides one: the name.
    short_name: String,
}

#[derive(Debug, Clone, Serialize, ToSchema)]
struct PlaceBrief {
    id: u64,
    name: String,
    city: Option<String>,
}

#[derive(Debug, Clone, Serialize, ToSchema)]
struct CoachBrief {
    id: u64,
    name: String,
    short_name: String,
    /// Empty if no feed reports it.
    country: String,
    /// No feed provides the following fields: `/api/managers/{id}/` has what follows from matches.
    profile: &'static str,
    preferred_formation: &'static str,
    pressing_intensity: Option<f64>,
    defensive_line: &'static str,
    top_styles: Vec<String>,
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
}

#[derive(Debug, Clone, Serialize, ToSchema)]
#[schema(as = V1JerseyColours)]
struct JerseyColours {
    /// In hexadecimal digits, without a mark before them.
    base: String,
}

#[derive(Debug, Clone, Default, Serialize, ToSchema)]
struct SideStats {
    home: BTreeMap<String, u32>,
    away: BTreeMap<String, u32>,
}

/// No feed provides them.
#[derive(Debug, Clone, Default, Serialize, ToSchema)]
#[schema(as = V1Unavailable)]
struct Unavailable {
    home: Vec<String>,
    away: Vec<String>,
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

impl Event {
    pub(super) fn new(
        query: &V1Query<'_>,
        record: &MatchRecord,
        odds: &MainOdds,
        league: Option<LeagueRow>,
        now: Micros,
    ) -> Self {
        let MatchRecord { brief, names, .. } = record;
        let side = |place: usize| names.sides.as_ref().map(|sides| &sides[place]);
        let team = |place: usize| {
            let side = side(place)?;
            let name = side.name.to_string();
            Some(TeamBrief { id: side.id, short_name: name.clone(), name })
        };
        let coach = |place: usize| {
            let coach = names.coaches[place].as_ref()?;
            let known = query.api.history.entity(EntityKind::Manager, coach.id);
            Some(CoachBrief {
                id: coach.id,
                name: coach.name.to_string(),
                short_name: short_name(&coach.name),
                country: country::name_or_empty(known.and_then(|it| it.country.clone()).as_deref()),
                profile: "",
                preferred_formation: "",
                pressing_intensity: None,
                defensive_line: "",
                top_styles: Vec::new(),
            })
        };
        let football = record.play.football();
        let score = regulation(brief);
        let home_xg = brief.expected_goals.map(|[home, _]| home.goals());
        Self {
            id: brief.id,
            league,
            home_team: side(0).map(|it| it.name.to_string()),
            away_team: side(1).map(|it| it.name.to_string()),
            home_team_obj: team(0),
            away_team_obj: team(1),
            event_date: brief.start.and_then(|at| query.start(at, brief.day_only)),
            day_only: brief.day_only,
            status: brief.status.word(Vocabulary::Football),
            home_score: score.map(|score| score[0]),
            away_score: score.map(|score| score[1]),
            current_minute: football.and_then(|it| minute(brief.status, it.clock?, now)),
            period: brief.status.period(),
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
            live_stats: football.map(live_stats).unwrap_or_default(),
            sr_stats: football.and_then(Pressures::of),
            jerseys: None,
            venue: names.venue.as_ref().map(|venue| PlaceBrief {
                id: venue.id,
                name: venue.name.to_string(),
                city: names.city.as_ref().map(|city| city.to_string()),
            }),
            incidents: football.map(incidents).unwrap_or_default(),
            funfacts: Vec::new(),
            unavailable_players: Unavailable::default(),
            home_coach: coach(0),
            away_coach: coach(1),
            actual_home_xg: home_xg.filter(|_| brief.status.is_over()),
            home_xg_live: home_xg.filter(|_| brief.status.is_live()),
        }
    }
}

fn live_stats(football: &FootballRecord) -> SideStats {
    let [home, away] = football
        .counters()
        .map(|stats| stats.into_iter().map(|(name, count)| (name.to_string(), count)).collect());
    SideStats { home, away }
}

impl Pressures {
    fn of(football: &FootballRecord) -> Option<Self> {
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

/// The minute in progress, as on a scoreboard; it stops during stoppage time.
fn minute(status: Status, clock: ClockRecord, now: Micros) -> Option<u32> {
    let minute = clock.second_at(now) / 60 + 1;
    match status {
        Status::Live => Some(minute),
        _ => status.last_minute().map(|last| minute.min(last)),
    }
}

/// The brief form of a team.
pub(super) fn team_brief(query: &V1Query<'_>, id: Key) -> Option<TeamBrief> {
    let name = query.name(EntityKind::Team, Some(id))?;
    Some(TeamBrief { id, short_name: name.clone(), name })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pressure_has_one_value_per_counter() {
        let stats = [
            [("ball_possession".into(), 51), ("attacks".into(), 60)].into(),
            [("ball_possession".into(), 49), ("attacks".into(), 30)].into(),
        ];
        let football = FootballRecord { stats, ..FootballRecord::default() };
        let json = serde_json::to_value(Pressures::of(&football)).expect("it is JSON");
        assert_eq!(json["possession"], serde_json::json!({"home": 51, "away": 49}));
        assert_eq!(json["attack_pct"], serde_json::json!({"home": 67, "away": 33}));
        assert_eq!(json["dangerous_attack"], serde_json::Value::Null);
        assert!(Pressures::of(&FootballRecord::default()).is_none());
    }

    #[test]
    fn minute_follows_the_clock_and_stops_in_added_time() {
        let clock = |second, running| ClockRecord { at: 0, second, running };
        let after = 90 * 1_000_000;
        let minute_of = |status, clock| minute(status, clock, after);
        assert_eq!(minute_of(Status::FirstHalf, clock(0, true)), Some(2));
        assert_eq!(minute_of(Status::FirstHalf, clock(0, false)), Some(1));
        assert_eq!(minute_of(Status::FirstHalf, clock(2_760, true)), Some(45), "added time");
        assert_eq!(minute_of(Status::SecondHalf, clock(2_700, true)), Some(47));
        assert_eq!(
            minute_of(Status::ExtraHalf, clock(6_300, false)),
            Some(105),
            "the break of extra time"
        );
        assert_eq!(minute_of(Status::Finished, clock(5_400, false)), None);
    }
}

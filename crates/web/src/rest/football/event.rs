//! A match as a row and as a whole: both have the same shape, SERVICE section 1.9.

use facts::football::{Period, PeriodStarts};
use fanout::Micros;
use serde::Serialize;
use utoipa::ToSchema;

use super::{head_to_head::HeadToHead, snapshot::Matches};
use crate::rest::time;
use history::query::{EntityKind, GROUP_STAGE, regulation};
use record::{ClockRecord, FootballRecord, Key, MatchRecord, MatchSummary, Status, Vocabulary};

/// What no feed provides is `null`; docs/API.md lists the fields that always are.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub(super) struct Event {
    pub id: Key,
    pub league_id: Option<Key>,
    pub season_id: Option<Key>,
    pub home_team_id: Option<Key>,
    pub home_team: String,
    pub away_team_id: Option<Key>,
    pub away_team: String,
    pub home_coach_id: Option<Key>,
    pub away_coach_id: Option<Key>,
    pub referee_id: Option<Key>,
    pub venue_id: Option<Key>,
    /// `2026-07-31T00:30:00+00:00`.
    pub event_date: Option<String>,
    pub status: &'static str,
    pub replaced_by: Option<Key>,
    pub round_number: Option<u16>,
    pub round_name: String,
    pub group_name: Option<String>,
    /// `1T`, `HT`, `2T`, `ET`, `PEN`, `FT` or empty.
    pub period: &'static str,
    /// Whole minutes that the clock shows, while the match is in play.
    pub current_minute: Option<u32>,
    /// Without extra time and shoot-out.
    pub home_score: Option<u32>,
    pub away_score: Option<u32>,
    pub home_score_ht: Option<u16>,
    pub away_score_ht: Option<u16>,
    pub penalty_shootout: Option<Sides>,
    /// Goals of extra time alone.
    pub extra_time_score: Option<Sides>,
    pub is_local_derby: bool,
    pub is_neutral_ground: bool,
    pub travel_distance_km: Option<f64>,
    pub weather: Option<Weather>,
    pub pitch_condition: Option<i32>,
    pub attendance: Option<u32>,
    /// Whether the match can be followed on a socket now.
    pub live_websocket: bool,
    /// Whether its feed reports the position of the ball or the actions of players.
    pub websocket_plus: bool,
    pub highlights: Vec<Highlight>,
    pub head_to_head: HeadToHead,
    pub round_label: String,
    pub stage: Option<&'static str>,
    pub stage_name: Option<String>,
    pub has_xg: bool,
    pub previous_leg_event_id: Option<Key>,
    /// Absent if no source reports when a period began.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub period_starts: Option<PeriodStartTimes>,
}

/// When each period began, by the source's clock: `2026-07-31T00:30:00+00:00`. Those that no source reports are absent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub(super) struct PeriodStartTimes {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_half: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub second_half: Option<String>,
    /// The first half of extra time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub extra_first: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub extra_second: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shootout: Option<String>,
}

impl PeriodStartTimes {
    fn new(starts: &PeriodStarts) -> Self {
        let start = |period| starts.get(&period).and_then(|at| time::offset(*at));
        Self {
            first_half: start(Period::FirstHalf),
            second_half: start(Period::SecondHalf),
            extra_first: start(Period::ExtraFirst),
            extra_second: start(Period::ExtraSecond),
            shootout: start(Period::Shootout),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
pub(in crate::rest) struct Sides {
    pub home: u16,
    pub away: u16,
}

impl From<[u16; 2]> for Sides {
    fn from([home, away]: [u16; 2]) -> Self {
        Self { home, away }
    }
}

/// The weather at the ground, if a feed reports it.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub(super) struct Weather {
    /// 1 clear, 2 partly cloudy, 3 cloudy, 4 fog, 5 light rain, 6 rain, 7 snow, 8 thunderstorm.
    pub code: u8,
    /// The code as text; empty if it is none of these.
    pub description: &'static str,
    /// In metres per second.
    pub wind_speed: f64,
    pub temperature_c: f64,
}

impl Weather {
    fn new(weather: facts::event::Weather) -> Self {
        Self {
            code: weather.code,
            description: match weather.code {
                1 => "clear",
                2 => "partly cloudy",
                3 => "cloudy",
                4 => "fog",
                5 => "light rain",
                6 => "rain",
                7 => "snow",
                8 => "thunderstorm",
                _ => "",
            },
            wind_speed: f64::from(weather.wind_speed),
            temperature_c: f64::from(weather.temperature_c),
        }
    }
}

/// Never present, since no feed provides highlights.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub(super) struct Highlight {
    pub kind: String,
    pub title: String,
    pub url: String,
    pub thumbnail: Option<String>,
    pub published_at: Option<String>,
}

/// A row of `events/live/`: an event, whose `status` is `notstarted`, `inprogress` or `finished` here,
/// and whose `period` is `1st_half`, `halftime`, `2nd_half`, `extra_time`, `penalties`, `FT` or empty.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub(super) struct LiveEvent {
    #[serde(flatten)]
    pub event: Event,
    pub league_name: Option<String>,
    /// When the match last changed: `2026-07-31T00:30:00+00:00`.
    pub last_updated: String,
}

impl LiveEvent {
    pub(super) fn new(matches: &Matches<'_>, summary: &MatchSummary, event: Event) -> Self {
        Self {
            event: Event {
                status: summary.status.live_word(),
                period: summary.status.live_period(),
                ..event
            },
            league_name: league_name(matches, summary),
            last_updated: time::offset(summary.updated).unwrap_or_default(),
        }
    }
}

impl Event {
    pub(super) fn new(
        matches: &Matches<'_>,
        summary: &MatchSummary,
        head_to_head: HeadToHead,
    ) -> Self {
        let fresh = matches.fresh(summary.id);
        let names = fresh.and_then(|record| record.names.sides.as_ref());
        let name = |side: usize| match (names, summary.sides) {
            (Some(names), _) => names[side].name.to_string(),
            (None, Some(sides)) => matches.team_name(sides[side]),
            (None, None) => String::new(),
        };
        Self {
            head_to_head,
            ..Self::bare(summary, [name(0), name(1)], fresh.map(AsRef::as_ref), matches.now)
        }
    }

    /// Without how the sides met before. `fresh` is there while the hub knows the match.
    pub(super) fn bare(
        summary: &MatchSummary,
        names: [String; 2],
        fresh: Option<&MatchRecord>,
        now: Micros,
    ) -> Self {
        let [home_team, away_team] = names;
        let goals = regulation(summary);
        let live_websocket = fresh.is_some() && !summary.status.is_over();
        let football = fresh.and_then(|it| it.play.football());
        let round_name = summary.round_name.as_deref().unwrap_or_default().to_owned();
        Self {
            id: summary.id,
            league_id: summary.competition,
            season_id: summary.season,
            home_team_id: summary.sides.map(|sides| sides[0]),
            home_team,
            away_team_id: summary.sides.map(|sides| sides[1]),
            away_team,
            home_coach_id: summary.coaches[0],
            away_coach_id: summary.coaches[1],
            referee_id: summary.referee,
            venue_id: summary.venue,
            event_date: summary.start_text(time::offset),
            status: summary.status.word(Vocabulary::FootballV2),
            replaced_by: None,
            round_number: summary.round,
            group_name: summary.group.as_deref().map(ToOwned::to_owned),
            period: summary.status.period(),
            current_minute: football.and_then(|it| minute(it.clock?, summary.status, now)),
            home_score: goals.map(|goals| goals[0]),
            away_score: goals.map(|goals| goals[1]),
            home_score_ht: summary.half_time.map(|goals| goals[0]),
            away_score_ht: summary.half_time.map(|goals| goals[1]),
            penalty_shootout: summary.penalties.map(Sides::from),
            extra_time_score: summary.extra_time.map(Sides::from),
            is_local_derby: false,
            is_neutral_ground: summary.neutral.unwrap_or_default(),
            travel_distance_km: None,
            weather: summary.weather.map(Weather::new),
            pitch_condition: None,
            attendance: summary.attendance,
            live_websocket,
            websocket_plus: live_websocket && football.is_some_and(FootballRecord::is_full),
            highlights: Vec::new(),
            head_to_head: HeadToHead::default(),
            round_label: match summary.round {
                Some(round) if round_name.is_empty() => format!("Round {round}"),
                _ => round_name.clone(),
            },
            round_name,
            stage: summary.group.is_some().then_some(GROUP_STAGE),
            stage_name: stage_name(summary).map(ToOwned::to_owned),
            has_xg: summary.expected_goals.is_some(),
            previous_leg_event_id: None,
            period_starts: summary.period_starts.as_deref().map(PeriodStartTimes::new),
        }
    }
}

/// The group, else the name of the round.
pub(super) fn stage_name(summary: &MatchSummary) -> Option<&str> {
    summary.group.as_deref().or(summary.round_name.as_deref())
}

/// Completed minutes. Stoppage time stays at the last minute of its part, as the next one begins there.
pub(in crate::rest) fn minute(clock: ClockRecord, status: Status, now: Micros) -> Option<u32> {
    let minute = clock.second_at(now) / 60;
    match status {
        Status::Live | Status::Interrupted => Some(minute),
        _ => status.last_minute().map(|last| minute.min(last)),
    }
}

/// `2026-07-31`, UTC. Times of matches are full timestamps; this is for the days of a season.
pub(in crate::rest) fn day(at: Micros) -> Option<String> {
    let mut moment = time::offset(at)?;
    moment.truncate("2026-07-31".len());
    Some(moment)
}

/// The name of the league of a match.
fn league_name(matches: &Matches<'_>, summary: &MatchSummary) -> Option<String> {
    let fresh = matches.fresh(summary.id).and_then(|it| it.names.competition.as_ref());
    match (fresh, summary.competition) {
        (Some(league), _) => Some(league.name.to_string()),
        (None, league) => Some(matches.name(EntityKind::Competition, league?)),
    }
}

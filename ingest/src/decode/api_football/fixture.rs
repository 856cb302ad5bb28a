//! One fixture of an answer.

use std::sync::Arc;

use facts::event::{ExpectedGoals, Micros, Pair};
use serde_json::value::RawValue;

use super::{
    super::{json, json_error},
    event::{self, ApiFootballEvent},
    people::{self, PlayerStatistics, Sheet},
    value,
};
use crate::error::{DecodeError, Result};

#[derive(Debug, Clone, PartialEq)]
pub struct ApiFootballFixture {
    pub id: Arc<str>,
    pub start: Option<Micros>,
    /// When the first and the second half began.
    pub half_starts: [Option<Micros>; 2],
    pub status: Status,
    pub league: Option<League>,
    pub venue: Option<FixtureVenue>,
    pub referee: Option<Arc<str>>,
    /// Home, then away, as everywhere here.
    pub teams: Pair<NamedEntity>,
    /// With extra time, without the shoot-out; absent before the kick-off.
    pub goals: Option<Pair<u16>>,
    pub score: Score,
    /// Absent where the answer does not carry any, which is so unless fixtures are requested by id
    /// or live.
    pub events: Option<Vec<ApiFootballEvent>>,
    pub statistics: Vec<TeamStatistics>,
    pub line_ups: Vec<Sheet>,
    pub players: Vec<PlayerStatistics>,
    /// What is wrong with events of it.
    pub notices: Vec<DecodeError>,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Status {
    /// `NS`, `1H`, `HT`, ...
    pub short: Option<String>,
    /// Minutes played, without those added.
    pub elapsed: Option<u16>,
    pub extra: Option<u16>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct League {
    pub id: Arc<str>,
    /// Absent from prices in play.
    pub name: Option<Arc<str>>,
    /// The year in which it began.
    pub season: Option<Arc<str>>,
    /// `World` where it is of none.
    pub country: Option<Arc<str>>,
    /// `Regular Season - 27`, `Group A - 3`, `Round of 16`.
    pub round: Option<Arc<str>>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FixtureVenue {
    /// Absent for one that the provider has no record of.
    pub id: Option<Arc<str>>,
    pub name: Arc<str>,
    pub city: Option<Arc<str>>,
}

/// A team or a player.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedEntity {
    /// Absent for a player without a record at the provider.
    pub id: Option<Arc<str>>,
    pub name: Arc<str>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Score {
    pub half_time: Option<Pair<u16>>,
    /// What extra time added.
    pub extra_time: Option<Pair<u16>>,
    pub penalty: Option<Pair<u16>>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TeamStatistics {
    pub team: Arc<str>,
    /// Name and count of each; those unknown are left out.
    pub counts: Vec<(String, u32)>,
    pub expected_goals: Option<ExpectedGoals>,
}

/// A match has some thirty events; an answer that has so many more of one is no match.
const EVENTS_MAX: usize = 1000;

impl ApiFootballFixture {
    pub(super) fn parse(text: &str) -> Result<Self> {
        let raw: Raw<'_> = serde_json::from_str(text).map_err(|error| json_error(&error))?;
        let missing = |what: &str| value(format!("fixture without {what}"));
        let fixture = raw.fixture.ok_or_else(|| missing("its particulars"))?;
        let status = fixture.status.unwrap_or_default();
        let periods = fixture.periods.unwrap_or_default();
        let teams = raw.teams.ok_or_else(|| missing("teams"))?;
        let team = |team: Option<RawNamedEntity>| team.and_then(RawNamedEntity::team);
        let mut notices = Vec::new();
        let score = raw.score.unwrap_or_default();
        let league = raw.league.and_then(RawLeague::read);
        let unnamed = league.as_ref().filter(|league| league.name.is_none());
        notices.extend(unnamed.map(|league| value(format!("league {} without a name", league.id))));
        Ok(Self {
            id: fixture.id.ok_or_else(|| missing("an id"))?,
            start: moment(fixture.timestamp),
            half_starts: [periods.first, periods.second].map(moment),
            status: Status {
                short: status.short,
                elapsed: small(status.elapsed),
                extra: small(status.extra),
            },
            league,
            venue: fixture.venue.and_then(RawVenue::read),
            referee: fixture.referee,
            teams: [
                team(teams.home).ok_or_else(|| missing("a home team with a name"))?,
                team(teams.away).ok_or_else(|| missing("an away team with a name"))?,
            ],
            goals: pair(raw.goals),
            score: Score {
                half_time: pair(score.halftime),
                extra_time: pair(score.extratime),
                penalty: pair(score.penalty),
            },
            events: raw.events.and_then(|text| events(text.get(), &mut notices)),
            statistics: raw.statistics.into_iter().filter_map(RawStatistics::read).collect(),
            line_ups: raw.lineups.map(|text| people::sheets(text.get())).unwrap_or_default(),
            players: raw.players.map(|text| people::statistics(text.get())).unwrap_or_default(),
            notices,
        })
    }
}

pub(super) fn events(text: &str, notices: &mut Vec<DecodeError>) -> Option<Vec<ApiFootballEvent>> {
    let all: Vec<&RawValue> = serde_json::from_str(text).ok()?;
    if all.len() > EVENTS_MAX {
        notices.push(value(format!("{} events of one fixture", all.len())));
    }
    let mut events = Vec::new();
    for text in all.into_iter().take(EVENTS_MAX) {
        match event::parse(text.get()) {
            Ok(event) => events.push(event),
            Err(error) => notices.push(error),
        }
    }
    Some(events)
}

json::lenient! {
    struct Raw<'a> {
        fixture: Option<RawFixture> as "json::known_value",
        league: Option<RawLeague> as "json::known_value",
        teams: Option<RawTeams> as "json::known_value",
        goals: Option<RawPair> as "json::known_value",
        score: Option<RawScore> as "json::known_value",
        #[serde(borrow)]
        events: Option<&'a RawValue>,
        statistics: Vec<RawStatistics> as "json::known_all",
        #[serde(borrow)]
        lineups: Option<&'a RawValue>,
        #[serde(borrow)]
        players: Option<&'a RawValue>,
    }

    struct RawFixture {
        id: Option<Arc<str>> as "json::key",
        timestamp: Option<u64> as "json::whole",
        periods: Option<RawPeriods> as "json::known_value",
        status: Option<RawStatus> as "json::known_value",
        referee: Option<Arc<str>> as "json::key",
        venue: Option<RawVenue> as "json::known_value",
    }

    #[derive(Default)]
    struct RawPeriods {
        first: Option<u64> as "json::whole",
        second: Option<u64> as "json::whole",
    }

    struct RawVenue {
        id: Option<Arc<str>> as "json::key",
        name: Option<Arc<str>> as "json::key",
        city: Option<Arc<str>> as "json::key",
    }

    #[derive(Default)]
    struct RawStatus {
        short: Option<String> as "json::known_value",
        elapsed: Option<u64> as "json::whole",
        extra: Option<u64> as "json::whole",
    }

    pub(super) struct RawLeague {
        id: Option<Arc<str>> as "json::key",
        name: Option<Arc<str>> as "json::key",
        season: Option<Arc<str>> as "json::key",
        country: Option<Arc<str>> as "json::key",
        round: Option<Arc<str>> as "json::key",
    }

    pub(super) struct RawNamedEntity {
        id: Option<Arc<str>> as "json::key",
        name: Option<Arc<str>> as "json::key",
    }

    struct RawTeams {
        home: Option<RawNamedEntity> as "json::known_value",
        away: Option<RawNamedEntity> as "json::known_value",
    }

    struct RawPair {
        home: Option<u16> as "json::small",
        away: Option<u16> as "json::small",
    }

    #[derive(Default)]
    struct RawScore {
        halftime: Option<RawPair> as "json::known_value",
        extratime: Option<RawPair> as "json::known_value",
        penalty: Option<RawPair> as "json::known_value",
    }

    pub(super) struct RawStatistics {
        team: Option<RawNamedEntity> as "json::known_value",
        statistics: Vec<RawCount> as "json::known_all",
    }

    struct RawCount {
        #[serde(rename = "type")]
        kind: Option<String> as "json::known_value",
        /// A number, or a share as text: `"47%"`.
        value: Option<Arc<str>> as "json::key",
    }
}

impl RawNamedEntity {
    /// A team requires an id and a name.
    fn team(self) -> Option<NamedEntity> {
        Some(NamedEntity { id: Some(self.id?), name: self.name? })
    }

    /// A player without a record at the provider has a name and no id.
    pub(super) fn player(self) -> Option<NamedEntity> {
        Some(NamedEntity { name: self.name?, id: self.id })
    }

    pub(super) fn into_id(self) -> Option<Arc<str>> {
        self.id
    }
}

impl RawLeague {
    pub(super) fn read(self) -> Option<League> {
        Some(League {
            id: self.id?,
            name: self.name,
            season: self.season,
            country: self.country,
            round: self.round,
        })
    }
}

impl RawVenue {
    fn read(self) -> Option<FixtureVenue> {
        Some(FixtureVenue { id: self.id, name: self.name?, city: self.city })
    }
}

impl RawStatistics {
    pub(super) fn read(self) -> Option<TeamStatistics> {
        let mut expected_goals = None;
        let counts = self.statistics.into_iter().filter_map(|count| {
            let (kind, text) = (count.kind?, count.value?);
            if kind == "expected_goals" {
                expected_goals = text.parse().ok().and_then(ExpectedGoals::from_goals);
                return None;
            }
            Some((kind, text.trim_end_matches('%').parse().ok()?))
        });
        let counts = counts.collect();
        Some(TeamStatistics { team: self.team?.into_id()?, counts, expected_goals })
    }
}

fn pair(sides: Option<RawPair>) -> Option<Pair<u16>> {
    let sides = sides?;
    Some([sides.home?, sides.away?])
}

/// From seconds since 1970.
pub(super) fn moment(timestamp: Option<u64>) -> Option<Micros> {
    Micros::try_from(timestamp?).ok()?.checked_mul(1_000_000)
}

pub(super) fn small(number: Option<u64>) -> Option<u16> {
    number.and_then(|number| u16::try_from(number).ok())
}

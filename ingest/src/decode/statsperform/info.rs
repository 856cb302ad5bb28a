//! Which match it is, who plays, and how it stands.

use std::sync::Arc;

use facts::{
    event::{Gender, Micros, Pair},
    football::Period,
};
use jiff::civil::Date;

use super::{super::json, NamedEntity, time};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MatchInfo {
    pub id: Arc<str>,
    pub date: Option<Date>,
    /// When it was to start.
    pub start: Option<Micros>,
    pub competition: Option<NamedEntity>,
    pub season: Option<Arc<str>>,
    /// Of the competition.
    pub country: Option<Arc<str>>,
    /// As the name of the rule set says: `Men`, `Women`.
    pub gender: Option<Gender>,
    /// The matchday of a league.
    pub week: Option<u16>,
    /// `Regular Season`, `Semi-finals`.
    pub stage: Option<Arc<str>>,
    /// `Group A`.
    pub series: Option<Arc<str>>,
    pub venue: Option<NamedEntity>,
    pub neutral: Option<bool>,
    /// Home, then away.
    pub sides: Option<Pair<NamedEntity>>,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Details {
    /// `Played`, `Playing`, `Postponed`, ..., as it stands.
    pub status: Option<String>,
    /// The period is the one after the match.
    pub is_over: bool,
    /// Every period begun.
    pub halves: Vec<PlayedPeriod>,
    pub scores: Scores,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PlayedPeriod {
    pub period: Period,
    pub start: Option<Micros>,
    /// How long it took.
    pub length_us: Option<Micros>,
}

/// Home, then away.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Scores {
    pub half_time: Option<Pair<u16>>,
    /// After 90 minutes.
    pub full_time: Option<Pair<u16>>,
    pub extra_time: Option<Pair<u16>>,
    pub total: Option<Pair<u16>>,
    pub shootout: Option<Pair<u16>>,
}

impl MatchInfo {
    /// Of `matchInfo`; `None` if that does not say which match it is.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let raw: RawInfo = serde_json::from_str(text).ok()?;
        let date = raw.date.as_deref().and_then(time::date);
        let neutral = raw.venue.as_ref().and_then(|venue| match venue.neutral.as_deref() {
            Some("yes") => Some(true),
            Some("no") => Some(false),
            _ => None,
        });
        let country = raw.competition.as_ref().and_then(|it| it.country.as_ref()?.name.clone());
        Some(Self {
            id: raw.id?,
            date,
            start: date.and_then(|day| time::on(day, raw.time.as_deref()?)),
            competition: raw.competition.and_then(RawCompetition::named),
            country,
            gender: raw.ruleset.and_then(|it| Gender::named(it.name.as_deref()?)),
            week: small(raw.week),
            stage: raw.stage.and_then(|it| it.name),
            series: raw.series.and_then(|it| it.name),
            neutral,
            venue: raw.venue.and_then(RawVenue::named),
            season: raw.tournament_calendar.and_then(|it| it.name),
            sides: sides(&raw.contestant),
        })
    }
}

impl Details {
    pub(super) fn parse(text: &str) -> Self {
        let raw: RawDetails = serde_json::from_str(text).unwrap_or_default();
        let mut halves: Vec<_> = raw.period.iter().filter_map(RawPeriod::read).collect();
        halves.sort_by_key(|half| half.period);
        halves.dedup_by_key(|half| half.period);
        let scores = raw.scores.unwrap_or_default();
        let pair = |score: Option<RawScore>| {
            let score = score?;
            Some([small(score.home)?, small(score.away)?])
        };
        Self {
            status: raw.match_status,
            is_over: raw.period_id == Some(AFTER_THE_MATCH),
            halves,
            scores: Scores {
                half_time: pair(scores.ht),
                full_time: pair(scores.ft),
                extra_time: pair(scores.et),
                total: pair(scores.total),
                shootout: pair(scores.pen),
            },
        }
    }
}

/// `periodId` after the match.
const AFTER_THE_MATCH: u64 = 14;

/// As `position` says, of which one is enough; by their order where it does not.
fn sides(contestants: &[RawNamedEntity]) -> Option<Pair<NamedEntity>> {
    let at =
        |wanted: &str| contestants.iter().position(|it| it.position.as_deref() == Some(wanted));
    let (home, away) = match (at("home"), at("away")) {
        (Some(home), Some(away)) => (home, away),
        (Some(home), None) => (home, usize::from(home == 0)),
        (None, Some(away)) => (usize::from(away == 0), away),
        (None, None) => (0, 1),
    };
    let named = |at: usize| contestants.get(at)?.clone().named();
    let sides = [named(home)?, named(away)?];
    (sides[0].id != sides[1].id).then_some(sides)
}

fn small(number: Option<u64>) -> Option<u16> {
    number.and_then(|number| u16::try_from(number).ok())
}

json::lenient! {
    #[serde(rename_all = "camelCase")]
    struct RawInfo {
        id: Option<Arc<str>> as "json::key",
        date: Option<String> as "json::known_value",
        time: Option<String> as "json::known_value",
        competition: Option<RawCompetition> as "json::known_value",
        ruleset: Option<RawNamedEntity> as "json::known_value",
        week: Option<u64> as "json::whole",
        stage: Option<RawNamedEntity> as "json::known_value",
        series: Option<RawNamedEntity> as "json::known_value",
        venue: Option<RawVenue> as "json::known_value",
        tournament_calendar: Option<RawNamedEntity> as "json::known_value",
        contestant: Vec<RawNamedEntity> as "json::known_all",
    }

    struct RawCompetition {
        id: Option<Arc<str>> as "json::key",
        name: Option<Arc<str>> as "json::key",
        country: Option<RawNamedEntity> as "json::known_value",
    }

    #[serde(rename_all = "camelCase")]
    struct RawVenue {
        id: Option<Arc<str>> as "json::key",
        long_name: Option<Arc<str>> as "json::key",
        short_name: Option<Arc<str>> as "json::key",
        neutral: Option<String> as "json::known_value",
    }
}

impl RawCompetition {
    fn named(self) -> Option<NamedEntity> {
        Some(NamedEntity { id: self.id?, name: self.name? })
    }
}

impl RawVenue {
    fn named(self) -> Option<NamedEntity> {
        Some(NamedEntity { id: self.id?, name: self.long_name.or(self.short_name)? })
    }
}

json::lenient! {
    #[derive(Clone)]
    struct RawNamedEntity {
        id: Option<Arc<str>> as "json::key",
        name: Option<Arc<str>> as "json::key",
        position: Option<String> as "json::known_value",
    }
}

impl RawNamedEntity {
    fn named(self) -> Option<NamedEntity> {
        Some(NamedEntity { id: self.id?, name: self.name? })
    }
}

json::lenient! {
    #[derive(Default)]
    #[serde(rename_all = "camelCase")]
    struct RawDetails {
        match_status: Option<String> as "json::known_value",
        period_id: Option<u64> as "json::whole",
        period: Vec<RawPeriod> as "json::known_all",
        scores: Option<RawScores> as "json::known_value",
    }

    #[serde(rename_all = "camelCase")]
    struct RawPeriod {
        id: Option<u64> as "json::whole",
        start: Option<String> as "json::known_value",
        length_min: Option<u64> as "json::whole",
        length_sec: Option<u64> as "json::whole",
    }

    #[derive(Default)]
    struct RawScores {
        ht: Option<RawScore> as "json::known_value",
        ft: Option<RawScore> as "json::known_value",
        et: Option<RawScore> as "json::known_value",
        pen: Option<RawScore> as "json::known_value",
        total: Option<RawScore> as "json::known_value",
    }

    struct RawScore {
        home: Option<u64> as "json::whole",
        away: Option<u64> as "json::whole",
    }
}

impl RawPeriod {
    fn read(&self) -> Option<PlayedPeriod> {
        let period = self.id.and_then(Period::numbered)?;
        let minutes = self.length_min.filter(|minutes| *minutes <= MINUTES_MAX);
        let seconds = self.length_sec.filter(|seconds| *seconds < 60).unwrap_or(0);
        let length_us = minutes.map(|minutes| (minutes * 60 + seconds) as Micros * 1_000_000);
        let start = self.start.as_deref().and_then(time::instant);
        Some(PlayedPeriod { period, start, length_us })
    }
}

/// A period with all its stoppages has never come near two hours; more is a broken clock.
const MINUTES_MAX: u64 = 120;

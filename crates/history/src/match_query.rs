//! A list of matches as a client requests it, in every interface.

use std::sync::Arc;

use base::Micros;
use facts::event::Sport;
use jiff::{Timestamp, tz::TimeZone};

use record::{Key, MatchSummary, Status};

/// The name of the stage that contains all groups.
pub const GROUP_STAGE: &str = "group";

/// The filters, the order and the page of a list of matches. Absent filters match everything.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct MatchQuery {
    pub sport: Option<Sport>,
    /// One of these matches.
    pub ids: Option<Vec<Key>>,
    /// From this time on. Matches without a start are on no day.
    pub from: Option<Micros>,
    /// Before this time.
    pub before: Option<Micros>,
    /// Where a match of which only the day is known begins at midnight; absent: in UTC.
    pub zone: Option<TimeZone>,
    pub competition: Option<Key>,
    /// In one of these competitions.
    pub competitions: Option<Vec<Key>>,
    pub season: Option<Key>,
    /// In one of these seasons.
    pub seasons: Option<Vec<Key>>,
    /// Either side.
    pub team: Option<Key>,
    /// Either side is one of these teams.
    pub teams: Option<Vec<Key>>,
    /// One side is one of the first, the other one of the second.
    pub meeting: Option<[Vec<Key>; 2]>,
    /// One of these.
    pub statuses: Option<Vec<Status>>,
    pub round: Option<u16>,
    /// The name of the round, in any case.
    pub round_name: Option<String>,
    /// The name of the group or the round, in any case; [`GROUP_STAGE`] selects all groups.
    pub stage: Option<String>,
    /// Only matches with extra time.
    pub after_extra_time: bool,
    pub venue: Option<Key>,
    pub referee: Option<Key>,
    pub manager: Option<Key>,
    /// Changed at this time or later.
    pub updated_since: Option<Micros>,
    /// Newest first; otherwise oldest first.
    pub newest_first: bool,
    pub window: Window,
}

/// A page of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    pub offset: usize,
    pub limit: usize,
}

impl Window {
    /// All rows.
    pub const ALL: Self = Self { offset: 0, limit: usize::MAX };
    /// No rows, only their number.
    pub const COUNT: Self = Self { offset: 0, limit: 0 };
    /// The first row.
    pub const FIRST: Self = Self { offset: 0, limit: 1 };
}

impl Default for Window {
    fn default() -> Self {
        Self::ALL
    }
}

/// The number of matches that a query selects, and those in its window.
#[derive(Debug, Clone, PartialEq)]
pub struct MatchPage {
    pub count: usize,
    pub summaries: Vec<Arc<MatchSummary>>,
}

impl MatchQuery {
    /// All matches of a sport.
    #[must_use]
    pub fn of_sport(sport: Sport) -> Self {
        Self { sport: Some(sport), ..Self::default() }
    }

    /// Whether a match passes all filters.
    #[must_use]
    pub fn selects(&self, summary: &MatchSummary) -> bool {
        let plays = |team: &Key| summary.sides.is_some_and(|sides| sides.contains(team));
        is_or_any(self.sport, Some(summary.sport))
            && is_among(self.ids.as_deref(), Some(summary.id))
            && self.is_on_day(summary)
            && is_or_any(self.competition, summary.competition)
            && is_among(self.competitions.as_deref(), summary.competition)
            && is_or_any(self.season, summary.season)
            && is_among(self.seasons.as_deref(), summary.season)
            && self.team.as_ref().is_none_or(plays)
            && self.teams.as_ref().is_none_or(|teams| teams.iter().any(plays))
            && self.meeting.as_ref().is_none_or(|meeting| is_meeting(summary, meeting))
            && is_among(self.statuses.as_deref(), Some(summary.status))
            && is_or_any(self.round, summary.round)
            && self.round_name.as_deref().is_none_or(|name| is_round(summary, name))
            && self.stage.as_deref().is_none_or(|stage| is_stage(summary, stage))
            && self.updated_since.is_none_or(|since| since <= summary.updated)
            && (!self.after_extra_time || summary.extra_time.is_some())
            && is_or_any(self.venue, summary.venue)
            && is_or_any(self.referee, summary.referee)
            && self.manager.is_none_or(|manager| summary.coaches.contains(&Some(manager)))
    }

    fn is_on_day(&self, summary: &MatchSummary) -> bool {
        match self.start(summary) {
            Some(start) => {
                self.from.is_none_or(|from| from <= start)
                    && self.before.is_none_or(|before| start < before)
            }
            None => self.from.is_none() && self.before.is_none(),
        }
    }

    /// When a match starts in the zone of the query.
    fn start(&self, summary: &MatchSummary) -> Option<Micros> {
        let start = summary.start?;
        let zone = self.zone.as_ref().filter(|_| summary.day_only);
        let Some(zone) = zone else { return Some(start) };
        let day = Timestamp::from_microsecond(start).ok()?.to_zoned(TimeZone::UTC).date();
        Some(day.to_zoned(zone.clone()).ok()?.timestamp().as_microsecond())
    }

    /// Whether it depends on the zone which matches it selects.
    #[must_use]
    pub fn has_days_in_zone(&self) -> bool {
        self.zone.is_some() && (self.from.is_some() || self.before.is_some())
    }

    /// Whether it has a filter by a field that neither the rows nor the postings of the index have, so that
    /// the summary of each match must be read.
    pub(crate) fn reads_summaries(&self) -> bool {
        self.round_name.is_some()
            || self.stage.is_some()
            || self.after_extra_time
            || self.updated_since.is_some()
            || self.has_days_in_zone()
    }

    /// Whether it selects matches of some competitions, seasons or teams, or matches by their ids.
    #[must_use]
    pub fn is_narrow(&self) -> bool {
        let one = [self.competition, self.season, self.team];
        let several = [&self.ids, &self.competitions, &self.seasons, &self.teams];
        one.iter().any(Option::is_some)
            || several.iter().any(|ids| ids.is_some())
            || self.meeting.is_some()
    }
}

fn is_or_any<T: PartialEq + Copy>(requested: Option<T>, value: Option<T>) -> bool {
    requested.is_none() || requested == value
}

fn is_among<T: PartialEq>(requested: Option<&[T]>, value: Option<T>) -> bool {
    requested.is_none_or(|any| value.is_some_and(|value| any.contains(&value)))
}

fn is_meeting(summary: &MatchSummary, [first, second]: &[Vec<Key>; 2]) -> bool {
    summary.sides.is_some_and(|[home, away]| {
        first.contains(&home) && second.contains(&away)
            || first.contains(&away) && second.contains(&home)
    })
}

fn is_round(summary: &MatchSummary, name: &str) -> bool {
    summary.round_name.as_deref().is_some_and(|round_name| round_name.eq_ignore_ascii_case(name))
}

fn is_stage(summary: &MatchSummary, stage: &str) -> bool {
    let is_groups = summary.group.is_some() && stage.eq_ignore_ascii_case(GROUP_STAGE);
    let names = [summary.group.as_deref(), summary.round_name.as_deref()];
    is_groups || names.into_iter().flatten().any(|name| name.eq_ignore_ascii_case(stage))
}

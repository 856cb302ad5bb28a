//! The reported state of one fixture, and the facts by which an image differs from it.

use std::collections::BTreeMap;

use facts::{
    event::{
        Class, Competition, ExpectedGoals, Fact, Fixture, FootballFact, FootballScore,
        FootballStatus, Id, Incident, IncidentKind, Micros, Pair, Participant, Side, Stat,
    },
    football::Period,
};

use super::{
    PROVIDER, image, incident_history::IncidentHistory, odds::FixtureMarkets, people::People,
    statistics, status,
};
use crate::{
    decode::api_football::{
        ApiFootballFixture, FixtureOdds, FixturePart, League, NamedEntity, PartContent, Sheet,
        TeamStatistics,
    },
    error::{DecodeError, RefusalKind},
    normalize::football::{add, period_name},
};

#[derive(Debug)]
pub(super) struct FixtureState {
    pub(super) match_id: Id,
    /// The number of its last update, among those of all fixtures.
    pub(super) last_update: u64,
    fixture: Option<Fixture>,
    status: Option<FootballStatus>,
    half_starts: [Option<Micros>; 2],
    /// The match clock in seconds, and whether it runs.
    clock: Option<(u32, bool)>,
    score: Option<FootballScore>,
    incidents: IncidentHistory,
    stats: Pair<BTreeMap<Stat, u32>>,
    expected_goals: Pair<Option<ExpectedGoals>>,
    people: People,
    markets: FixtureMarkets,
    /// The last image without its events, statistics and players, to which an answer about one of these belongs.
    image: Option<Box<ApiFootballFixture>>,
    /// The notices of the last image, which are not repeated for the next.
    notices: Vec<DecodeError>,
}

impl FixtureState {
    pub(super) fn new(key: &str) -> Self {
        Self {
            match_id: Id::derive(PROVIDER, "match", key),
            last_update: 0,
            fixture: None,
            status: None,
            half_starts: [None, None],
            clock: None,
            score: None,
            incidents: IncidentHistory::default(),
            stats: Pair::default(),
            expected_goals: [None, None],
            people: People::default(),
            markets: FixtureMarkets::default(),
            image: None,
            notices: Vec::new(),
        }
    }

    /// Applies an image and returns the facts that are new.
    pub(super) fn update(
        &mut self,
        mut image: ApiFootballFixture,
        notices: &mut Vec<DecodeError>,
    ) -> Vec<Fact> {
        let mut wrong = std::mem::take(&mut image.notices);
        let incidents = self.read_incidents(&mut image, &mut wrong);
        let mut facts: Vec<_> = self.fixture(&image).map(Fact::Fixture).into_iter().collect();
        facts.extend(self.people.about(&image).map(|about| Fact::About(Box::new(about))));
        let status = self.status(&image, &mut wrong);
        let over =
            matches!(self.status, Some(FootballStatus::Finished | FootballStatus::Abandoned));
        let mut football = self.score(&image, incidents.as_deref());
        if let Some(incidents) = incidents {
            football.extend(self.incidents.update(incidents, self.score));
        }
        // A final whistle comes after what happened before it, a kick-off before what follows.
        football.splice(if over { football.len()..football.len() } else { 0..0 }, status);
        football.extend(self.statistics(&image));
        football.extend(self.people.line_ups(&image));
        football.extend(self.people.statistics(&image));
        facts.extend(football.into_iter().map(Fact::Football));
        if wrong != self.notices {
            notices.extend(wrong.iter().cloned());
            self.notices = wrong;
        }
        (image.statistics, image.players) = (Vec::new(), Vec::new());
        if let Some(last) = self.image.take() {
            keep_line_ups(&mut image, last.line_ups);
        }
        self.image = Some(Box::new(image));
        facts
    }

    /// The last image with this part of it; `None` if there was no image.
    pub(super) fn image_with(&self, part: FixturePart) -> Option<ApiFootballFixture> {
        let mut image = ApiFootballFixture::clone(self.image.as_deref()?);
        image.notices = part.notices;
        match part.content {
            PartContent::Events(events) => image.events = Some(events),
            PartContent::Statistics(statistics) => image.statistics = statistics,
            PartContent::LineUps(line_ups) => image.line_ups = line_ups,
            PartContent::Players(players) => image.players = players,
        }
        Some(image)
    }

    /// Applies prices. The first ones of a match that is not known otherwise name its fixture, without the teams, which
    /// they lack. Returns the facts, and the number of prices that changed.
    pub(super) fn odds(
        &mut self,
        odds: &FixtureOdds,
        is_filtered: bool,
        notices: &mut Vec<DecodeError>,
    ) -> (Vec<Fact>, u32) {
        let (mut facts, prices) = self.markets.update(odds, is_filtered, notices);
        if self.fixture.is_none() && !facts.is_empty() {
            let fixture = Fixture {
                provider: PROVIDER.into(),
                provider_key: odds.fixture.clone(),
                competition: odds.league.as_ref().and_then(competition),
                start: odds.start,
                ..Fixture::default()
            };
            facts.insert(0, Fact::Fixture(fixture.clone()));
            self.fixture = Some(fixture);
        }
        (facts, prices)
    }

    fn fixture(&mut self, image: &ApiFootballFixture) -> Option<Fixture> {
        let mut fixture = fixture(image);
        if let (None, Some(last)) = (&fixture.competition, &self.fixture) {
            fixture.competition = last.competition.clone();
        }
        let new = self.fixture.as_ref() != Some(&fixture);
        self.fixture = Some(fixture);
        new.then(|| self.fixture.clone()).flatten()
    }

    /// The incidents of the image, if it contains any information about them.
    fn read_incidents(
        &self,
        image: &mut ApiFootballFixture,
        wrong: &mut Vec<DecodeError>,
    ) -> Option<Vec<image::IncidentImage>> {
        let events = image.events.take()?;
        let has_goals = image.goals.is_some_and(|goals| goals != [0, 0]);
        if events.is_empty() && !self.incidents.is_empty() && has_goals {
            let reason = "a score and no events, where there were some";
            wrong.push(DecodeError::new(RefusalKind::Value, reason));
            return None;
        }
        let short = image.status.short.as_deref().unwrap_or_default();
        let (_, shootout) = status::beyond_full_time(short);
        let stated =
            image::FixtureTotals { goals: image.goals, shootout, over: status::is_over(short) };
        Some(image::incidents(events, &image.teams, stated, wrong))
    }

    fn status(
        &mut self,
        image: &ApiFootballFixture,
        wrong: &mut Vec<DecodeError>,
    ) -> Vec<FootballFact> {
        let Some(short) = image.status.short.as_deref() else { return Vec::new() };
        let elapsed = image.status.elapsed;
        let Some((status, running)) = status::status(short, elapsed, self.status) else {
            let reason = format!("unknown status {short:?}");
            wrong.push(DecodeError::new(RefusalKind::Value, reason));
            return Vec::new();
        };
        let mut facts = Vec::new();
        let new = self.status.replace(status) != Some(status);
        if status.has_begun() {
            facts.extend(self.half_starts(image));
        }
        facts.extend(new.then_some(FootballFact::Status(status)));
        facts.extend(self.clock(image, running));
        facts.extend(whistle(status, elapsed).filter(|_| new).map(FootballFact::Incident));
        facts
    }

    /// The starts of the halves that are new or corrected.
    fn half_starts(&mut self, image: &ApiFootballFixture) -> Vec<FootballFact> {
        let halves = [Period::FirstHalf, Period::SecondHalf].into_iter().zip(image.half_starts);
        let mut facts = Vec::new();
        for ((period, start), last) in halves.zip(&mut self.half_starts) {
            let Some(at) = start else { continue };
            if last.replace(at) != Some(at) {
                facts.push(FootballFact::PeriodStart { period, at });
            }
        }
        facts
    }

    /// The clock has whole minutes and is emitted when they change. Between two images with the same
    /// minute it keeps running.
    fn clock(&mut self, image: &ApiFootballFixture, running: bool) -> Option<FootballFact> {
        let elapsed = u32::from(image.status.elapsed?);
        let extra = u32::from(image.status.extra.filter(|_| running).unwrap_or(0));
        let second = (elapsed + extra) * 60;
        let new = self.clock.replace((second, running)) != Some((second, running));
        new.then_some(FootballFact::Clock { second, running })
    }

    /// There is no score before the kick-off. Fields missing from the image keep their last value.
    fn score(
        &mut self,
        image: &ApiFootballFixture,
        incidents: Option<&[image::IncidentImage]>,
    ) -> Vec<FootballFact> {
        let last = self.score.unwrap_or_default();
        let Some(goals) = image.goals.or_else(|| self.score.map(|score| score.goals)) else {
            return Vec::new();
        };
        let short = image.status.short.as_deref().unwrap_or_default();
        let (extra_time, shootout) = status::beyond_full_time(short);
        // During the first half the provider writes the score of the moment there; an interruption may be in it.
        let half_over = !matches!(
            self.status,
            None | Some(
                FootballStatus::NotStarted
                    | FootballStatus::FirstHalf
                    | FootballStatus::Live
                    | FootballStatus::Interrupted
            )
        );
        let score = FootballScore {
            goals,
            half_time: image.score.half_time.filter(|_| half_over).or(last.half_time),
            extra_time: image.score.extra_time.filter(|_| extra_time).or(last.extra_time),
            penalties: image
                .score
                .penalty
                .or_else(|| incidents.map(kicks))
                .filter(|_| shootout)
                .or(last.penalties),
        };
        let new = self.score.replace(score) != Some(score);
        new.then_some(FootballFact::Score(score)).into_iter().collect()
    }

    fn statistics(&mut self, image: &ApiFootballFixture) -> Vec<FootballFact> {
        let of_side = |statistics: &TeamStatistics| {
            let is = |side: &Side| image.teams[side.index()].id.as_ref() == Some(&statistics.team);
            let side = Side::BOTH.into_iter().find(is)?;
            let counts = statistics::changed(statistics, side, &mut self.stats[side.index()]);
            let expected = &mut self.expected_goals[side.index()];
            Some([counts, statistics::expected_goals(statistics, side, expected)])
        };
        image.statistics.iter().filter_map(of_side).flatten().flatten().collect()
    }
}

/// Keeps the last line-ups of the teams that have none in the image.
fn keep_line_ups(image: &mut ApiFootballFixture, mut last: Vec<Sheet>) {
    last.retain(|kept| {
        let plays = image.teams.iter().any(|team| team.id.as_ref() == Some(&kept.team));
        plays && !image.line_ups.iter().any(|new| new.team == kept.team)
    });
    image.line_ups.extend(last);
}

fn fixture(image: &ApiFootballFixture) -> Fixture {
    Fixture {
        provider: PROVIDER.into(),
        provider_key: image.id.clone(),
        competition: image.league.as_ref().and_then(competition),
        start: image.start,
        date: None,
        sides: Some(image.teams.each_ref().map(team)),
        class: Class::in_country(
            image.league.as_ref().and_then(|league| league.country.as_deref()),
        ),
    }
}

fn competition(league: &League) -> Option<Competition> {
    Some(Competition {
        id: Id::derive(PROVIDER, "competition", &league.id),
        name: league.name.clone()?,
        season: league.season.clone(),
    })
}

fn team(named: &NamedEntity) -> Participant {
    let key = named.id.as_deref().unwrap_or(&named.name);
    Participant { id: Id::derive(PROVIDER, "team", key), name: named.name.clone() }
}

/// Kicks scored, used until the provider's own count is available.
fn kicks(incidents: &[image::IncidentImage]) -> Pair<u16> {
    let mut kicks = [0; 2];
    for incident in incidents {
        if incident.incident.kind == (IncidentKind::Shootout { scored: true }) {
            add(&mut kicks, incident.side);
        }
    }
    kicks
}

/// The incident for a status that begins with a whistle. Whistles missed between two images are not
/// added later.
fn whistle(status: FootballStatus, elapsed: Option<u16>) -> Option<Incident> {
    let minute = match status {
        FootballStatus::FirstHalf => Period::FirstHalf.first_minute(),
        FootballStatus::HalfTime => Period::FirstHalf.last_minute(),
        FootballStatus::SecondHalf => Period::SecondHalf.first_minute(),
        FootballStatus::ExtraFirst => Period::ExtraFirst.first_minute(),
        FootballStatus::ExtraHalf => Period::ExtraFirst.last_minute(),
        FootballStatus::ExtraSecond => Period::ExtraSecond.first_minute(),
        FootballStatus::Penalties => Period::ExtraSecond.last_minute(),
        FootballStatus::Finished | FootballStatus::Abandoned => elapsed?.max(1),
        FootballStatus::NotStarted
        | FootballStatus::Postponed
        | FootballStatus::Cancelled
        | FootballStatus::Live
        | FootballStatus::Interrupted => return None,
    };
    let eid = format!("period-{}", period_name(status));
    Some(Incident::new(eid, IncidentKind::Period(status), (minute, None), None))
}

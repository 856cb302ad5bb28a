//! StatsBomb events to football facts.
//!
//! Home is the team of the match record, or else of the first `Starting XI`. Without the record there is no day. Periods begin with their first event and end with
//! their first `Half End` after which nothing happens on the pitch; it comes once for each team, and now and then one more during
//! play. The match is over if its last period has one, or if the match record or the separate line-ups have a result. Time stamps fall back by a moment now and then, as the
//! provider's own documents show: then the clock waits. Players are named as the events name them.
//! The line-ups are those of the first whistle.

mod ball;
mod count;
mod incident;
mod own_goal;
mod roster;
mod shot;

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    sync::Arc,
};

use facts::{
    event::{
        About, Analysis, Class, Competition, Fixture, FootballFact, FootballStatus, Id, Side, Venue,
    },
    football::Period,
};

use self::{own_goal::OwnGoals, roster::Roster};
use super::{
    EventByEvent, Interpretation,
    football::{Course, Recorded, add},
};
use crate::{
    decode::statsbomb::{Document, Kind, MatchRecord, NamedEntity, Squad, StatsBombEvent},
    error::{DecodeError, RefusalKind, Result},
};

const PROVIDER: &str = "statsbomb";

/// Makes facts of one match. Events are given to it in order, then [`finish`](Self::finish).
#[derive(Debug)]
pub struct Normalizer {
    roster: Roster,
    course: Course,
    own_goals: OwnGoals,
    /// The players of passes that a goal came of, by the id of the pass.
    assists: HashMap<Arc<str>, NamedEntity>,
    /// The last event of each period that has a place on the pitch.
    last_played: BTreeMap<Period, Arc<str>>,
    /// The result that the match record states, or the line-ups.
    recorded: Recorded,
    /// The document has a part of the events.
    is_fragment: bool,
    /// The period of the last `Half End`.
    half_end: Option<Period>,
    /// The match record has other teams.
    of_others: bool,
    /// Ids of events, each of which counts once.
    seen: HashSet<Arc<str>>,
}

impl Normalizer {
    /// `squads` are the separate line-ups and `record` the row of the list of matches, if there are
    /// any; `match_key` is the provider's id of the match, which is only in the file name.
    ///
    /// # Errors
    ///
    /// If the document does not say who plays.
    pub fn new(
        document: &Document,
        squads: &[Squad],
        record: Option<MatchRecord>,
        match_key: &str,
    ) -> Result<Self> {
        let roster = Roster::new(document, record.as_ref())?;
        let (record, of_others) = match record {
            Some(record) if !roster.is_of(&record) => (None, true),
            record => (record, false),
        };
        let fixture = Fixture {
            provider: PROVIDER.into(),
            provider_key: match_key.into(),
            competition: record.as_ref().and_then(competition),
            start: None,
            date: record.as_ref().and_then(|record| record.date),
            sides: Some(roster.sides.clone()),
            class: record.as_ref().map(class).unwrap_or_default(),
        };
        let passes = document
            .events
            .iter()
            .flatten()
            .filter(|event| matches!(event.kind, Kind::Pass(pass) if pass.assist));
        let mut course = Course::new(Id::derive(PROVIDER, "match", match_key), fixture)
            .with(record.as_ref().map(about).unwrap_or_default());
        for event in document.events.iter().flatten() {
            if let (Kind::StartingXi(tactics), Some(side)) = (&event.kind, roster.side(&event.team))
            {
                let squad = squads
                    .iter()
                    .find(|squad| squad.team == event.team && roster::is_of_match(squad, tactics));
                course.line_up(side, roster::line_up(tactics, squad));
            }
        }
        let played = document.events.iter().flatten();
        Ok(Self {
            course,
            own_goals: own_goal::find(document, squads, &roster),
            assists: passes
                .filter_map(|event| Some((event.id.clone(), event.player.clone()?)))
                .collect(),
            last_played: played
                .filter(|event| event.location.is_some())
                .map(|event| (event.period, event.id.clone()))
                .collect(),
            recorded: match record.and_then(|record| record.goals) {
                Some(goals) => Recorded { goals: Some(goals), ..Recorded::default() },
                None => listed_goals(document, squads, &roster),
            },
            roster,
            is_fragment: document.is_fragment(),
            half_end: None,
            of_others,
            seen: HashSet::new(),
        })
    }
}

impl EventByEvent for Normalizer {
    type Event = StatsBombEvent;

    fn event(&mut self, event: &StatsBombEvent, out: &mut Interpretation) -> Result<()> {
        let side = self.check(event)?;
        self.seen.insert(event.id.clone());
        if let Some(Err(contradiction)) = self.own_goals.get(&event.id) {
            return Err(contradiction.clone());
        }
        self.course.enter(event.period, None, out);
        self.course.advance(event.since_start_us);
        self.held_by(event);
        let facts = self.facts(event, side);
        self.course.emit(facts, out);
        if event.kind == Kind::HalfEnd {
            self.half_end = Some(event.period);
            if self.is_played_to_the_end(event.period) {
                self.course.leave(out);
            }
        }
        Ok(())
    }

    /// Ends the match, with the score of its goals, or with the stated one if the events are a part. Data without the end of
    /// the match and without a result leaves it as it stands.
    fn finish(&mut self, out: &mut Interpretation) {
        if self.course.period().is_none() {
            return;
        }
        if self.of_others {
            let reason = "the match record has other teams than the events";
            out.notices.push(DecodeError::value(reason));
        }
        let is_whole = !self.is_fragment
            && self.half_end == self.course.period()
            && self.course.reaches_the_end(&Recorded::default());
        if is_whole || self.recorded.goals.is_some() {
            self.course.finish(FootballStatus::Finished, &self.recorded, is_whole, out);
        }
    }
}

impl Normalizer {
    fn is_played_to_the_end(&self, period: Period) -> bool {
        self.last_played.get(&period).is_none_or(|last| self.seen.contains(last))
    }

    fn check(&self, event: &StatsBombEvent) -> Result<Side> {
        let refuse = |kind, reason| Err(DecodeError::new(kind, reason));
        if self.seen.contains(&event.id) {
            return refuse(RefusalKind::Value, format!("event {} comes twice", event.id));
        }
        if self.course.period() > Some(event.period) {
            let reason = format!("event {} of a period that is over", event.id);
            return refuse(RefusalKind::Value, reason);
        }
        self.roster.side(&event.team).ok_or_else(|| {
            let reason = format!("team {} does not play in this match", event.team);
            DecodeError::new(RefusalKind::Unknown, reason)
        })
    }

    /// The possession that an event is of, as the provider says it.
    fn held_by(&mut self, event: &StatsBombEvent) {
        let team = event.possession_team.as_deref();
        if let Some(side) = team.and_then(|team| self.roster.side(team)) {
            self.course.held_by(side);
        }
    }

    fn facts(&mut self, event: &StatsBombEvent, side: Side) -> Vec<FootballFact> {
        let player = event.player.as_ref().map(roster::player);
        let incident = self.incident(event, side);
        let counted = (event.period != Period::Shootout)
            .then(|| (side, count::stats(event).into_iter().flatten()));
        let mut facts = self.course.event_facts(incident, counted);
        if event.period != Period::Shootout {
            facts.extend(self.course.did(side, player.as_ref(), count::of_player(event)));
        }
        if let Kind::Shot(shot) = &event.kind {
            let shot = shot::new_shot(&self.course, event, shot, side);
            facts.push(FootballFact::Analysis(Analysis::Shot(shot)));
        }
        let ball = ball::at(event, side);
        facts.extend(ball.map(|ball| self.course.ball(ball, player.as_ref())));
        facts
    }
}

/// The result by the separate line-ups, if those of both sides list goals and are of this match.
fn listed_goals(document: &Document, squads: &[Squad], roster: &Roster) -> Recorded {
    let is_of_another_match = |squad: &Squad| {
        document.events.iter().flatten().any(|event| match &event.kind {
            Kind::StartingXi(tactics) if event.team == squad.team => {
                !tactics.players.is_empty() && !roster::is_of_match(squad, tactics)
            }
            _ => false,
        })
    };
    if squads.iter().any(is_of_another_match) {
        return Recorded::default();
    }
    let (mut goals, mut half_time, mut listed) = ([0; 2], [0; 2], [false; 2]);
    for squad in squads {
        let (Some(side), Some(all)) = (roster.side(&squad.team), &squad.goals) else { continue };
        listed[side.index()] = true;
        for goal in all {
            let side = if goal.is_own { side.other() } else { side };
            add(&mut goals, side);
            if goal.period == Period::FirstHalf {
                add(&mut half_time, side);
            }
        }
    }
    let stated = |score| (listed == [true; 2]).then_some(score);
    Recorded { goals: stated(goals), half_time: stated(half_time), shootout: None }
}

fn competition(record: &MatchRecord) -> Option<Competition> {
    let named = record.competition.as_ref()?;
    Some(Competition {
        id: Id::derive(PROVIDER, "competition", &named.id),
        name: named.name.clone(),
        season: record.season.clone(),
    })
}

fn class(record: &MatchRecord) -> Class {
    Class { gender: record.gender, ..Class::in_country(record.country.as_deref()) }
}

fn about(record: &MatchRecord) -> About {
    let venue = record.stadium.as_ref().map(|named| Venue {
        id: Id::derive(PROVIDER, "venue", &named.id),
        name: named.name.clone(),
        city: None,
    });
    About {
        round: record.week,
        round_name: record.stage.clone().filter(|stage| &**stage != "Regular Season"),
        country: class(record).country,
        venue,
        referee: record.referee.as_ref().map(|named| roster::participant("referee", named)),
        ..About::default()
    }
}

#[cfg(test)]
mod tests {
    use facts::event::Gender;

    use super::*;

    #[test]
    fn gender_and_country_are_stated() {
        for (country, expected) in [("England", Some("England")), ("International", None)] {
            let gender = Some(Gender::Women);
            let country = Some(country.into());
            let record = MatchRecord { country, gender, ..MatchRecord::default() };
            let class = class(&record);
            assert_eq!((class.gender, class.country.as_deref()), (gender, expected));
            assert_eq!(about(&record).country.as_deref(), expected);
        }
    }
}

//! What both kinds of document say of the match as a whole: which one it is, when its periods
//! began, how it ended.

use std::collections::BTreeMap;

use super::{PROVIDER, roster::Roster};
use crate::{
    decode::statsperform::{Details, MatchInfo, Scores},
    error::{DecodeError, RefusalKind},
    event::{Competition, Fixture, FootballStatus, Id, Micros, Pair},
    football::Period,
    normalize::{
        Played,
        football::{Course, Recorded},
    },
};

pub(super) fn no_match() -> DecodeError {
    DecodeError::new(RefusalKind::Unknown, "nothing says which match it is")
}

pub(super) fn fixture(info: &MatchInfo, roster: &Roster, start: Micros) -> Fixture {
    let competition = info.competition.as_ref().map(|named| Competition {
        id: Id::derive(PROVIDER, "competition", &named.id),
        name: named.name.clone(),
        season: info.season.clone(),
    });
    Fixture {
        provider: PROVIDER.into(),
        provider_key: info.id.clone(),
        competition,
        start: info.start.or_else(|| info.date.is_none().then_some(start)),
        date: info.date.filter(|_| info.start.is_none()),
        sides: Some(roster.sides.clone()),
    }
}

/// When each period began, from the start of the first one.
pub(super) fn starts(
    by_events: impl Iterator<Item = (Period, Micros)>,
    details: &Details,
) -> BTreeMap<Period, Micros> {
    let said = details.halves.iter().filter_map(|half| Some((half.period, half.start?)));
    let starts: BTreeMap<_, _> = by_events.chain(said).collect();
    let Some(&first) = starts.get(&Period::FirstHalf) else { return BTreeMap::new() };
    starts.into_iter().map(|(period, at)| (period, at.saturating_sub(first))).collect()
}

/// Ends the match as `matchStatus` says that it ended. A document that does not say it is of a
/// match that was played; one that goes on, or is suspended, is left as it stands.
pub(super) fn finish(course: &mut Course, details: &Details, out: &mut Played) {
    let status = match details.status.as_deref() {
        None | Some("Played" | "Awarded") => FootballStatus::Finished,
        Some("Abandoned") => FootballStatus::Abandoned,
        Some("Postponed") => FootballStatus::Postponed,
        Some("Cancelled") => FootballStatus::Cancelled,
        Some("Suspended") => return pause(course, out),
        Some(_) => return open(course, FootballStatus::NotStarted, out),
    };
    if matches!(status, FootballStatus::Postponed | FootballStatus::Cancelled) {
        return open(course, status, out);
    }
    open(course, FootballStatus::NotStarted, out);
    if details.scores.shootout.is_some_and(|kicks| kicks != [0, 0]) {
        // There was one, whether its kicks are told or not.
        course.enter(Period::Shootout, None, out);
    }
    let recorded = recorded(&details.scores, course.goals());
    course.finish(status, &recorded, out);
}

/// Tells who was to play, where nothing was played.
fn open(course: &Course, status: FootballStatus, out: &mut Played) {
    if course.period().is_none() {
        course.open(status, out);
    }
}

fn pause(course: &Course, out: &mut Played) {
    open(course, FootballStatus::NotStarted, out);
    course.emit(vec![course.stopped_clock()], out);
}

/// The provider's own score. Some documents count the shoot-out in their total, so that any of
/// their scores is enough to bear the goals out.
fn recorded(scores: &Scores, goals: Pair<u16>) -> Recorded {
    let all = [scores.total, scores.extra_time, scores.full_time];
    let last = all.into_iter().flatten().next();
    Recorded {
        goals: last.filter(|_| !all.contains(&Some(goals))),
        half_time: scores.half_time,
        shootout: scores.shootout,
    }
}

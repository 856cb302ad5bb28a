//! The match as a whole, from both kinds of document: its fixture, when its periods began, how it
//! ended.

use std::collections::{BTreeMap, HashMap};

use facts::{
    event::{
        About, Class, Competition, Fixture, FootballStatus, Id, Micros, Pair, Participant, Side,
        Venue,
    },
    football::Period,
};

use super::{
    PROVIDER,
    roster::{self, Roster},
};
use crate::{
    decode::statsperform::{Details, Document, MatchInfo, NamedEntity, Scores},
    error::{DecodeError, RefusalKind},
    normalize::{
        Interpretation,
        football::{Course, Recorded},
    },
};

pub(super) fn no_match() -> DecodeError {
    DecodeError::new(RefusalKind::Unknown, "nothing says which match it is")
}

pub(super) fn fixture(info: &MatchInfo, roster: &Roster) -> Fixture {
    let competition = info.competition.as_ref().map(|named| Competition {
        id: Id::derive(PROVIDER, "competition", &named.id),
        name: named.name.clone(),
        season: info.season.clone(),
    });
    Fixture {
        provider: PROVIDER.into(),
        provider_key: info.id.clone(),
        competition,
        start: info.start,
        date: info.date.filter(|_| info.start.is_none()),
        sides: Some(roster.sides.clone()),
        class: Class { gender: info.gender, ..Class::in_country(info.country.as_deref()) },
    }
}

/// The details of the match apart from its fixture; the first document takes precedence.
pub(super) fn about(info: &MatchInfo, roster: &Roster, documents: &[&Document]) -> About {
    let person = |kind: &str, named: &NamedEntity| Participant {
        id: Id::derive(PROVIDER, kind, &named.id),
        name: named.name.clone(),
    };
    let extra = || documents.iter().map(|document| &document.extra);
    let coach = |side: Side| {
        let sheets = documents.iter().flat_map(|document| &document.sheets);
        let mut sheets_of_side = sheets.filter(|sheet| roster.check(&sheet.contestant) == Ok(side));
        sheets_of_side.find_map(|sheet| Some(person("manager", sheet.manager.as_ref()?)))
    };
    let [home_coach, away_coach] = Side::BOTH.map(coach);
    About {
        round: info.week,
        // The stage of a league, which has weeks, is the whole season.
        round_name: info.stage.clone().filter(|_| info.week.is_none()),
        group: info.series.clone(),
        country: info.country.clone(),
        venue: info.venue.as_ref().map(|named| Venue {
            id: Id::derive(PROVIDER, "venue", &named.id),
            name: named.name.clone(),
            city: None,
        }),
        referee: extra().find_map(|it| Some(person("referee", it.referee.as_ref()?))),
        home_coach,
        away_coach,
        attendance: extra().find_map(|it| it.attendance),
        neutral: info.neutral,
        ..About::default()
    }
}

/// Has the match open with its line-ups, from the first document that has that of a side.
pub(super) fn line_ups(course: &mut Course, roster: &Roster, documents: &[&Document]) {
    for side in Side::BOTH {
        let sheets = documents.iter().flat_map(|document| &document.sheets);
        let mut sheets_of_side = sheets.filter(|sheet| roster.check(&sheet.contestant) == Ok(side));
        if let Some(sheet) = sheets_of_side.next() {
            let line_up = roster::line_up(sheet, &names(documents));
            course.line_up(side, line_up);
        }
    }
}

/// Who is called how in the events.
fn names<'a>(documents: &[&'a Document]) -> HashMap<&'a str, &'a NamedEntity> {
    let events = documents.iter().flat_map(|document| document.events.iter().flatten());
    events.filter_map(|event| event.player.as_ref()).map(|it| (&*it.id, it)).collect()
}

/// When each period began, from the start of the first one.
pub(super) fn starts(
    by_events: impl Iterator<Item = (Period, Micros)>,
    details: &Details,
) -> BTreeMap<Period, Micros> {
    let stated = details.halves.iter().filter_map(|half| Some((half.period, half.start?)));
    let starts: BTreeMap<_, _> = by_events.chain(stated).collect();
    let Some(&first) = starts.get(&Period::FirstHalf) else { return BTreeMap::new() };
    starts.into_iter().map(|(period, at)| (period, at.saturating_sub(first))).collect()
}

/// Ends the match as `matchStatus` says that it ended. One that goes on, or is suspended, is left as it stands, and so is one
/// of which nothing says that it is over: neither the status, nor the period, nor the end of its last half.
pub(super) fn finish(course: &mut Course, details: &Details, out: &mut Interpretation) {
    let status = match details.status.as_deref() {
        Some("Played" | "Awarded") => FootballStatus::Finished,
        None if is_over(course, details) => FootballStatus::Finished,
        Some("Abandoned") => FootballStatus::Abandoned,
        Some("Postponed") => FootballStatus::Postponed,
        Some("Cancelled") => FootballStatus::Cancelled,
        Some("Suspended") => return pause(course, out),
        None | Some(_) => return open(course, FootballStatus::NotStarted, out),
    };
    if matches!(status, FootballStatus::Postponed | FootballStatus::Cancelled) {
        return open(course, status, out);
    }
    open(course, FootballStatus::NotStarted, out);
    let recorded = recorded(&details.scores, course.goals());
    let events_are_whole = course.reaches_the_end(&recorded);
    if details.scores.shootout.is_some_and(|kicks| kicks != [0, 0]) {
        // There was one, whether its kicks are listed or not.
        course.enter(Period::Shootout, None, out);
    }
    course.finish(status, &recorded, events_are_whole, out);
}

/// Whether play has ended, where no status says it.
fn is_over(course: &Course, details: &Details) -> bool {
    let last = details.halves.last().filter(|half| half.length_us.is_some());
    details.is_over
        || course.is_after_full_time()
        || last.is_some_and(|half| {
            half.period >= Period::SecondHalf && Some(half.period) >= course.period()
        })
}

/// Emits the fixture of a match that was not played.
fn open(course: &Course, status: FootballStatus, out: &mut Interpretation) {
    if course.period().is_none() {
        course.open(status, out);
    }
}

fn pause(course: &Course, out: &mut Interpretation) {
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

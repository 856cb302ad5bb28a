//! What the match record adds: the fixture, the substitutions and the authority for the score.

use std::{collections::VecDeque, sync::Arc};

use facts::{
    event::{About, Class, Competition, Fixture, Id, Incident, IncidentKind, Micros, Side, Venue},
    football::{self, Period},
};
use jiff::{civil::DateTime, tz::TimeZone};

use super::{PROVIDER, roster::Roster};
use crate::{
    decode::wyscout::{
        self, Document,
        record::{MatchRecord, TeamRecord},
    },
    normalize::football::Recorded,
};

const MINUTE_US: Micros = 60_000_000;

/// A substitution and its place among the events.
///
/// The record has only the minute in progress. It is reported unchanged, and applied at the start
/// of that minute, or right after the last event of the player who goes off. In no recording does
/// the player who comes on act before that. Minute 46 is thus before the first touch of the second
/// half, which is where a change at half time belongs.
#[derive(Debug)]
pub(super) struct Substitution {
    pub(super) period: Period,
    pub(super) since_start_us: Micros,
    side: Side,
    minute: u16,
    player_in: u64,
    player_out: u64,
}

pub(super) fn fixture(
    match_key: u64,
    record: Option<&MatchRecord>,
    roster: &Roster,
    start: Micros,
) -> Fixture {
    Fixture {
        provider: PROVIDER.into(),
        provider_key: match_key.to_string().into(),
        competition: record.and_then(|record| record.competition).map(competition),
        start: record.map_or(Some(start), kick_off),
        date: None,
        sides: Some(roster.sides.clone()),
        class: Class::in_country(record.and_then(|record| country(record.competition?))),
    }
}

/// Officials and coaches are left out: the record has their numbers alone.
pub(super) fn about(record: &MatchRecord) -> About {
    let venue = record.venue.as_deref().map(|name| Venue {
        id: Id::derive(PROVIDER, "venue", name),
        name: name.into(),
        city: None,
    });
    About {
        round: record.gameweek.filter(|week| *week > 0),
        group: record.group.as_deref().map(Into::into),
        venue,
        ..About::default()
    }
}

/// In the order in which they are played.
pub(super) fn substitutions(
    document: &Document,
    record: Option<&MatchRecord>,
) -> VecDeque<Substitution> {
    let sides = record.map(|it| [(Side::First, &it.home), (Side::Second, &it.away)]);
    let of_side = |(side, team): (Side, &TeamRecord)| {
        let all = team.substitutions.iter().map(|it| Substitution::of(it, side, document));
        all.collect::<Vec<_>>()
    };
    let mut all: Vec<_> = sides.into_iter().flatten().flat_map(of_side).collect();
    all.sort_by_key(|it| (it.period, it.since_start_us));
    all.into()
}

impl Substitution {
    fn of(record: &wyscout::record::Substitution, side: Side, document: &Document) -> Self {
        let played = document.events.iter().flatten().map(|event| event.period);
        let last = played.filter(|it| *it != Period::Shootout).max().unwrap_or(Period::SecondHalf);
        let (period, start_us) = football::moment_of_minute(record.minute, last);
        let still = document.events.iter().flatten().filter(|event| {
            let since_us = event.since_start_us - start_us;
            event.player == Some(record.player_out)
                && event.period == period
                && (0..MINUTE_US - 1).contains(&since_us)
        });
        let since_start_us = still.map(|event| event.since_start_us + 1).max().unwrap_or(start_us);
        Self {
            period,
            since_start_us,
            side,
            minute: record.minute,
            player_in: record.player_in,
            player_out: record.player_out,
        }
    }

    pub(super) fn incident(&self, roster: &Roster) -> Incident {
        let eid = format!("sub-{}-{}", self.minute, self.player_out);
        let at = self.period.minute(self.since_start_us);
        Incident {
            player: Some(roster.player(self.player_out)),
            assist: Some(roster.player(self.player_in)),
            ..Incident::new(eid, IncidentKind::Substitution, at, Some(self.side))
        }
    }
}

pub(super) fn result(record: &MatchRecord) -> Recorded {
    let pair =
        |count: fn(&TeamRecord) -> Option<u16>| Some([count(&record.home)?, count(&record.away)?]);
    let after_90 = pair(|team| team.score);
    let after_120 = pair(|team| team.score_after_extra_time).filter(|_| record.had_extra_time);
    Recorded {
        // Goals are not lost in extra time: a record that says so has no score after it.
        goals: match (after_90, after_120) {
            (Some(before), Some(after)) if before[0] > after[0] || before[1] > after[1] => None,
            (_, Some(after)) => Some(after),
            (before, None) => before.filter(|_| !record.had_extra_time),
        },
        half_time: pair(|team| team.half_time),
        shootout: pair(|team| team.shootout),
    }
}

fn kick_off(record: &MatchRecord) -> Option<Micros> {
    let civil: DateTime = record.kick_off.as_ref()?.parse().ok()?;
    Some(civil.to_zoned(TimeZone::UTC).ok()?.timestamp().as_microsecond())
}

/// The record has a number alone; the public dataset is about these seven. The season's number is
/// left out, because a season is shown by its name.
fn country(competition: u64) -> Option<&'static str> {
    match competition {
        364 => Some("England"),
        412 => Some("France"),
        426 => Some("Germany"),
        524 => Some("Italy"),
        795 => Some("Spain"),
        _ => None,
    }
}

fn competition(key: u64) -> Competition {
    let name: Arc<str> = match key {
        28 => "World Cup".into(),
        102 => "European Championship".into(),
        364 => "Premier League".into(),
        412 => "Ligue 1".into(),
        426 => "Bundesliga".into(),
        524 => "Serie A".into(),
        795 => "La Liga".into(),
        other => format!("competition {other}").into(),
    };
    Competition { id: Id::derive(PROVIDER, "competition", &key.to_string()), name, season: None }
}

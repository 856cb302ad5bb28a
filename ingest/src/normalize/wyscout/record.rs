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

pub(super) fn fixture(match_key: u64, record: Option<&MatchRecord>, roster: &Roster) -> Fixture {
    Fixture {
        provider: PROVIDER.into(),
        provider_key: match_key.to_string().into(),
        competition: record.and_then(competition),
        start: record.and_then(kick_off),
        date: None,
        sides: roster.sides.clone(),
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
        country: record.competition.and_then(country).map(Into::into),
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
        let all = team.substitutions.iter().map(|it| Substitution::new(it, side, document));
        all.collect::<Vec<_>>()
    };
    let mut all: Vec<_> = sides.into_iter().flatten().flat_map(of_side).collect();
    all.sort_by_key(|it| (it.period, it.since_start_us));
    all.into()
}

impl Substitution {
    fn new(record: &wyscout::record::Substitution, side: Side, document: &Document) -> Self {
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
    if !record.is_played {
        return Recorded::default();
    }
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

/// The record has numbers alone. These are the competitions of the public dataset, with their countries, and its seasons.
const COMPETITIONS: &[(u64, &str, Option<&str>)] = &[
    (28, "World Cup", None),
    (102, "European Championship", None),
    (364, "Premier League", Some("England")),
    (412, "Ligue 1", Some("France")),
    (426, "Bundesliga", Some("Germany")),
    (524, "Serie A", Some("Italy")),
    (795, "La Liga", Some("Spain")),
];

/// The season is shown by its name: that of a number which is not known has the number.
fn season(key: u64) -> Arc<str> {
    match key {
        9291 => "2016".into(),
        10078 => "2018".into(),
        181_137 | 181_144 | 181_150 | 181_189 | 181_248 => "2017/18".into(),
        other => format!("season {other}").into(),
    }
}

/// The country of a competition of the public dataset.
fn country(competition: u64) -> Option<&'static str> {
    COMPETITIONS.iter().find(|(key, ..)| *key == competition)?.2
}

fn competition(record: &MatchRecord) -> Option<Competition> {
    let key = record.competition?;
    let listed = COMPETITIONS.iter().find(|(listed_key, ..)| *listed_key == key);
    Some(Competition {
        id: Id::derive(PROVIDER, "competition", &key.to_string()),
        name: listed
            .map_or_else(|| format!("competition {key}").into(), |(_, name, _)| (*name).into()),
        season: record.season.map(season),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn season_and_country_are_those_of_the_numbers() {
        for (numbers, name, season, country) in [
            (
                r#""competitionId": 795, "seasonId": 181144"#,
                "La Liga",
                Some("2017/18"),
                Some("Spain"),
            ),
            (r#""competitionId": 28, "seasonId": "10078""#, "World Cup", Some("2018"), None),
            (r#""competitionId": 43, "seasonId": 7"#, "competition 43", Some("season 7"), None),
            (r#""competitionId": 364"#, "Premier League", None, Some("England")),
        ] {
            let sides = r#""1": {"teamId": 1, "side": "home"}, "2": {"teamId": 2, "side": "away"}"#;
            let text = format!(r#"[{{"wyId": 5, {numbers}, "teamsData": {{{sides}}}}}]"#);
            let record = wyscout::record::find(text.as_bytes(), 5).unwrap().unwrap();
            let found = competition(&record).unwrap();
            assert_eq!((&*found.name, found.season.as_deref()), (name, season), "{numbers}");
            assert_eq!(about(&record).country.as_deref(), country, "{numbers}");
        }
    }
}

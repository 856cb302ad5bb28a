//! The match record, which knows what the events do not: who is at home, the score, who came on.
//!
//! Format: `matches.json` of the public dataset, a list of records. Counts are numbers or text, now
//! and then the text "null"; so are whole parts of a formation.

use std::{borrow::Cow, collections::HashMap};

use serde::Deserialize;
use serde_json::value::RawValue;

use super::{super::json_error, lenient};
use crate::error::Result;

/// The record of one match.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MatchRecord {
    pub match_id: u64,
    pub competition: Option<u64>,
    pub season: Option<u64>,
    /// `YYYY-MM-DD HH:MM:SS` in UTC, as it stands.
    pub kick_off: Option<String>,
    /// Whether it has a result: `Played`, or nothing else said.
    pub is_played: bool,
    /// Whether there was extra time, perhaps with a shoot-out after it.
    pub had_extra_time: bool,
    pub venue: Option<String>,
    /// The matchday of a league; 0 in a cup.
    pub gameweek: Option<u16>,
    /// Of a cup.
    pub group: Option<String>,
    pub home: TeamRecord,
    pub away: TeamRecord,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TeamRecord {
    pub team: u64,
    /// After 90 minutes.
    pub score: Option<u16>,
    /// After 120 minutes, without the shoot-out; 0 where there was no extra time.
    pub score_after_extra_time: Option<u16>,
    pub half_time: Option<u16>,
    /// Kicks scored in the shoot-out; 0 where there was none.
    pub shootout: Option<u16>,
    pub substitutions: Vec<Substitution>,
    /// Who starts, and who sits on the bench.
    pub line_up: Vec<u64>,
    pub bench: Vec<u64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Substitution {
    /// The minute in progress: in the recordings the one who comes on is first seen within it or
    /// later (77:35 for 78, 45:18 for 46), and the minutes of cards are counted like that too.
    pub minute: u16,
    pub player_in: u64,
    pub player_out: u64,
}

/// Finds the record of a match in a file of records.
///
/// # Errors
///
/// If the file is broken before the record, or the record itself lacks what makes it one.
pub fn find(bytes: &[u8], match_id: u64) -> Result<Option<MatchRecord>> {
    let records: Vec<&RawValue> =
        serde_json::from_slice(bytes).map_err(|error| json_error(&error))?;
    let wanted = records.into_iter().find(|text| identity(text.get()) == Some(match_id));
    wanted.map(|text| parse(text.get())).transpose()
}

fn identity(text: &str) -> Option<u64> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Identity {
        #[serde(deserialize_with = "lenient::whole")]
        wy_id: u64,
    }
    serde_json::from_str::<Identity>(text).ok().map(|identity| identity.wy_id)
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RawRecord<'a> {
    #[serde(deserialize_with = "lenient::whole")]
    wy_id: u64,
    #[serde(default, deserialize_with = "lenient::perhaps")]
    competition_id: Option<u64>,
    #[serde(default, deserialize_with = "lenient::perhaps")]
    season_id: Option<u64>,
    #[serde(borrow, default)]
    dateutc: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    status: Option<Cow<'a, str>>,
    /// `Regular`, `ExtraTime` or `Penalties`.
    #[serde(borrow, default)]
    duration: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    venue: Option<&'a RawValue>,
    #[serde(borrow, default)]
    gameweek: Option<&'a RawValue>,
    #[serde(borrow, default)]
    group_name: Option<&'a RawValue>,
    #[serde(borrow)]
    teams_data: HashMap<Cow<'a, str>, RawTeam<'a>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RawTeam<'a> {
    #[serde(deserialize_with = "lenient::whole")]
    team_id: u64,
    #[serde(borrow)]
    side: Cow<'a, str>,
    #[serde(default, deserialize_with = "lenient::small")]
    score: Option<u16>,
    #[serde(rename = "scoreET", default, deserialize_with = "lenient::small")]
    score_et: Option<u16>,
    #[serde(rename = "scoreHT", default, deserialize_with = "lenient::small")]
    score_ht: Option<u16>,
    #[serde(rename = "scoreP", default, deserialize_with = "lenient::small")]
    score_p: Option<u16>,
    /// Text of its own, because it may be "null" or lack what a formation has.
    #[serde(borrow, default)]
    formation: Option<&'a RawValue>,
}

/// Reads one record.
pub(super) fn parse(text: &str) -> Result<MatchRecord> {
    let mut raw: RawRecord<'_> = serde_json::from_str(text).map_err(|error| json_error(&error))?;
    let mut team = |side: &str| {
        let key = raw.teams_data.iter().find(|(_, team)| team.side == side)?.0.clone();
        raw.teams_data.remove(&key).map(TeamRecord::from)
    };
    let (Some(home), Some(away)) = (team("home"), team("away")) else {
        return Err(super::event::value(format!("record {} lacks a side", raw.wy_id)));
    };
    Ok(MatchRecord {
        match_id: raw.wy_id,
        competition: raw.competition_id,
        season: raw.season_id,
        kick_off: raw.dateutc.map(Cow::into_owned),
        is_played: raw.status.is_none_or(|status| status == "Played"),
        had_extra_time: matches!(raw.duration.as_deref(), Some("ExtraTime" | "Penalties")),
        venue: name(raw.venue),
        gameweek: raw.gameweek.and_then(|text| text.get().trim_matches('"').parse().ok()),
        group: name(raw.group_name),
        home,
        away,
    })
}

/// A name, unless it is empty or no text.
fn name(text: Option<&RawValue>) -> Option<String> {
    let name: String = serde_json::from_str(text?.get()).ok()?;
    Some(lenient::unescaped(name.trim()).to_string()).filter(|name| !name.is_empty())
}

impl From<RawTeam<'_>> for TeamRecord {
    fn from(raw: RawTeam<'_>) -> Self {
        let substitutions = raw.formation.and_then(|text| substitutions(text.get()));
        let players = |list| raw.formation.map(|text| players(text.get(), list));
        let (line_up, bench) = (players("lineup"), players("bench"));
        Self {
            team: raw.team_id,
            score: raw.score,
            score_after_extra_time: raw.score_et,
            half_time: raw.score_ht,
            shootout: raw.score_p,
            substitutions: substitutions.unwrap_or_default(),
            line_up: line_up.unwrap_or_default(),
            bench: bench.unwrap_or_default(),
        }
    }
}

fn substitutions(formation: &str) -> Option<Vec<Substitution>> {
    #[derive(Deserialize)]
    struct Formation<'a> {
        #[serde(borrow)]
        substitutions: Vec<&'a RawValue>,
    }
    let formation: Formation<'_> = serde_json::from_str(formation).ok()?;
    Some(formation.substitutions.iter().filter_map(|text| substitution(text.get())).collect())
}

/// More than any rules allow in a line-up or on a bench.
const PLAYERS_MAX: usize = 60;

/// Those of a list of the formation; empty if it is "null" or not a list.
fn players(formation: &str, list: &str) -> Vec<u64> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Entry {
        #[serde(deserialize_with = "lenient::whole")]
        player_id: u64,
    }
    let formation: HashMap<Cow<'_, str>, &RawValue> =
        serde_json::from_str(formation).unwrap_or_default();
    let list = formation.get(list).and_then(|text| serde_json::from_str(text.get()).ok());
    let list: Vec<&RawValue> = list.unwrap_or_default();
    let player = |text: &&RawValue| Some(serde_json::from_str::<Entry>(text.get()).ok()?.player_id);
    list.iter().take(PLAYERS_MAX).filter_map(player).filter(|player| *player != 0).collect()
}

fn substitution(text: &str) -> Option<Substitution> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Raw {
        #[serde(deserialize_with = "lenient::small")]
        minute: Option<u16>,
        #[serde(deserialize_with = "lenient::whole")]
        player_in: u64,
        #[serde(deserialize_with = "lenient::whole")]
        player_out: u64,
    }
    let raw: Raw = serde_json::from_str(text).ok()?;
    Some(Substitution { minute: raw.minute?, player_in: raw.player_in, player_out: raw.player_out })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn team(side: &str, formation: &str) -> String {
        format!(
            r#"{{"teamId":"7","side":"{side}","score":"2","scoreHT":"null","formation":{formation}}}"#
        )
    }

    fn found(home: &str) -> Result<Option<MatchRecord>> {
        let away = team("away", "null");
        let json = format!(r#"[{{"wyId":1}},{{"wyId":5,"teamsData":{{"7":{home},"8":{away}}}}}]"#);
        find(json.as_bytes(), 5)
    }

    #[test]
    fn counts_as_text_and_null_as_text_are_understood() {
        let record = found(&team("home", r#"{"substitutions":"null"}"#)).unwrap().unwrap();
        assert_eq!((record.home.score, record.home.half_time), (Some(2), None));
        assert_eq!(record.home.substitutions, []);
    }

    #[test]
    fn broken_substitution_is_skipped_alone() {
        let formation =
            r#"{"substitutions":[{"minute":"55","playerIn":1,"playerOut":2},{"minute":"soon"},7]}"#;
        let record = found(&team("home", formation)).unwrap().unwrap();
        let expected = Substitution { minute: 55, player_in: 1, player_out: 2 };
        assert_eq!(record.home.substitutions, [expected]);
    }

    #[test]
    fn line_up_and_bench_are_read_player_by_player() {
        let formation = r#"{"lineup":[{"playerId":"1"},7,{"playerId":2}],"bench":"null"}"#;
        let record = found(&team("home", formation)).unwrap().unwrap();
        assert_eq!((record.home.line_up, record.home.bench), (vec![1, 2], vec![]));
    }

    #[test]
    fn record_without_a_home_side_is_refused() {
        assert_eq!(found(&team("guest", "{}")).unwrap_err().reason, "record 5 lacks a side");
        assert_eq!(find(b"[]", 5), Ok(None));
    }
}

//! The matches of a season: `matches/<competition>/<season>.json`, a list.
//!
//! It says who is at home, the day and the result. `kick_off` is left out: it has no time zone, and is not the time of the place
//! either (16:00 where a match in England began at 15:00).

use std::sync::Arc;

use facts::event::{Gender, Pair};
use jiff::civil::Date;
use serde::Deserialize;

use super::{super::json, NamedEntity, raw::Raw};
use crate::error::Result;

/// One match of the list.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct MatchRecord {
    pub date: Option<Date>,
    pub competition: Option<NamedEntity>,
    pub country: Option<Arc<str>>,
    /// Of both teams.
    pub gender: Option<Gender>,
    /// `2018/2019`.
    pub season: Option<Arc<str>>,
    /// The ids of the home team and the away team.
    pub teams: Pair<Arc<str>>,
    /// With those of extra time, without the kicks of a shoot-out.
    pub goals: Option<Pair<u16>>,
    pub week: Option<u16>,
    /// `Regular Season`, `Final`.
    pub stage: Option<Arc<str>>,
    pub stadium: Option<NamedEntity>,
    pub referee: Option<NamedEntity>,
}

/// Finds a match by its key.
///
/// # Errors
///
/// If the file breaks before its end.
pub fn record(bytes: &[u8], match_key: &str) -> Result<Option<MatchRecord>> {
    let mut found = None;
    json::each(bytes, |text| {
        let raw = serde_json::from_str::<RawMatch>(text).ok();
        let wanted = raw.filter(|raw| raw.match_id.as_deref() == Some(match_key));
        found = found.take().or_else(|| wanted?.read());
    })?;
    Ok(found)
}

json::lenient! {
    struct RawMatch {
        match_id: Option<Arc<str>> as "json::key",
        match_date: Option<String> as "json::known_value",
        competition: Option<RawNamed> as "json::known_value",
        season: Option<RawNamed> as "json::known_value",
        home_team: Option<RawNamed> as "json::known_value",
        away_team: Option<RawNamed> as "json::known_value",
        home_score: Option<u64> as "json::whole",
        away_score: Option<u64> as "json::whole",
        match_week: Option<u64> as "json::whole",
        competition_stage: Option<Raw> as "json::known_value",
        stadium: Option<Raw> as "json::known_value",
        referee: Option<Raw> as "json::known_value",
    }
}

/// An object whose keys repeat what it is: `{"season_id": 4, "season_name": "2018/2019"}`.
#[derive(Deserialize)]
struct RawNamed {
    #[serde(default, deserialize_with = "json::key")]
    #[serde(alias = "competition_id", alias = "home_team_id", alias = "away_team_id")]
    id: Option<Arc<str>>,
    #[serde(default, deserialize_with = "json::key")]
    #[serde(alias = "competition_name", alias = "season_name")]
    name: Option<Arc<str>>,
    #[serde(default, deserialize_with = "json::key")]
    country_name: Option<Arc<str>>,
    #[serde(default, deserialize_with = "json::key")]
    #[serde(alias = "home_team_gender", alias = "away_team_gender")]
    gender: Option<Arc<str>>,
}

impl RawMatch {
    fn read(self) -> Option<MatchRecord> {
        let small = |count: Option<u64>| count.and_then(|count| u16::try_from(count).ok());
        let goals = small(self.home_score).zip(small(self.away_score));
        let [home, away] = [&self.home_team, &self.away_team]
            .map(|team| Gender::named(team.as_ref()?.gender.as_deref()?));
        let country = self.competition.as_ref().and_then(|it| it.country_name.clone());
        let competition = self.competition.map(|it| Raw { id: it.id, name: it.name });
        Some(MatchRecord {
            date: self.match_date.and_then(|date| date.parse().ok()),
            competition: competition.and_then(Raw::named),
            country,
            gender: home.filter(|_| home == away),
            season: self.season.and_then(|season| season.name),
            teams: [self.home_team?.id?, self.away_team?.id?],
            goals: goals.map(<[u16; 2]>::from),
            week: small(self.match_week).filter(|week| *week > 0),
            stage: self.competition_stage.and_then(|stage| stage.name),
            stadium: self.stadium.and_then(Raw::named),
            referee: self.referee.and_then(Raw::named),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn match_is_found_by_its_key() {
        let json = br#"[{"match_id":4,"home_team":{}},{"match_id":5,"match_date":"2004-02-07",
            "kick_off":"16:00:00.000","competition":{"competition_id":2,"country_name":"England",
            "competition_name":"Premier League"},"season":{"season_id":44,"season_name":"2003/2004"},
            "home_team":{"home_team_id":46,"home_team_name":"Wolves",
            "home_team_gender":"male"},"away_team":{"away_team_id":1,"away_team_gender":"male"},
            "home_score":1,"away_score":3,"match_week":2,"competition_stage":{"id":1,
            "name":"Regular Season"},"stadium":{"id":217,"name":"Molineux"}}]"#;
        let found = record(json, "5").unwrap().unwrap();
        let named = |id: &str, name: &str| NamedEntity { id: id.into(), name: name.into() };
        let expected = MatchRecord {
            date: Some(jiff::civil::date(2004, 2, 7)),
            competition: Some(named("2", "Premier League")),
            country: Some("England".into()),
            gender: Some(Gender::Men),
            season: Some("2003/2004".into()),
            teams: ["46".into(), "1".into()],
            goals: Some([1, 3]),
            week: Some(2),
            stage: Some("Regular Season".into()),
            stadium: Some(named("217", "Molineux")),
            referee: None,
        };
        assert_eq!(found, expected);
        assert_eq!(record(json, "4"), Ok(None), "without teams it is no record");
        assert_eq!(record(json, "6"), Ok(None));
    }

    #[test]
    fn gender_is_that_of_both_teams() {
        for (home, away, gender) in [
            ("female", "female", Some(Gender::Women)),
            ("female", "male", None),
            ("", "male", None),
        ] {
            let json = format!(
                r#"[{{"match_id":5,"home_team":{{"home_team_id":1,"home_team_gender":"{home}"}},"away_team":{{"away_team_id":2,"away_team_gender":"{away}"}}}}]"#
            );
            let found = record(json.as_bytes(), "5").unwrap().unwrap();
            assert_eq!(found.gender, gender, "{home} and {away}");
        }
    }
}

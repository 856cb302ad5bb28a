//! Who plays for a team: `lineUp` of MA1, and the line-up events of MA3.

use std::sync::Arc;

use facts::event::PlayerPosition;
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use super::{super::json, NamedEntity};

/// Everybody of one team who was there.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Sheet {
    pub contestant: Arc<str>,
    /// Digits: `433`.
    pub formation: Option<Arc<str>>,
    pub players: Vec<SheetPlayer>,
    pub manager: Option<NamedEntity>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SheetPlayer {
    pub id: Arc<str>,
    /// MA3 has none here; events name those who act.
    pub name: Option<Arc<str>>,
    pub number: Option<u16>,
    pub position: Option<PlayerPosition>,
    pub starter: bool,
    pub captain: bool,
}

/// What MA1 says of the match apart from its events.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Extra {
    pub attendance: Option<u32>,
    /// The main one.
    pub referee: Option<NamedEntity>,
}

/// More than any rules allow in a squad.
const PLAYERS_MAX: usize = 60;

impl Sheet {
    /// Of lists with commas, in one order. `formation` is a number of the provider's table.
    pub(super) fn of_lists(
        contestant: Arc<str>,
        players: &str,
        numbers: &str,
        positions: &str,
        captain: Option<&str>,
        formation: Option<&str>,
    ) -> Self {
        fn list(text: &str) -> impl Iterator<Item = &str> {
            text.split(',').map(str::trim)
        }
        let numbers: Vec<_> = list(numbers).collect();
        let positions: Vec<_> = list(positions).collect();
        let player = |(index, id): (usize, &str)| SheetPlayer {
            id: id.into(),
            name: None,
            number: numbers.get(index).and_then(|number| number.parse().ok()),
            position: positions.get(index).and_then(|number| numbered(number)),
            starter: positions.get(index).is_some_and(|number| numbered(number).is_some()),
            captain: captain.is_some_and(|captain| captain.trim() == id),
        };
        let players = list(players).enumerate().filter(|(_, id)| !id.is_empty());
        Self {
            contestant,
            formation: formation.and_then(formation_numbered).map(Into::into),
            players: players.take(PLAYERS_MAX).map(player).collect(),
            manager: None,
        }
    }

    /// An element of `lineUp`.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let raw: RawSheet = serde_json::from_str(text).ok()?;
        let officials = raw.team_official.into_iter();
        let manager = officials.filter(|it| it.kind.as_deref() == Some("manager"));
        Some(Self {
            contestant: raw.contestant_id?,
            formation: raw.formation_used,
            players: raw.player.into_iter().take(PLAYERS_MAX).filter_map(RawPlayer::read).collect(),
            manager: manager.filter_map(RawPerson::named).next(),
        })
    }
}

impl Extra {
    pub(super) fn parse(text: &str) -> Self {
        let raw: RawExtra = serde_json::from_str(text).unwrap_or_default();
        let officials = raw.match_official.into_iter();
        let main = officials.filter(|it| it.kind.as_deref() == Some("Main"));
        Self {
            attendance: raw.attendance.and_then(|count| u32::try_from(count).ok()),
            referee: main.filter_map(RawPerson::named).next(),
        }
    }
}

/// By the numbers of qualifier 44; those on the bench have no position.
fn numbered(number: &str) -> Option<PlayerPosition> {
    Some(match number {
        "1" => PlayerPosition::Goalkeeper,
        "2" => PlayerPosition::Defender,
        "3" => PlayerPosition::Midfielder,
        "4" => PlayerPosition::Forward,
        _ => return None,
    })
}

/// `Goalkeeper`, `Defender`, `Wing Back`, `Attacking Midfielder`, `Striker`, ...
fn position(name: &str) -> Option<PlayerPosition> {
    Some(match name {
        "Goalkeeper" => PlayerPosition::Goalkeeper,
        "Defender" | "Wing Back" => PlayerPosition::Defender,
        _ if name.ends_with("Midfielder") => PlayerPosition::Midfielder,
        "Striker" | "Attacker" | "Forward" => PlayerPosition::Forward,
        _ => return None,
    })
}

/// The provider's table of formations; those with a place that moves are left out.
fn formation_numbered(number: &str) -> Option<&'static str> {
    Some(match number.trim() {
        "2" => "442",
        "3" => "41212",
        "4" => "433",
        "5" => "451",
        "6" => "4411",
        "7" => "4141",
        "8" => "4231",
        "9" => "4321",
        "10" => "532",
        "11" => "541",
        "12" => "352",
        "13" => "343",
        _ => return None,
    })
}

json::lenient! {
    #[serde(rename_all = "camelCase")]
    struct RawSheet {
        contestant_id: Option<Arc<str>> as "json::key",
        formation_used: Option<Arc<str>> as "json::key",
        player: Vec<RawPlayer> as "json::known_all",
        /// One, or a list of them.
        team_official: Vec<RawPerson> as "one_or_all",
    }

    #[serde(rename_all = "camelCase")]
    struct RawPlayer {
        player_id: Option<Arc<str>> as "json::key",
        match_name: Option<Arc<str>> as "json::key",
        shirt_number: Option<u64> as "json::whole",
        position: Option<String> as "json::known_value",
        sub_position: Option<String> as "json::known_value",
        captain: Option<String> as "json::known_value",
    }

    #[serde(rename_all = "camelCase")]
    struct RawPerson {
        id: Option<Arc<str>> as "json::key",
        #[serde(rename = "type")]
        kind: Option<String> as "json::known_value",
        short_first_name: Option<String> as "json::known_value",
        first_name: Option<String> as "json::known_value",
        short_last_name: Option<String> as "json::known_value",
        last_name: Option<String> as "json::known_value",
    }

    #[derive(Default)]
    #[serde(rename_all = "camelCase")]
    struct RawExtra {
        attendance: Option<u64> as "json::whole",
        match_official: Vec<RawPerson> as "json::known_all",
    }
}

fn one_or_all<'de, D: Deserializer<'de>>(json: D) -> Result<Vec<RawPerson>, D::Error> {
    let text = <&RawValue>::deserialize(json)?.get();
    let all = if text.starts_with('[') {
        serde_json::from_str::<Vec<&RawValue>>(text).unwrap_or_default()
    } else {
        serde_json::from_str::<&RawValue>(text).into_iter().collect()
    };
    Ok(all.into_iter().filter_map(|one| serde_json::from_str(one.get()).ok()).collect())
}

impl RawPlayer {
    fn read(self) -> Option<SheetPlayer> {
        let starter = self.position.as_deref().is_some_and(|it| it != "Substitute");
        let position_name = if starter { self.position } else { self.sub_position };
        Some(SheetPlayer {
            id: self.player_id?,
            name: self.match_name,
            number: self.shirt_number.and_then(|number| u16::try_from(number).ok()),
            position: position_name.as_deref().and_then(position),
            starter,
            captain: self.captain.as_deref() == Some("yes"),
        })
    }
}

impl RawPerson {
    fn named(self) -> Option<NamedEntity> {
        let first = self.short_first_name.or(self.first_name);
        let last = self.short_last_name.or(self.last_name);
        let name: Vec<_> = first.into_iter().chain(last).filter(|it| !it.is_empty()).collect();
        (!name.is_empty())
            .then(|| name.join(" ").into())
            .zip(self.id)
            .map(|(name, id)| NamedEntity { id, name })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_a_line_up_are_read_in_one_order() {
        let sheet =
            Sheet::of_lists("t".into(), "a, b, c", "1, 9, 12", "1, 4, 5", Some("b"), Some("4"));
        assert_eq!(sheet.formation.as_deref(), Some("433"));
        let read = |it: &SheetPlayer| (it.id.to_string(), it.number, it.starter, it.captain);
        let expected = [
            ("a".to_owned(), Some(1), true, false),
            ("b".to_owned(), Some(9), true, true),
            ("c".to_owned(), Some(12), false, false),
        ];
        assert_eq!(sheet.players.iter().map(read).collect::<Vec<_>>(), expected);
        assert_eq!(sheet.players[1].position, Some(PlayerPosition::Forward));
        let short = Sheet::of_lists("t".into(), "a,,b", "x", "", None, Some("99"));
        assert_eq!((short.players.len(), short.formation), (2, None));
    }

    #[test]
    fn manager_may_stand_alone_or_in_a_list() {
        let manager = r#"{"id":"m","type":"manager","shortFirstName":"Tim","lastName":"W"}"#;
        let other = r#"{"id":"n","type":"assistant manager","lastName":"N"}"#;
        for officials in [manager.to_owned(), format!("[7,{other},{manager}]")] {
            let json = format!(r#"{{"contestantId":"t","teamOfficial":{officials}}}"#);
            let manager = Sheet::parse(&json).unwrap().manager.unwrap();
            assert_eq!((&*manager.id, &*manager.name), ("m", "Tim W"));
        }
    }
}

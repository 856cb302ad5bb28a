//! The names of teams and players, which follow the events of a document.
//!
//! `teams` is `{"<id>": {"team": {"name"}}}`, `players` is `{"<team>": [{"player": {"wyId",
//! "shortName", "role"}}]}`. An entry that cannot be read costs its name and no more.

use std::{borrow::Cow, fmt};

use serde::{
    Deserialize,
    de::{Deserializer, MapAccess, Visitor},
};
use serde_json::value::RawValue;

use super::{NamedEntity, NamedPlayer, lenient};

/// An object whose keys are ids, in its own order, which a map would lose.
pub(super) struct Object<'a>(Vec<(Cow<'a, str>, &'a RawValue)>);

impl<'de: 'a, 'a> Deserialize<'de> for Object<'a> {
    fn deserialize<D: Deserializer<'de>>(json: D) -> Result<Self, D::Error> {
        json.deserialize_map(ObjectVisitor)
    }
}

struct ObjectVisitor;

impl<'de> Visitor<'de> for ObjectVisitor {
    type Value = Object<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut entries = Vec::new();
        while let Some(entry) = map.next_entry()? {
            entries.push(entry);
        }
        Ok(Object(entries))
    }
}

impl Object<'_> {
    pub(super) fn teams(&self) -> Vec<NamedEntity> {
        #[derive(Deserialize)]
        struct Entry<'a> {
            #[serde(borrow)]
            team: Team<'a>,
        }
        #[derive(Deserialize)]
        struct Team<'a> {
            #[serde(borrow)]
            name: Cow<'a, str>,
        }
        let team = |(key, text): &(Cow<'_, str>, &RawValue)| {
            let entry: Entry<'_> = serde_json::from_str(text.get()).ok()?;
            Some(NamedEntity { id: key.parse().ok()?, name: lenient::unescaped(&entry.team.name) })
        };
        self.0.iter().filter_map(team).collect()
    }

    pub(super) fn players(&self) -> Vec<NamedPlayer> {
        let squad = |(_, text): &(Cow<'_, str>, &RawValue)| {
            let entries: Vec<&RawValue> = serde_json::from_str(text.get()).unwrap_or_default();
            entries.into_iter().filter_map(|entry| player(entry.get())).collect::<Vec<_>>()
        };
        self.0.iter().flat_map(squad).collect()
    }
}

fn player(text: &str) -> Option<NamedPlayer> {
    #[derive(Deserialize)]
    struct Entry<'a> {
        #[serde(borrow)]
        player: RawPlayer<'a>,
    }
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct RawPlayer<'a> {
        #[serde(deserialize_with = "lenient::whole")]
        wy_id: u64,
        #[serde(borrow)]
        short_name: Cow<'a, str>,
        #[serde(borrow, default)]
        role: Option<&'a RawValue>,
    }
    #[derive(Deserialize)]
    struct Role<'a> {
        #[serde(borrow)]
        code2: Cow<'a, str>,
    }
    let entry: Entry<'_> = serde_json::from_str(text).ok()?;
    let name = lenient::unescaped(&entry.player.short_name);
    let role = entry.player.role.and_then(|text| serde_json::from_str::<Role<'_>>(text.get()).ok());
    let role = role.map(|role| role.code2.as_ref().into());
    Some(NamedPlayer { named: NamedEntity { id: entry.player.wy_id, name }, role })
}

//! The entities that matches refer to.

use std::{
    collections::{HashMap, hash_map::Entry},
    sync::Arc,
};

use facts::event::Sport;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::properties::Properties;
use record::{EntityRef, Key, MatchRecord, PlayRecord};

base::words! {
    /// A kind of entities, with its name in the database.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum EntityKind {
        Competition = "competition",
        /// Its parent is a competition.
        Season = "season",
        Team = "team",
        /// Its parent is the player's last team.
        Player = "player",
        Manager = "manager",
        Referee = "referee",
        Venue = "venue",
        Horse = "horse",
        Jockey = "jockey",
    }
}

/// Something with an id, a name and further properties.
#[derive(Debug, Clone, PartialEq)]
pub struct Entity {
    pub id: Key,
    pub kind: EntityKind,
    pub sport: Sport,
    pub name: Arc<str>,
    pub parent: Option<Key>,
    pub country: Option<Arc<str>>,
    /// `position`, `number`, `city`, `surface`, `category`: properties that some feed provides.
    pub about: Properties,
}

impl Entity {
    fn new(kind: EntityKind, sport: Sport, named: &EntityRef) -> Self {
        let name = Arc::clone(&named.name);
        Self {
            id: named.id,
            kind,
            sport,
            name,
            parent: None,
            country: None,
            about: Properties::default(),
        }
    }

    fn with(mut self, key: &str, value: Option<impl Into<Value>>) -> Self {
        if let Some(value) = value {
            self.about.insert(key, value.into());
        }
        self
    }

    /// Whether `reported` adds nothing. This holds for most entities of most matches.
    fn has_all_of(&self, reported: &Self) -> bool {
        self.name == reported.name
            && (reported.parent.is_none() || self.parent == reported.parent)
            && (reported.country.is_none() || self.country == reported.country)
            && reported.about.iter().all(|(name, value)| self.about.get(name) == Some(value))
    }

    /// All entities that a record names.
    #[must_use]
    pub fn of_record(record: &MatchRecord) -> Vec<Self> {
        let MatchRecord { summary, names, play, .. } = record;
        let sport = summary.sport;
        let text = |text: &Option<Arc<str>>| text.as_ref().map(|text| text.to_string());
        let mut all = Vec::new();
        if let Some(competition) = &names.competition {
            let competition = Self::new(EntityKind::Competition, sport, competition);
            all.push(
                Self { country: names.country.clone(), ..competition }
                    .with("surface", text(&names.surface))
                    .with("category", text(&names.category)),
            );
        }
        if let Some(season) = &names.season {
            let season = Self::new(EntityKind::Season, sport, season);
            all.push(Self { parent: summary.competition, ..season });
        }
        let side = if sport.is_of_players() { EntityKind::Player } else { EntityKind::Team };
        let sides = names.sides.iter().flatten().zip(&names.side_countries);
        all.extend(
            sides.map(|(it, country)| Self {
                country: country.clone(),
                ..Self::new(side, sport, it)
            }),
        );
        let venue = names.venue.iter().map(|it| Self::new(EntityKind::Venue, sport, it));
        all.extend(venue.map(|venue| venue.with("city", text(&names.city))));
        all.extend(names.referee.iter().map(|it| Self::new(EntityKind::Referee, sport, it)));
        for (index, coach) in names.coaches.iter().enumerate() {
            let parent = summary.sides.map(|sides| sides[index]);
            let coach = coach.iter().map(|it| Self::new(EntityKind::Manager, sport, it));
            all.extend(coach.map(|coach| Self { parent, ..coach }));
        }
        all.extend(Self::of_play(record, play));
        all
    }

    fn of_play(record: &MatchRecord, play: &PlayRecord) -> Vec<Self> {
        let sport = record.summary.sport;
        match play {
            PlayRecord::Football(football) => {
                let team = |side: usize| record.summary.sides.map(|sides| sides[side]);
                let player = |named: &EntityRef, side: usize| {
                    let player = Self::new(EntityKind::Player, sport, named);
                    Self { parent: team(side), ..player }
                };
                // Line-ups come last, because they know most about a player.
                let mut players = Vec::new();
                for incident in &football.incidents {
                    let Some(side) = incident.side.map(usize::from).filter(|side| *side < 2) else {
                        continue;
                    };
                    // An own goal counts for the other side.
                    let is_own = incident.detail.as_deref() == Some("own_goal");
                    let of_player = if is_own { 1 - side } else { side };
                    players.extend(incident.player.iter().map(|named| player(named, of_player)));
                    players.extend(incident.assist.iter().map(|named| player(named, side)));
                }
                let tallies = football.players.iter().filter(|it| it.side < 2);
                players.extend(tallies.map(|it| player(&it.player, usize::from(it.side))));
                for (side, line_up) in football.line_ups.iter().enumerate() {
                    players.extend(line_up.iter().flat_map(|it| &it.players).map(|listed| {
                        Self { country: listed.country.clone(), ..player(&listed.player, side) }
                            .with("position", listed.position.as_ref().map(|it| it.to_string()))
                            .with("jersey_number", listed.number)
                    }));
                }
                players
            }
            PlayRecord::Race(race) => {
                let horses = race.runners.iter();
                let horses = horses.map(|it| EntityRef { id: it.id, name: Arc::clone(&it.name) });
                horses.map(|it| Self::new(EntityKind::Horse, sport, &it)).collect()
            }
            PlayRecord::Tennis(_) | PlayRecord::Scoreboard(_) | PlayRecord::None => Vec::new(),
        }
    }
}

/// By kind and id.
type Entities = HashMap<(EntityKind, Key), Arc<Entity>>;

/// All entities.
#[derive(Debug, Default)]
pub(super) struct Directory {
    entities: Entities,
    /// Entities of matches that wait to be written, as far as they are new.
    announced: Entities,
    /// Increases with every change.
    version: u64,
}

impl Directory {
    pub(super) fn new(entities: Vec<Entity>) -> Self {
        let mut directory = Self::default();
        directory.extend(entities);
        directory
    }

    pub(super) fn version(&self) -> u64 {
        self.version
    }

    pub(super) fn extend(&mut self, entities: Vec<Entity>) {
        self.version += u64::from(!entities.is_empty());
        for entity in entities {
            let key = (entity.kind, entity.id);
            self.announced.remove(&key);
            self.entities.insert(key, Arc::new(entity));
        }
    }

    /// Makes these entities available before they are written.
    pub(super) fn announce(&mut self, entities: impl IntoIterator<Item = Entity>) {
        for entity in entities {
            let key = (entity.kind, entity.id);
            if !self.entities.contains_key(&key)
                && let Entry::Vacant(entry) = self.announced.entry(key)
            {
                entry.insert(Arc::new(entity));
                self.version += 1;
            }
        }
    }

    /// The stored entity merged with this one, if that changes anything. Absent properties stay as
    /// they were.
    pub(super) fn merged(&self, reported: &Entity) -> Option<Entity> {
        let Some(existing) = self.entities.get(&(reported.kind, reported.id)) else {
            return Some(reported.clone());
        };
        if existing.has_all_of(reported) {
            return None;
        }
        let mut merged = Entity::clone(existing);
        merged.name = Arc::clone(&reported.name);
        merged.parent = reported.parent.or(existing.parent);
        merged.country = reported.country.clone().or_else(|| existing.country.clone());
        for (name, value) in reported.about.iter() {
            merged.about.insert(name, value.clone());
        }
        Some(merged)
    }

    pub(super) fn get(&self, kind: EntityKind, id: Key) -> Option<Arc<Entity>> {
        let key = (kind, id);
        self.entities.get(&key).or_else(|| self.announced.get(&key)).map(Arc::clone)
    }

    pub(super) fn all(
        &self,
        kind: EntityKind,
        condition: impl Fn(&Entity) -> bool,
    ) -> Vec<Arc<Entity>> {
        let all = self.entities.values().chain(self.announced.values());
        let all = all.filter(|it| it.kind == kind && condition(it));
        by_name(all.map(Arc::clone).collect())
    }
}

// Apart, so that it is compiled once and not for each condition.
fn by_name(mut entities: Vec<Arc<Entity>>) -> Vec<Arc<Entity>> {
    entities.sort_by(|a, b| (&a.name, a.id).cmp(&(&b.name, b.id)));
    entities
}

//! Finds matches, teams, players and competitions by their names, as people and models write them.

use std::sync::{Arc, Mutex, PoisonError};

use base::{
    Micros, clock,
    names::{NamePart, sides},
};
use facts::event::Sport;
use history::query::{Entity, EntityKind, History, MatchQuery, Window};
use record::{Key, MatchSummary};
use serde::Serialize;
use serde_json::{Value, json};

mod index;
mod match_name;
mod race_name;

use self::index::{FoldedName, NameIndex};
pub(crate) use self::match_name::Tense;
use crate::{
    call::status_word,
    days::{Calendar, TimeSpan},
    refusal::Refusal,
};

/// The least likeness of a name that was written differently, from 0 to 1.
const LIKENESS_MIN: f64 = 0.85;

/// The minimum score at which a single result is accepted as the requested name.
const FIT_MIN: f64 = 0.8;

/// The entities that a refusal names.
const NEAREST_MAX: usize = 5;

/// Matches of a requested team are listed if they start within this time of now.
const NEAR_US: Micros = 14 * 24 * 60 * 60 * 1_000_000;

/// The names of one sport.
#[derive(Debug, Clone)]
pub(crate) struct Names {
    history: History,
    sport: Sport,
    sides: Arc<Mutex<Option<VersionedIndex>>>,
}

/// The names of sides, with the version of the entities that have them.
type VersionedIndex = (u64, Arc<NameIndex>);

/// Something that was found.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct SearchResult {
    pub kind: &'static str,
    pub id: Key,
    pub name: String,
    /// What tells it from others of the same name: a country, a team, a competition and a day.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context: Option<String>,
    /// How well the name fits, from 0 to 1; a `score` is that of a match.
    #[serde(rename = "fit")]
    pub score: f64,
}

/// The names of kinds in arguments and answers. Horses run in races, and the sides of tennis and darts are
/// players.
pub(crate) const KINDS: [(&str, EntityKind); 8] = [
    ("team", EntityKind::Team),
    ("player", EntityKind::Player),
    ("league", EntityKind::Competition),
    ("venue", EntityKind::Venue),
    ("manager", EntityKind::Manager),
    ("referee", EntityKind::Referee),
    ("horse", EntityKind::Horse),
    ("jockey", EntityKind::Jockey),
];

fn word(kind: EntityKind) -> &'static str {
    KINDS.iter().find(|(_, candidate)| *candidate == kind).map_or(kind.as_str(), |(word, _)| word)
}

impl Names {
    pub(crate) fn new(history: History, sport: Sport) -> Self {
        Self { history, sport, sides: Arc::default() }
    }

    /// The names of a kind as they are now. Those of sides, which most requests name, are kept until one changes.
    fn index(&self, kind: EntityKind) -> Arc<NameIndex> {
        let version = self.history.entities_version();
        let new = || {
            let entities = self.history.entities(kind, |entity| entity.sport == self.sport);
            Arc::new(NameIndex::new(entities))
        };
        if kind != self.side() {
            return new();
        }
        let mut sides = self.sides.lock().unwrap_or_else(PoisonError::into_inner);
        let kept = sides.take().filter(|(indexed, _)| *indexed == version);
        let (_, index) = sides.insert(kept.unwrap_or_else(|| (version, new())));
        Arc::clone(index)
    }

    /// The kind of the sides of this sport's matches.
    pub(crate) fn side(&self) -> EntityKind {
        if self.sport.is_of_players() { EntityKind::Player } else { EntityKind::Team }
    }

    /// Entities of a kind whose names fit, the best first.
    pub(crate) fn entities(
        &self,
        kind: EntityKind,
        asked: &str,
        limit: usize,
    ) -> Vec<SearchResult> {
        let asked = FoldedName::new(asked);
        if asked.is_empty() {
            return Vec::new();
        }
        let index = self.index(kind);
        let mut found: Vec<_> = index.fitting(&asked).collect();
        found.sort_by(|(a, score_a), (b, score_b)| {
            let lengths = a.name.len().cmp(&b.name.len());
            rounded(*score_b).total_cmp(&rounded(*score_a)).then(lengths).then(a.id.cmp(&b.id))
        });
        found.truncate(limit);
        found.into_iter().map(|(entity, score)| self.found(entity, score)).collect()
    }

    fn found(&self, entity: &Entity, score: f64) -> SearchResult {
        let parent = entity.parent.and_then(|parent| match entity.kind {
            EntityKind::Season => self.history.name(EntityKind::Competition, parent),
            _ => self.history.name(EntityKind::Team, parent),
        });
        let country = entity.country.as_ref().map(|country| country.to_string());
        SearchResult {
            kind: word(entity.kind),
            id: entity.id,
            name: entity.name.to_string(),
            context: parent.or(country),
            score: rounded(score),
        }
    }

    /// The matches within a time, in the zone of a calendar.
    fn on_days(&self, span: TimeSpan, calendar: &Calendar) -> MatchQuery {
        MatchQuery {
            from: Some(span.from),
            before: Some(span.before),
            zone: Some(calendar.zone()),
            ..MatchQuery::of_sport(self.sport)
        }
    }

    /// Matches near now of sides whose names fit: of one side, or of both in `A v B`.
    pub(crate) fn matches(
        &self,
        asked: &str,
        limit: usize,
        calendar: &Calendar,
    ) -> Vec<SearchResult> {
        if self.sport == Sport::HorseRacing {
            return self.races_near(asked, limit, calendar);
        }
        let sides = sides_of(asked);
        let mut best: Vec<Vec<SearchResult>> = Vec::new();
        for side in &sides {
            best.push(self.entities(self.side(), side, 5));
        }
        let now = clock::wall();
        let teams: Vec<Key> = best.iter().flatten().map(|team| team.id).collect();
        if teams.is_empty() {
            return Vec::new();
        }
        let query = MatchQuery {
            teams: Some(teams),
            from: Some(now - NEAR_US),
            before: Some(now + NEAR_US),
            window: Window { offset: 0, limit: 200 },
            ..MatchQuery::of_sport(self.sport)
        };
        let mut near: Vec<_> = self.history.find(&query).summaries;
        near.sort_by_key(|summary| summary.start.map_or(Micros::MAX, |start| (start - now).abs()));
        let fit = |summary: &MatchSummary| -> f64 {
            let Some(side_ids) = summary.sides else { return 0.0 };
            let of_side = |found: &Vec<SearchResult>| {
                let fitting = found.iter().filter(|team| side_ids.contains(&team.id));
                fitting.map(|team| team.score).fold(0.0, f64::max)
            };
            best.iter().map(of_side).fold(1.0, f64::min)
        };
        let mut found: Vec<SearchResult> = near
            .iter()
            .filter_map(|summary| {
                let score = fit(summary);
                (score > 0.0)
                    .then(|| SearchResult { score: rounded(score), ..self.search_result(summary) })
            })
            .collect();
        // Stable: the nearest in time stays first among equals.
        found.sort_by(|a, b| b.score.total_cmp(&a.score));
        found.truncate(limit);
        found
    }

    fn search_result(&self, summary: &MatchSummary) -> SearchResult {
        let league =
            summary.competition.and_then(|id| self.history.name(EntityKind::Competition, id));
        let day = summary.start_text(base::time_format::zulu);
        let context = [league, day, Some(status_word(summary).to_owned())];
        let context: Vec<String> = context.into_iter().flatten().collect();
        SearchResult {
            kind: "match",
            id: summary.id,
            name: self.title(summary),
            context: Some(context.join(", ")),
            score: 1.0,
        }
    }

    /// `Alpha v Beta`, `Ascot 14:30`.
    pub(crate) fn title(&self, summary: &MatchSummary) -> String {
        let name = |id| self.history.name(self.side(), id).unwrap_or_else(|| "?".to_owned());
        match summary.sides {
            Some([home, away]) => format!("{} v {}", name(home), name(away)),
            None => self.race_title(summary).unwrap_or_else(|| format!("match {}", summary.id)),
        }
    }

    /// The one entity that a name stands for.
    ///
    /// # Errors
    ///
    /// If none or several fit equally well; with the nearest ones.
    pub(crate) fn resolve(&self, kind: EntityKind, asked: &str) -> Result<Key, Refusal> {
        let found = self.entities(kind, asked, NEAREST_MAX);
        match found.as_slice() {
            [one] if one.score >= FIT_MIN => Ok(one.id),
            [best, next, ..] if best.score > next.score && best.score >= 0.9 => Ok(best.id),
            [_, next, ..] if next.score >= FIT_MIN => Err(Refusal::new(
                "ambiguous_name",
                format!("Several fit {asked:?}: call again with the id of one."),
            )
            .with("nearest", json!(found))),
            _ => Err(Refusal::not_found(format!("No {} is called {asked:?}.", word(kind)))
                .with("nearest", json!(self.nearest(kind, asked)))),
        }
    }

    /// The season that a text names by its years, as `2026/27`, `26-27` or `2026`: of this league, or the only one.
    ///
    /// # Errors
    ///
    /// If none or several are called so; with those that come nearest.
    pub(crate) fn season(&self, asked: &str, league: Option<Key>) -> Result<Key, Refusal> {
        let wanted = years(asked);
        let is_of_league = |season: &Entity| {
            season.sport == self.sport && (league.is_none() || season.parent == league)
        };
        let all = self.history.entities(EntityKind::Season, is_of_league);
        let fits =
            |season: &&Arc<Entity>| !wanted.is_empty() && years(&season.name).starts_with(&wanted);
        let found: Vec<_> = all.iter().filter(fits).collect();
        let refusal = match found.as_slice() {
            [one] => return Ok(one.id),
            [] => Refusal::not_found(format!("No season of the league is called {asked:?}.")),
            _ => Refusal::new(
                "ambiguous_name",
                format!(
                    "Several seasons fit {asked:?}: call again with the league, or the id of one."
                ),
            ),
        };
        let nearest = if found.is_empty() { all.iter().rev().collect() } else { found };
        let nearest = nearest.into_iter().take(NEAREST_MAX).map(|it| self.found(it, 1.0));
        Err(refusal.with("nearest", json!(nearest.collect::<Vec<_>>())))
    }

    /// The entities of a kind with the most similar names, without a minimum similarity.
    fn nearest(&self, kind: EntityKind, asked: &str) -> Vec<SearchResult> {
        let index = self.index(kind);
        let nearest = index.nearest(&FoldedName::new(asked), NEAREST_MAX);
        nearest.into_iter().map(|(entity, likeness)| self.found(entity, likeness)).collect()
    }

    /// `Alpha v Beta, Premier League, 2026-11-28T15:00:00Z, finished (204849)`; `None` if there is no such match.
    pub(crate) fn described(&self, id: Key) -> Option<String> {
        let summary = self.history.summary(id)?;
        let found = self.search_result(&summary);
        let context = found.context.map(|context| format!(", {context}")).unwrap_or_default();
        Some(format!("{}{context} ({id})", found.name))
    }

    /// The index of the side of a match that a name stands for.
    pub(crate) fn side_named(&self, id: Key, asked: &str) -> Option<usize> {
        let asked = FoldedName::new(asked);
        let fits = self.history.summary(id)?.sides?.map(|side| {
            let name = self.history.name(self.side(), side);
            name.map_or(0.0, |name| FoldedName::new(&name).score_of_text(&asked))
        });
        let best = usize::from(fits[1] > fits[0]);
        (fits[best] >= FIT_MIN && fits[0].total_cmp(&fits[1]).is_ne()).then_some(best)
    }

    pub(crate) fn league(&self, id: Key) -> Option<String> {
        self.history.name(EntityKind::Competition, id)
    }

    /// Whether a text is part of the name of a side.
    pub(crate) fn has_part(&self, text: &str) -> bool {
        let part = NamePart::new(text);
        let fits = |entity: &Entity| entity.sport == self.sport && part.is_in(&entity.name);
        !self.history.entities(self.side(), fits).is_empty()
    }

    /// `Alpha (7)`.
    pub(crate) fn named(&self, kind: EntityKind, id: Key) -> Option<String> {
        Some(format!("{} ({id})", self.history.name(kind, id)?))
    }

    /// The refusal of an id that no match has, with those most like it, or else some that are in play.
    pub(crate) fn no_match(&self, id: Key) -> Refusal {
        let now = clock::wall();
        let query = MatchQuery {
            from: Some(now - NEAR_US / 14),
            before: Some(now + NEAR_US / 14),
            window: Window { offset: 0, limit: 500 },
            ..MatchQuery::of_sport(self.sport)
        };
        let asked = id.to_string();
        let mut near = self.history.find(&query).summaries;
        near.sort_by_key(|summary| {
            let id = summary.id;
            (strsim::levenshtein(&id.to_string(), &asked), !summary.status.is_live(), id)
        });
        let nearest: Vec<Value> = near
            .iter()
            .take(5)
            .map(|summary| json!({"id": summary.id, "name": self.title(summary), "status": status_word(summary)}))
            .collect();
        Refusal::not_found(format!(
            "No {} match has the id {id}. `find` searches by names.",
            self.sport.as_str()
        ))
        .with("nearest", nearest)
    }
}

/// The years in the name of a season, without their centuries.
fn years(name: &str) -> Vec<u32> {
    let numbers = name.split(|c: char| !c.is_ascii_digit());
    numbers.filter_map(|number| number.parse::<u32>().ok()).map(|year| year % 100).collect()
}

fn rounded(score: f64) -> f64 {
    (score * 100.0).round() / 100.0
}

/// The sides in `A v B`, or the whole text.
pub(crate) fn sides_of(asked: &str) -> Vec<&str> {
    sides(asked).map_or_else(|| vec![asked], Vec::from)
}

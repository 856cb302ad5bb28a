//! The table of teams with different names in different feeds, compiled in.
//!
//! It owns `aliases.txt`, whose header defines its contents. Clubs of different countries share
//! short names (Arsenal, Everton, Barcelona), so a line applies only if the competition does not
//! indicate another country.

use std::sync::LazyLock;

use base::names;
use facts::event::Sport;
use rustc_hash::FxHashMap;

use super::{country, team};

static ALIASES: LazyLock<Aliases> = LazyLock::new(|| Aliases::read(include_str!("aliases.txt")));

struct Aliases {
    /// By the sport and the keys of all names of each team.
    teams: FxHashMap<(Sport, String), AliasEntry>,
}

/// A team of the table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct AliasEntry {
    /// Its first name in the table, in plain words.
    pub(super) name: String,
    /// The country of its league; `None` for nations.
    country: Option<&'static str>,
}

/// The team of this name, in plain words, limited to a country if that is known.
pub(super) fn find(
    plain: &str,
    sport: Sport,
    country: Option<&str>,
) -> Option<&'static AliasEntry> {
    let entry = ALIASES.teams.get(&(sport, names::key(plain)))?;
    let elsewhere = entry.country.zip(country).is_some_and(|(one, other)| one != other);
    (!elsewhere).then_some(entry)
}

impl Aliases {
    /// Skips invalid lines; a test checks that there are none.
    fn read(text: &str) -> Self {
        let mut aliases = Self { teams: FxHashMap::default() };
        let (mut sport, mut country) = (Sport::Football, None);
        for line in lines(text) {
            if let Some(name) = heading(line) {
                sport = Sport::from_word(name).unwrap_or(Sport::Football);
                country = country::stated(name);
                continue;
            }
            let all: Vec<_> = names(line).map(team::plain).collect();
            for other in &all {
                let entry = AliasEntry { name: all[0].clone(), country };
                aliases.teams.insert((sport, names::key(other)), entry);
            }
        }
        aliases
    }
}

fn lines(text: &str) -> impl Iterator<Item = &str> {
    text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'))
}

fn heading(line: &str) -> Option<&str> {
    line.strip_prefix('[')?.strip_suffix(']')
}

/// All names on a line, the first one first.
fn names(line: &str) -> impl Iterator<Item = &str> {
    line.split(['=', ';']).map(str::trim)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::identity::team::TeamName;

    const TEXT: &str = include_str!("aliases.txt");

    /// The sport and the names of each line.
    fn teams() -> Vec<(Sport, Vec<&'static str>)> {
        let (mut teams, mut sport) = (Vec::new(), Sport::Football);
        for line in lines(TEXT) {
            match heading(line) {
                Some(name) => sport = Sport::from_word(name).unwrap_or(Sport::Football),
                None => teams.push((sport, names(line).collect())),
            }
        }
        teams
    }

    #[test]
    fn every_name_means_one_team() {
        let mut owners = BTreeMap::new();
        for (sport, all) in teams() {
            for name in &all {
                assert!(!team::plain(name).is_empty(), "{all:?}");
                let key = (sport.as_str(), names::key(&team::plain(name)));
                assert_eq!(owners.insert(key, all.clone()), None, "{name} stands twice");
            }
        }
        assert!(owners.len() > 400, "{}", owners.len());
    }

    #[test]
    fn every_name_is_read_as_its_team() {
        for (sport, all) in teams() {
            let first = TeamName::read(all[0], sport, None);
            for name in all {
                assert_eq!(TeamName::read(name, sport, None), first, "{name}");
            }
        }
    }

    #[test]
    fn every_heading_is_known() {
        for name in lines(TEXT).filter_map(heading) {
            let is_known = country::stated(name).is_some() || Sport::from_word(name).is_some();
            assert!(name == "Nations" || is_known, "{name}");
        }
    }
}

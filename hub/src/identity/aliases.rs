//! The table of football teams with different names in different feeds, compiled in.
//!
//! It owns `aliases.txt`, whose header defines its contents. Clubs of different countries share
//! short names (Arsenal, Everton, Barcelona), so a line applies only if the competition does not
//! indicate another country.

use std::sync::LazyLock;

use rustc_hash::FxHashMap;

use super::{country, fold, team};

static ALIASES: LazyLock<Aliases> = LazyLock::new(|| Aliases::read(include_str!("aliases.txt")));

struct Aliases {
    /// By the keys of all names of each team.
    teams: FxHashMap<String, AliasEntry>,
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
pub(super) fn find(plain: &str, country: Option<&str>) -> Option<&'static AliasEntry> {
    let entry = ALIASES.teams.get(&fold::key(plain))?;
    let elsewhere = entry.country.zip(country).is_some_and(|(one, other)| one != other);
    (!elsewhere).then_some(entry)
}

impl Aliases {
    /// Skips invalid lines; a test checks that there are none.
    fn read(text: &str) -> Self {
        let mut aliases = Self { teams: FxHashMap::default() };
        let mut country = None;
        for line in lines(text) {
            if let Some(name) = heading(line) {
                country = country::stated(name);
                continue;
            }
            let mut names = names(line).map(team::plain);
            let Some(name) = names.next() else { continue };
            for other in names {
                aliases.teams.insert(fold::key(&other), AliasEntry { name: name.clone(), country });
            }
            aliases.teams.insert(fold::key(&name), AliasEntry { name, country });
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

    #[test]
    fn every_name_means_one_team() {
        let mut owners = BTreeMap::new();
        for line in lines(TEXT).filter(|line| heading(line).is_none()) {
            for name in names(line) {
                assert!(!team::plain(name).is_empty(), "{line}");
                let other = owners.insert(fold::key(&team::plain(name)), line);
                assert_eq!(other, None, "{name} stands twice");
            }
        }
        assert!(owners.len() > 400, "{}", owners.len());
    }

    #[test]
    fn every_name_is_read_as_its_team() {
        for line in lines(TEXT).filter(|line| heading(line).is_none()) {
            let first = names(line).next().map(|name| TeamName::read(name, true, None));
            for name in names(line) {
                assert_eq!(Some(TeamName::read(name, true, None)), first, "{name}");
            }
        }
    }

    #[test]
    fn every_country_is_known() {
        for name in lines(TEXT).filter_map(heading) {
            assert!(name == "Nations" || country::stated(name).is_some(), "{name}");
        }
    }
}

//! The rules of football competitions: the settings of the operator, else those built in.

use std::{collections::BTreeMap, sync::Arc};

use base::names::{key, plain, words};
use tokio::sync::watch;

use super::{Ranking, SplitPoints, TableRule, season_year};
use crate::config::{CompetitionConfig, CompetitionsConfig, Deduction};

/// The rules of one season of a competition.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Regulations {
    pub rule: TableRule,
    /// Conferences that no feed states: the names of their teams.
    pub groups: BTreeMap<String, Vec<String>>,
    pub deductions: Vec<Deduction>,
}

/// The settings in force, which the operator can replace while the hub runs. Clones share them.
#[derive(Debug, Clone, Default)]
pub struct Competitions(watch::Sender<Arc<CompetitionsConfig>>);

impl Competitions {
    #[must_use]
    pub fn new(config: CompetitionsConfig) -> Self {
        Self(watch::Sender::new(Arc::new(config)))
    }

    pub fn replace(&self, config: CompetitionsConfig) {
        self.0.send_replace(Arc::new(config));
    }

    /// The rules of a season: the name of the country, or nothing, the names of the competition and of the season,
    /// and the day of the first match, if known.
    #[must_use]
    pub fn regulations(
        &self,
        country: &str,
        competition: &str,
        season: &str,
        first_day: Option<&str>,
    ) -> Regulations {
        let year = season_year(season, first_day);
        let names = names(country, competition);
        let mut rule = built_in(&fold(country), &names, year);
        let settings = Arc::clone(&self.0.borrow());
        let Some(config) = configured(&settings, &fold(country), &names) else {
            return Regulations { rule, ..Regulations::default() };
        };
        if let Some(ranking) = config.rule.filter(|ranking| *ranking != rule.ranking) {
            // Without the split of the built-in rule.
            (rule.ranking, rule.split_points) = (ranking, SplitPoints::All);
        }
        rule.win = config.win.unwrap_or(rule.win);
        rule.split_after = config.split_after.unwrap_or(rule.split_after);
        rule.split_top = config.split_top.unwrap_or(rule.split_top);
        rule.split_second = config.split_second.unwrap_or(rule.split_second);
        rule.split_points = config.split_points.unwrap_or(rule.split_points);
        let deductions = config.deductions.iter().filter(|it| is_of_season(it, season, first_day));
        let groups = config.groups.clone();
        Regulations { rule, groups, deductions: deductions.cloned().collect() }
    }
}

/// The folded names by which a competition is looked up: some feeds write its country in front of it.
fn names(country: &str, competition: &str) -> Vec<String> {
    let name = plain(competition);
    let bare = name.strip_prefix(&*plain(country)).and_then(|rest| rest.strip_prefix(' '));
    [Some(&*name), bare].into_iter().flatten().map(key).collect()
}

/// The settings of a competition: those with its country come before those without one.
fn configured<'a>(
    settings: &'a CompetitionsConfig,
    country: &str,
    names: &[String],
) -> Option<&'a CompetitionConfig> {
    let mut named = settings.iter().filter(|(key, _)| is_key(key, country, names));
    let with_country = named.clone().find(|(key, _)| key.contains('/'));
    with_country.or_else(|| named.next()).map(|(_, config)| config)
}

/// Whether a key of the settings, `Country/Name` or `Name`, means this competition, of which the names are folded.
fn is_key(key: &str, country: &str, names: &[String]) -> bool {
    match key.split_once('/') {
        Some((key_country, name)) => fold(key_country) == country && names.contains(&fold(name)),
        None => names.contains(&fold(key)),
    }
}

/// Whether a key as in the settings means the competition of this country with this name.
pub(super) fn is_named(key: &str, country: &str, competition: &str) -> bool {
    is_key(key, &fold(country), &names(country, competition))
}

/// Whether a deduction is of the season with this name, and this day of its first match.
pub(super) fn is_of_season(deduction: &Deduction, season: &str, first_day: Option<&str>) -> bool {
    let same_year = match season_year(&deduction.season, None) {
        Some(wanted) => season_year(season, first_day) == Some(wanted),
        None => fold(&deduction.season) == fold(season),
    };
    // Such as "Clausura".
    let is_number = |word: &String| word.starts_with(|letter: char| letter.is_ascii_digit());
    let names = words(season);
    let wanted = words(&deduction.season);
    let mut wanted = wanted.iter().filter(|word| !is_number(word));
    same_year && wanted.all(|word| names.contains(word))
}

/// A name in one spelling, as one word.
pub(super) fn fold(text: &str) -> String {
    key(&plain(text))
}

/// The first season in which a win gave 3 points. Elsewhere it always does.
const THREE_POINTS: &[(&str, u16)] = &[
    ("england", 1981),
    ("turkey", 1987),
    ("turkiye", 1987),
    ("greece", 1992),
    ("scotland", 1994),
    ("italy", 1994),
    ("france", 1994),
    ("belgium", 1995),
    ("brazil", 1995),
    ("germany", 1995),
    ("netherlands", 1995),
    ("portugal", 1995),
    ("spain", 1995),
];

/// Competitions that do not rank by goal difference: the countries, the names, the year of the first season, the
/// rule, and the split. `*` marks a name that no other country uses, so that it is enough
/// if no country is known. Of several lines the last one that has begun counts.
type BuiltIn = (&'static str, &'static str, u16, Ranking, Option<Split>);

/// The matches of each team before it, the teams of the upper part and of a second one, and what they keep of their points.
type Split = (u32, usize, usize, SplitPoints);

/// A split into two parts that keep all points.
const fn split(after: u32, top: usize) -> Option<Split> {
    Some((after, top, 0, SplitPoints::All))
}

const BELGIUM: &str = "*Belgian Pro League, Pro League, *Jupiler Pro League, First Division A";
const ROMANIA: &str = "Liga I, Liga 1, SuperLiga, *Romanian Liga I, *Romanian SuperLiga";
const CZECHIA: &str = "First League, *Czech Liga, *Czech First League, Fortuna Liga, Chance Liga";
const CZECH_SPLIT: Option<Split> = Some((30, 6, 4, SplitPoints::All));

const BUILT_IN: &[BuiltIn] = &[
    (
        "Spain",
        "*La Liga, La Liga EA Sports, La Liga Santander, La Liga BBVA, Primera División, Primera Division, \
         Segunda División, Segunda Division, La Liga 2",
        0,
        Ranking::HeadToHead,
        None,
    ),
    ("Italy", "Serie A, Serie A TIM, Serie A Enilive", 2005, Ranking::HeadToHead, None),
    (
        "Portugal",
        "*Primeira Liga, Liga Portugal, Segunda Liga, Liga Portugal 2",
        0,
        Ranking::HeadToHead,
        None,
    ),
    (
        "Turkey, Türkiye",
        "*Süper Lig, *Super Lig, *Turkish Super Lig, Super League",
        0,
        Ranking::HeadToHead,
        None,
    ),
    ("Greece", "*Super League Greece, Super League, Super League 1", 0, Ranking::HeadToHead, None),
    ("Poland", "*Ekstraklasa", 0, Ranking::HeadToHead, None),
    ("Poland", "*Ekstraklasa", 2013, Ranking::Split, Some((30, 8, 0, SplitPoints::HalfUp))),
    ("Poland", "*Ekstraklasa", 2017, Ranking::Split, split(30, 8)),
    ("Poland", "*Ekstraklasa", 2020, Ranking::HeadToHead, None),
    (
        "Austria",
        "Bundesliga, *Austrian Bundesliga, Tipico Bundesliga, Admiral Bundesliga",
        2018,
        Ranking::Split,
        Some((22, 6, 0, SplitPoints::HalfDown)),
    ),
    ("Romania", ROMANIA, 2015, Ranking::Split, Some((26, 6, 0, SplitPoints::HalfUp))),
    ("Romania", ROMANIA, 2020, Ranking::Split, Some((30, 6, 0, SplitPoints::HalfUp))),
    ("Czech Republic, Czechia", CZECHIA, 2018, Ranking::Split, CZECH_SPLIT),
    ("Czech Republic, Czechia", CZECHIA, 2020, Ranking::GoalDifference, None),
    ("Czech Republic, Czechia", CZECHIA, 2021, Ranking::Split, CZECH_SPLIT),
    ("Belgium", BELGIUM, 0, Ranking::WinsFirst, None),
    ("Belgium", BELGIUM, 2020, Ranking::WinsFirst, Some((34, 4, 4, SplitPoints::HalfUp))),
    ("Belgium", BELGIUM, 2023, Ranking::WinsFirst, Some((30, 6, 6, SplitPoints::HalfUp))),
    ("Belgium", BELGIUM, 2026, Ranking::WinsFirst, None),
    (
        "Brazil",
        "Serie A, Serie B, *Brasileirão, *Brasileiro Série A, *Campeonato Brasileiro Série A",
        0,
        Ranking::WinsFirst,
        None,
    ),
    ("USA, United States", "*MLS, *Major League Soccer", 2014, Ranking::WinsFirst, None),
    (
        "Scotland",
        "*Scottish Premiership, *Scottish Premier League, Premiership, Premier League",
        2000,
        Ranking::Split,
        split(33, 6),
    ),
    ("Northern Ireland", "Premiership, *NIFL Premiership", 2008, Ranking::Split, split(33, 6)),
    ("Switzerland", "Super League, *Swiss Super League", 2023, Ranking::Split, split(33, 6)),
    (
        "Wales",
        "*Cymru Premier, Premier League, *Welsh Premier League",
        2010,
        Ranking::Split,
        split(22, 6),
    ),
    ("Denmark", "Superliga, Superligaen, *Danish Superliga", 2020, Ranking::Split, split(22, 6)),
    (
        "",
        "*UEFA Champions League, *UEFA Europa League, *UEFA Europa Conference League",
        0,
        Ranking::HeadToHead,
        None,
    ),
    (
        "",
        "*UEFA Champions League, *UEFA Europa League, *UEFA Conference League",
        2024,
        Ranking::GoalDifference,
        None,
    ),
    (
        "",
        "*European Championship, *UEFA European Championship, *Euro Championship",
        1996,
        Ranking::HeadToHead,
        None,
    ),
];

/// The built-in rule; that of today if the year is not known.
fn built_in(country: &str, names: &[String], year: Option<u16>) -> TableRule {
    let year = year.unwrap_or(u16::MAX);
    let is_it = |(countries, competitions, since, ..): &&BuiltIn| {
        let of_country = countries.split(", ").any(|it| fold(it) == country);
        let is_named = |name: &str| {
            let is_enough = name.starts_with('*') && (country.is_empty() || countries.is_empty());
            (of_country || is_enough) && names.contains(&fold(name))
        };
        *since <= year && competitions.split(", ").any(is_named)
    };
    let found = BUILT_IN.iter().rfind(is_it);
    let of_country = if country.is_empty() {
        found.map(|(countries, ..)| fold(countries.split(", ").next().unwrap_or_default()))
    } else {
        Some(country.to_owned())
    };
    let is_old = |(name, since): &&(&str, u16)| {
        year < *since && of_country.as_ref().is_some_and(|country| *country == fold(name))
    };
    let default = TableRule::default();
    let whole =
        (default.split_after, default.split_top, default.split_second, default.split_points);
    let (split_after, split_top, split_second, split_points) =
        found.and_then(|(.., split)| *split).unwrap_or(whole);
    TableRule {
        ranking: found.map_or(default.ranking, |(_, _, _, ranking, _)| *ranking),
        win: if THREE_POINTS.iter().any(|line| is_old(&line)) { 2 } else { default.win },
        split_after,
        split_top,
        split_second,
        split_points,
    }
}

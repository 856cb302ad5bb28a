//! `[competitions]`: the rules of tables, where the built-in ones are missing or wrong.

use std::collections::BTreeMap;

use jiff::civil::Date;
use serde::{Deserialize, Serialize};

use crate::query::{Ranking, SplitPoints};

/// By `Country/Name`, as in `England/Championship`, or by the name alone. Spelling counts only in its letters.
pub type CompetitionsConfig = BTreeMap<String, CompetitionConfig>;

/// `[competitions."England/Championship"]`: how the tables of a football competition are ranked, by its country and
/// name or by its name alone, as REST has them. What is absent is built in. In the file only.
/// docs/OPERATING.md#tables
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct CompetitionConfig {
    /// What decides between teams with equal points: `goal_difference`, `head_to_head`, `wins_first` or `split`.
    pub rule: Option<Ranking>,
    /// Points for a win.
    pub win: Option<u32>,
    /// With `rule = "split"` or halved points: the matches of each team before the split. Default 33.
    pub split_after: Option<u32>,
    /// The teams of the upper part after the split. Default 6.
    pub split_top: Option<usize>,
    /// The teams of a second part; a third one keeps all its points. Default: all others.
    pub split_second: Option<usize>,
    /// What teams keep of their points at the split: `all`, or half of them, `half_down` or `half_up` to a whole one.
    /// With another `rule` than the built-in one: `all`.
    pub split_points: Option<SplitPoints>,
    /// Conferences that no feed reports, with the names of their teams: `{ East = ["Red Stars", "Blue Stars"], West =
    /// ["..."] }`. Each is a table of its own, in which all matches count.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub groups: BTreeMap<String, Vec<String>>,
    /// Points that the competition deducted: a list of tables with `season` and `team` as the feed names them,
    /// `points`, and optional `date` and `reason`. Only the first year of the season counts; whole words of the name
    /// of the team are enough if no other team has them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub deductions: Vec<Deduction>,
}

/// Points that a competition took from a team.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Deduction {
    /// As in `2019-2020` or `2019/20`: the first year counts, and every word beside it.
    pub season: String,
    /// As the feed spells it, or a part of it in whole words that no other team of the table has.
    pub team: String,
    pub points: u32,
    /// `2020-07-14`, or absent.
    pub date: Option<String>,
    pub reason: Option<String>,
}

/// What is wrong in the settings, in words.
///
/// # Errors
///
/// The name of the setting, and what it must be.
pub fn check(competitions: &CompetitionsConfig) -> Result<(), (&'static str, &'static str)> {
    for (name, settings) in competitions {
        if name.trim_matches('/').trim().is_empty() {
            return Err(("competitions", "tables named Country/Name, or by the name alone"));
        }
        if settings.win.is_some_and(|win| !(1..=10).contains(&win)) {
            return Err(("competitions: win", "from 1 to 10"));
        }
        if settings.split_after == Some(0) || settings.split_top == Some(0) {
            return Err(("competitions: split_after and split_top", "more than 0"));
        }
        for deduction in &settings.deductions {
            let Deduction { season, team, points, date, .. } = deduction;
            if season.trim().is_empty() || team.trim().is_empty() || !(1..=1000).contains(points) {
                return Err(("competitions: deductions", "a season, a team, and 1 to 1000 points"));
            }
            if date.as_ref().is_some_and(|date| date.parse::<Date>().is_err()) {
                return Err(("competitions: date of a deduction", "a date as in 2020-07-14"));
            }
        }
    }
    Ok(())
}

//! Statistics over the matches of a manager.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

use facts::event::ExpectedGoals;

use super::{
    head_to_head::{as_float, ratio},
    match_stats::{MatchStats, MatchStatsCache},
    people::Role,
    request::most_frequent,
    snapshot::Matches,
    tenure,
};
use crate::rest::{Api, ApiError};
use record::{Key, MatchSummary};

/// Covers the matches with a result. Rates are in percent with one decimal place, and means are per match
/// with two; `None` means that no feed provides the numbers.
#[derive(Debug, Default, PartialEq)]
pub(in crate::rest) struct ManagerStats {
    pub matches: usize,
    pub wins: usize,
    pub draws: usize,
    pub losses: usize,
    pub win_pct: Option<f64>,
    pub clean_sheet_pct: Option<f64>,
    pub fail_to_score_pct: Option<f64>,
    pub both_scored_pct: Option<f64>,
    pub over_15_pct: Option<f64>,
    pub over_25_pct: Option<f64>,
    pub goals_scored: Option<f64>,
    pub goals_conceded: Option<f64>,
    pub goals_scored_first_half: Option<f64>,
    pub goals_conceded_first_half: Option<f64>,
    /// In percent, with one decimal place.
    pub possession: Option<f64>,
    pub shots: Option<f64>,
    pub shots_on_target: Option<f64>,
    pub corners: Option<f64>,
    pub expected_goals: Option<f64>,
    pub expected_goals_conceded: Option<f64>,
    pub yellow_cards: Option<f64>,
    pub red_cards: Option<f64>,
    pub fouls: Option<f64>,
    /// How often each formation was in a known line-up.
    pub formations: BTreeMap<String, u32>,
    /// The most frequent formation, or an empty string.
    pub preferred_formation: String,
}

impl ManagerStats {
    /// The statistics of each of these managers.
    ///
    /// # Errors
    ///
    /// If the archive fails.
    pub(in crate::rest) async fn for_managers(
        api: &Api,
        match_stats: &MatchStatsCache,
        managers: &[Key],
    ) -> Result<HashMap<Key, Self>, ApiError> {
        let matches = Matches::now(api);
        let summaries: HashMap<_, _> =
            managers.iter().map(|id| (*id, matches.all(&Role::Manager.results(*id)))).collect();
        let needed: Vec<_> = summaries.values().flatten().map(Arc::clone).collect();
        let match_stats = match_stats.load(&matches, &needed).await?;
        Ok(summaries.iter().map(|(id, all)| (*id, Self::new(*id, all, &match_stats))).collect())
    }

    /// `summaries` are the manager's matches with a result.
    pub(super) fn new(
        manager: Key,
        summaries: &[Arc<MatchSummary>],
        match_stats: &HashMap<Key, MatchStats>,
    ) -> Self {
        let sided = summaries.iter().filter_map(|summary| {
            Some((summary, tenure::side_of(&summary.coaches, &Some(manager))?))
        });
        Self::from_sides(&sided.collect::<Vec<_>>(), match_stats)
    }

    /// Over matches with a result, each with the index of the side that it is about.
    pub(super) fn from_sides(
        sided: &[(&Arc<MatchSummary>, usize)],
        match_stats: &HashMap<Key, MatchStats>,
    ) -> Self {
        let goals = sided.iter().filter_map(|(summary, side)| tenure::goals_of(summary, *side));
        let goals: Vec<_> = goals.collect();
        let [wins, draws, losses] = tenure::balance(&goals);
        let matches = goals.len();
        let percent = |count: usize| ratio(as_float(100 * count), matches, 1);
        let count = |is: fn(&&[u32; 2]) -> bool| percent(goals.iter().filter(is).count());
        let halves = sided.iter().filter_map(|(summary, side)| {
            let goals = summary.half_time?.map(u32::from);
            Some([goals[*side], goals[1 - *side]])
        });
        let halves: Vec<_> = halves.collect();
        let expected = sided.iter().filter_map(|(summary, side)| {
            let goals = summary.expected_goals?.map(ExpectedGoals::goals);
            Some([goals[*side], goals[1 - *side]])
        });
        let expected: Vec<_> = expected.collect();
        let mean_expected =
            |which: usize| ratio(expected.iter().map(|it| it[which]).sum(), expected.len(), 2);
        let match_stats =
            || sided.iter().filter_map(|(it, side)| Some((match_stats.get(&it.id)?, *side)));
        let counts = |count: fn(&MatchStats) -> Option<[u32; 2]>| {
            match_stats().filter_map(|(stats, side)| Some(count(stats)?[side])).collect::<Vec<_>>()
        };
        let formations =
            || match_stats().filter_map(|(stats, side)| stats.formations[side].as_deref());
        let mut used = BTreeMap::new();
        formations().for_each(|it| *used.entry(it.to_owned()).or_default() += 1);
        Self {
            matches,
            wins,
            draws,
            losses,
            win_pct: percent(wins),
            clean_sheet_pct: count(|[_, against]| *against == 0),
            fail_to_score_pct: count(|[scored, _]| *scored == 0),
            both_scored_pct: count(|[scored, against]| *scored > 0 && *against > 0),
            over_15_pct: count(|[scored, against]| scored + against > 1),
            over_25_pct: count(|[scored, against]| scored + against > 2),
            goals_scored: mean(goals.iter().map(|goals| goals[0]), 2),
            goals_conceded: mean(goals.iter().map(|goals| goals[1]), 2),
            goals_scored_first_half: mean(halves.iter().map(|goals| goals[0]), 2),
            goals_conceded_first_half: mean(halves.iter().map(|goals| goals[1]), 2),
            possession: mean(counts(|stats| stats.possession).into_iter(), 1),
            shots: mean(counts(|stats| stats.shots).into_iter(), 2),
            shots_on_target: mean(counts(|stats| stats.shots_on_target).into_iter(), 2),
            expected_goals: mean_expected(0),
            expected_goals_conceded: mean_expected(1),
            corners: mean(counts(|stats| stats.corners).into_iter(), 2),
            yellow_cards: mean(counts(|stats| stats.yellow).into_iter(), 2),
            red_cards: mean(counts(|stats| stats.red).into_iter(), 2),
            fouls: mean(counts(|stats| stats.fouls).into_iter(), 2),
            preferred_formation: most_frequent(formations()).unwrap_or_default().to_owned(),
            formations: used,
        }
    }
}

fn mean(counts: impl ExactSizeIterator<Item = u32>, digits: i32) -> Option<f64> {
    let count = counts.len();
    ratio(counts.map(f64::from).sum(), count, digits)
}

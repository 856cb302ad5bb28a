//! What the matches of a manager come to.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

use super::{
    head_to_head::{as_float, ratio},
    matches::Matches,
    people::Role,
    request::most_frequent,
    sheets::{Sheet, Sheets},
    tenure,
};
use crate::{
    api::{Api, ApiError},
    record::{Key, MatchSummary},
};

/// Of the matches with a result. Rates are in percent, to one digit, and means are of a match, to two;
/// `None` is of nothing that was told.
#[derive(Debug, Default, PartialEq)]
pub(in crate::api) struct Led {
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
    /// In percent, to one digit.
    pub possession: Option<f64>,
    pub shots: Option<f64>,
    pub shots_on_target: Option<f64>,
    pub corners: Option<f64>,
    pub yellow_cards: Option<f64>,
    pub red_cards: Option<f64>,
    pub fouls: Option<f64>,
    /// How often each was in a line-up that is known.
    pub formations: BTreeMap<String, u32>,
    /// That of most of them, or nothing.
    pub preferred_formation: String,
}

impl Led {
    /// Of each of these managers.
    ///
    /// # Errors
    ///
    /// If the archive fails.
    pub(in crate::api) async fn of_all(
        api: &Api,
        sheets: &Sheets,
        managers: &[Key],
    ) -> Result<HashMap<Key, Self>, ApiError> {
        let matches = Matches::now(api);
        let led: HashMap<_, _> =
            managers.iter().map(|id| (*id, matches.all(&Role::Manager.results(*id)))).collect();
        let needed: Vec<_> = led.values().flatten().map(Arc::clone).collect();
        let sheets = sheets.of(&matches, &needed).await?;
        Ok(led.iter().map(|(id, led)| (*id, Self::of(*id, led, &sheets))).collect())
    }

    /// `led` are the matches of the manager with a result.
    pub(super) fn of(
        manager: Key,
        led: &[Arc<MatchSummary>],
        sheets: &HashMap<Key, Sheet>,
    ) -> Self {
        let sided = led
            .iter()
            .filter_map(|brief| Some((brief, tenure::side_of(&brief.coaches, &Some(manager))?)));
        let sided: Vec<_> = sided.collect();
        let goals = sided.iter().filter_map(|(brief, side)| tenure::goals_of(brief, *side));
        let goals: Vec<_> = goals.collect();
        let [wins, draws, losses] = tenure::balance(&goals);
        let matches = goals.len();
        let percent = |count: usize| ratio(as_float(100 * count), matches, 1);
        let count = |is: fn(&&[u32; 2]) -> bool| percent(goals.iter().filter(is).count());
        let halves = sided.iter().filter_map(|(brief, side)| {
            let goals = brief.half_time?.map(u32::from);
            Some([goals[*side], goals[1 - *side]])
        });
        let halves: Vec<_> = halves.collect();
        let sheets =
            || sided.iter().filter_map(|(brief, side)| Some((sheets.get(&brief.id)?, *side)));
        let told = |count: fn(&Sheet) -> Option<[u32; 2]>| {
            sheets().filter_map(|(sheet, side)| Some(count(sheet)?[side])).collect::<Vec<_>>()
        };
        let formations = || sheets().filter_map(|(sheet, side)| sheet.formations[side].as_deref());
        let mut used = BTreeMap::new();
        formations().for_each(|it| *used.entry(it.to_owned()).or_default() += 1);
        Self {
            matches,
            wins,
            draws,
            losses,
            win_pct: percent(wins),
            clean_sheet_pct: count(|[_, against]| *against == 0),
            fail_to_score_pct: count(|[own, _]| *own == 0),
            both_scored_pct: count(|[own, against]| *own > 0 && *against > 0),
            over_15_pct: count(|[own, against]| own + against > 1),
            over_25_pct: count(|[own, against]| own + against > 2),
            goals_scored: mean(goals.iter().map(|goals| goals[0]), 2),
            goals_conceded: mean(goals.iter().map(|goals| goals[1]), 2),
            goals_scored_first_half: mean(halves.iter().map(|goals| goals[0]), 2),
            goals_conceded_first_half: mean(halves.iter().map(|goals| goals[1]), 2),
            possession: mean(told(|sheet| sheet.possession).into_iter(), 1),
            shots: mean(told(|sheet| sheet.shots).into_iter(), 2),
            shots_on_target: mean(told(|sheet| sheet.shots_on_target).into_iter(), 2),
            corners: mean(told(|sheet| sheet.corners).into_iter(), 2),
            yellow_cards: mean(told(|sheet| sheet.yellow).into_iter(), 2),
            red_cards: mean(told(|sheet| sheet.red).into_iter(), 2),
            fouls: mean(told(|sheet| sheet.fouls).into_iter(), 2),
            preferred_formation: most_frequent(formations()).unwrap_or_default().to_owned(),
            formations: used,
        }
    }
}

fn mean(counts: impl ExactSizeIterator<Item = u32>, digits: i32) -> Option<f64> {
    let of = counts.len();
    ratio(counts.map(f64::from).sum(), of, digits)
}

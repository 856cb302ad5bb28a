//! The provider's statistics that we have a counter for.

use std::collections::BTreeMap;

use facts::event::{Analysis, ExpectedGoals, FootballFact, Side, Stat};

use crate::decode::api_football::TeamStatistics;

/// The counts that differ from the last ones, which they replace.
pub(super) fn changed(
    statistics: &TeamStatistics,
    side: Side,
    last: &mut BTreeMap<Stat, u32>,
) -> Option<FootballFact> {
    let counts = statistics.counts.iter().filter_map(|(name, value)| Some((stat(name)?, *value)));
    let changed = counts.filter(|(stat, value)| last.insert(*stat, *value) != Some(*value));
    let values: Vec<_> = changed.collect();
    (!values.is_empty()).then_some(FootballFact::Stats { side, values })
}

/// The expected goals, if they differ from the last ones.
pub(super) fn expected_goals(
    statistics: &TeamStatistics,
    side: Side,
    last: &mut Option<ExpectedGoals>,
) -> Option<FootballFact> {
    let goals = statistics.expected_goals?;
    let changed = last.replace(goals) != Some(goals);
    changed.then_some(FootballFact::Analysis(Analysis::ExpectedGoals { side, goals }))
}

fn stat(name: &str) -> Option<Stat> {
    Some(match name {
        "Shots on Goal" => Stat::ShotsOnTarget,
        "Shots off Goal" => Stat::ShotsOffTarget,
        "Total Shots" => Stat::TotalShots,
        "Blocked Shots" => Stat::BlockedShots,
        "Fouls" => Stat::Fouls,
        "Corner Kicks" => Stat::CornerKicks,
        "Offsides" => Stat::Offsides,
        "Ball Possession" => Stat::BallPossession,
        "Yellow Cards" => Stat::YellowCards,
        "Red Cards" => Stat::RedCards,
        "Goalkeeper Saves" => Stat::Saves,
        "Total passes" => Stat::Passes,
        "Passes accurate" => Stat::AccuratePasses,
        _ => return None,
    })
}

use std::{collections::HashMap, path::Path};

use super::*;
use crate::predict::season;

/// Numbers between 0 and 1 from a seed: SplitMix64.
struct Dice(u64);

impl Dice {
    fn roll(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut state = self.0;
        state = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        state = (state ^ (state >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        let rolled = ((state ^ (state >> 31)) >> 11) as f64;
        rolled / 2_f64.powi(53)
    }

    fn score(&mut self, forecast: &Forecast) -> [u32; 2] {
        let mut left = self.roll();
        let reached = forecast.scores.scores().find(|(_, probability)| {
            left -= probability;
            left <= 0.0
        });
        let ((home, away), _) = reached.unwrap_or_default();
        [home, away].map(|goals| u32::try_from(goals).unwrap())
    }
}

/// Every team plays every other at home, `rounds` times.
fn simulated(truth: &Model, rounds: usize, seed: u64) -> Vec<MatchResult> {
    let mut dice = Dice(seed);
    let teams: Vec<_> = truth.teams.keys().copied().collect();
    let mut played = Vec::new();
    for home in &teams {
        for away in teams.iter().filter(|away| *away != home) {
            let sides = [*home, *away];
            let forecast = truth.forecast(sides, false).unwrap();
            let goals = (0..rounds).map(|_| dice.score(&forecast));
            played.extend(goals.map(|goals| MatchResult { sides, goals, days: 0.0 }));
        }
    }
    played
}

/// From many results of teams with known strengths, the fit recovers these strengths. The seeds are fixed: of many
/// random ones, a few give results that are too unlikely for the bounds.
#[test]
fn fit_recovers_the_true_strengths() {
    let strengths = [0.5, 0.25, 0.1, 0.0, -0.1, -0.2, -0.25, -0.3];
    let teams = strengths.iter().enumerate().map(|(index, attack)| {
        let key = u64::try_from(index).unwrap();
        (key, Strength { attack: *attack, defence: -attack / 2.0 })
    });
    let truth = Model { level: 0.1, home: 0.3, rho: -0.1, teams: teams.collect() };
    for seed in 1..=4 {
        let fit = Model::fit(&simulated(&truth, 30, seed), 365.0);
        assert!(
            (fit.home - truth.home).abs() < 0.15,
            "{seed}: home {} of {}",
            fit.home,
            truth.home
        );
        assert!((fit.rho - truth.rho).abs() < 0.15, "{seed}: rho {} of {}", fit.rho, truth.rho);
        for sides in [[0, 7], [7, 0], [3, 4]] {
            let [fit, truth] = [&fit, &truth].map(|it| it.forecast(sides, false).unwrap());
            for index in 0..2 {
                let ratio = fit.expected[index] / truth.expected[index];
                assert!((0.8..1.25).contains(&ratio), "{seed}, {sides:?}: {fit:?} of {truth:?}");
            }
        }
    }
}

#[test]
fn gradient_equals_the_numerical_slope_of_the_likelihood() {
    let truth = Model {
        level: 0.1,
        home: 0.3,
        rho: -0.1,
        teams: (0..4).map(|key| (key, Strength::default())).collect(),
    };
    let places: BTreeMap<Key, usize> =
        (0..4).map(|key| (key, usize::try_from(key).unwrap())).collect();
    let played = simulated(&truth, 4, 7);
    let results: Vec<_> = played.iter().map(|it| WeightedResult::new(it, &places, 365.0)).collect();
    let at: Vec<f64> =
        [0.1, 0.2, -0.07].into_iter().chain((0..8).map(|n| f64::from(n) / 40.0)).collect();
    let here = likelihood(&at, &results);
    for index in 0..at.len() {
        let shifted = |step: f64| {
            let mut at = at.clone();
            at[index] += step;
            likelihood(&at, &results).value
        };
        let slope = (shifted(1e-5) - shifted(-1e-5)) / 2e-5;
        let gradient = here.gradient[index];
        assert!(
            (slope - gradient).abs() < 1e-3 * (1.0 + slope.abs()),
            "{index}: {gradient} of {slope}"
        );
    }
}

#[test]
fn older_results_count_less() {
    let result = |days: f64, goals: [u32; 2]| MatchResult { sides: [1, 2], goals, days };
    let mut played = vec![result(1000.0, [0, 3]); 20];
    played.extend(vec![result(1.0, [3, 0]); 20]);
    let model = Model::fit(&played, 100.0);
    let [home, _, away] = model.forecast([1, 2], false).unwrap().scores.result();
    assert!(home > 2.0 * away, "{home} {away}");
    assert!(model.forecast([1, 3], false).is_none(), "a team without results");
}

/// Fitted to the first six tenths of a real season, the model predicts the rest better than the
/// frequencies of home wins, draws and away wins in the first part.
#[test]
#[expect(clippy::print_stderr, reason = "what a test skips has to be seen")]
fn rest_of_a_season_is_predicted_better_than_by_base_rates() {
    let files =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/feeds/football-data-couk");
    for name in ["E0-2016-2017.csv.gz", "E0-2019-2020.csv.gz"] {
        let path = files.join(name);
        if !path.exists() {
            eprintln!("skipped: {} is not here", path.display());
            continue;
        }
        let rows = season::read(&path, &mut HashMap::new());
        assert_eq!(rows.len(), 380, "{name}");
        let (past, rest) = rows.split_at(rows.len() * 6 / 10);
        let today = past.last().unwrap().day;
        let played: Vec<_> = past.iter().map(|row| row.result(today)).collect();
        let model = Model::fit(&played, 365.0);
        let mut rates = [0.0; 3];
        past.iter().for_each(|row| rates[row.outcome()] += 1.0 / past.len() as f64);
        let [mut fitted, mut base] = [0.0; 2];
        for row in rest {
            let forecast = model.forecast(row.sides, false).unwrap();
            fitted -= forecast.scores.result()[row.outcome()].ln() / rest.len() as f64;
            base -= rates[row.outcome()].ln() / rest.len() as f64;
        }
        eprintln!("{name}: log-loss {fitted:.4}, by base rates {base:.4}");
        assert!(fitted < base, "{name}: {fitted} is no better than {base}");
    }
}

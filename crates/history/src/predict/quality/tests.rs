use std::{collections::HashMap, path::Path};

use super::*;
use crate::predict::{Model, season};

/// Days between two fits.
const REFIT_DAYS: i32 = 28;

/// The first season only trains the model.
const SEASONS: [&str; 8] = [
    "feeds-2/football-data-couk/E0-2012-2013.csv",
    "feeds-2/football-data-couk/E0-2013-2014.csv",
    "feeds-2/football-data-couk/E0-2014-2015.csv",
    "feeds-2/football-data-couk/E0-2015-2016.csv",
    "feeds/football-data-couk/E0-2016-2017.csv.gz",
    "feeds-2/football-data-couk/E0-2017-2018.csv",
    "feeds-2/football-data-couk/E0-2018-2019.csv",
    "feeds/football-data-couk/E0-2019-2020.csv.gz",
];

/// Seasons from this one on are held out: no weight is fitted to them.
const HELD_OUT: usize = 5;

/// A match with what was said of it before.
struct Forecasted {
    season: usize,
    model: [f64; 3],
    average: [f64; 3],
    closing: Option<[f64; 3]>,
    outcome: usize,
}

/// Forecasts of all seasons but the first, each from the results of earlier days.
fn forecasts() -> Option<Vec<Forecasted>> {
    let shared = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared");
    let paths = SEASONS.map(|name| shared.join(name));
    if let Some(path) = paths.iter().find(|path| !path.exists()) {
        database::testing::skipped(&format!("{} is not here", path.display()));
        return None;
    }
    let mut teams = HashMap::new();
    let seasons = paths.map(|path| season::read(&path, &mut teams));
    let (mut past, mut forecasts) = (Vec::new(), Vec::new());
    let mut fitted = None;
    for (season, rows) in seasons.into_iter().enumerate() {
        for row in rows {
            let is_due = fitted.as_ref().is_none_or(|(day, _): &(jiff::civil::Date, Model)| {
                day.until(row.day).unwrap().get_days() >= REFIT_DAYS
            });
            if season > 0 && is_due {
                let earlier = past.iter().filter(|it: &&season::SeasonRow| it.day < row.day);
                let results: Vec<_> = earlier.map(|it| it.result(row.day)).collect();
                fitted = Some((row.day, Model::fit(&results, 365.0)));
            }
            let forecast = fitted.as_ref().and_then(|(_, model)| model.forecast(row.sides, false));
            if let (Some(forecast), Some(average)) = (forecast, row.average) {
                let (model, outcome) = (forecast.scores.result(), row.outcome());
                forecasts.push(Forecasted {
                    season,
                    model,
                    average,
                    closing: row.closing,
                    outcome,
                });
            }
            past.push(row);
        }
    }
    Some(forecasts)
}

fn log_loss<'a>(
    forecasts: impl Iterator<Item = &'a Forecasted>,
    probabilities: impl Fn(&Forecasted) -> [f64; 3],
) -> f64 {
    let losses: Vec<_> = forecasts.map(|it| -probabilities(it)[it.outcome].ln()).collect();
    losses.iter().sum::<f64>() / losses.len() as f64
}

fn blended(weight: f64) -> impl Fn(&Forecasted) -> [f64; 3] {
    move |it| blend_by(weight, it.model, it.average).unwrap()
}

/// The published figures are those of the files, the blend beats the model on the seasons that are held out, and its weight is
/// the best one on the seasons before.
#[test]
fn quality_is_what_the_held_out_seasons_give() {
    let Some(forecasts) = forecasts() else { return };
    let held_out = || forecasts.iter().filter(|it| it.season >= HELD_OUT && it.closing.is_some());
    let rounded = |loss: f64| (loss * 10_000.0).round() / 10_000.0;
    let measured = Quality {
        measured_on: QUALITY.measured_on,
        matches: u32::try_from(held_out().count()).unwrap(),
        model: rounded(log_loss(held_out(), |it| it.model)),
        blend: rounded(log_loss(held_out(), blended(MODEL_WEIGHT))),
        closing_odds: rounded(log_loss(held_out(), |forecast| {
            blend_by(0.0, forecast.model, forecast.closing.unwrap()).unwrap()
        })),
    };
    assert_eq!(measured, QUALITY);
    assert!(measured.blend < measured.model);
    let training = || forecasts.iter().filter(|it| it.season < HELD_OUT);
    let weights = (1..=20).map(|step| 0.05 * f64::from(step));
    let best = weights.min_by(|a, b| {
        log_loss(training(), blended(*a)).total_cmp(&log_loss(training(), blended(*b)))
    });
    assert!((best.unwrap() - MODEL_WEIGHT).abs() < 1e-9, "{best:?} is better on training seasons");
}

#[test]
fn blend_is_of_the_model_and_of_prices_without_their_margin() {
    let close = |found: Option<[f64; 3]>, expected: [f64; 3]| {
        let found = found.unwrap();
        let is_close = found.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-9);
        assert!(is_close, "{found:?}, not {expected:?}");
    };
    // 1/2, 1/4 and 1/4, with a margin of 5 % and without.
    let model = [0.7, 0.2, 0.1];
    let expected = [0.51, 0.2475, 0.2425];
    close(blend(model, [2.0, 4.0, 4.0]), expected);
    close(blend(model, [2.0, 4.0, 4.0].map(|price| price / 1.05)), expected);
    for odds in [[1.0, 4.0, 4.0], [0.0, 4.0, 4.0], [2.0, f64::NAN, 4.0], [f64::INFINITY, 4.0, 4.0]]
    {
        assert_eq!(blend(model, odds), None, "{odds:?}");
    }
}

use std::sync::Arc;

use super::*;
use database::testing::on_each;
use record::{
    MatchRecord, Names, PlayRecord,
    testing::{self, NOW, named},
};

const LEAGUE: Key = 5;

/// A finished match, one day earlier for each match before it.
fn finished(
    id: Key,
    sides: [Key; 2],
    score: [u32; 2],
    extra_time: Option<[u16; 2]>,
) -> MatchRecord {
    let summary = MatchSummary {
        season: None,
        start: NOW.checked_sub_unsigned(id * 86_400_000_000),
        status: Status::Finished,
        sides: Some(sides),
        score: Some(score),
        extra_time,
        ..testing::summary(id)
    };
    let names = Names {
        competition: Some(named(LEAGUE)),
        sides: Some(sides.map(named)),
        ..Names::default()
    };
    MatchRecord {
        summary: summary.into(),
        refs: [("test".into(), id.to_string().into())].into(),
        names,
        play: PlayRecord::Football(Box::default()),
        prices: Vec::new(),
        freshness: None,
    }
}

#[tokio::test]
async fn league_has_a_model_once_it_has_enough_results() {
    on_each(async |database| {
        let archive = Archive::open(&database).await.unwrap();
        let config = PredictionsConfig { matches_min: 6, ..PredictionsConfig::default() };
        let predictor = Predictor::default();
        let (strong, weak) = (100, 200);
        for id in 1..=6 {
            let sides = if id % 2 == 0 { [strong, weak] } else { [weak, strong] };
            let score = if id % 2 == 0 { [3, 0] } else { [0, 2] };
            let record = Arc::new(finished(id, sides, score, None));
            archive.put(&[record], NOW).await.unwrap();
            predictor.refit(&archive, &config, RefitScope::All, NOW);
            assert_eq!(predictor.fitted_model(LEAGUE).is_some(), id == 6, "with {id} results");
        }
        let fitted = predictor.fitted_model(LEAGUE).unwrap();
        let [home, _, away] = fitted.model.forecast([weak, strong], false).unwrap().scores.result();
        assert!(away > 2.0 * home, "{away} of the strong, {home} of the weak");
        assert_eq!(predictor.fitted_model(LEAGUE + 1).map(|it| it.at), None);

        predictor.refit(&archive, &config, RefitScope::All, NOW + 1);
        assert_eq!(
            predictor.fitted_model(LEAGUE).unwrap().at,
            NOW,
            "it was fitted again for nothing"
        );
        let record = Arc::new(finished(7, [weak, strong], [1, 0], None));
        archive.put(&[record], NOW).await.unwrap();
        predictor.refit(&archive, &config, RefitScope::All, NOW + 2);
        assert_eq!(predictor.fitted_model(LEAGUE).unwrap().at, NOW + 2, "a result was passed over");
    })
    .await;
}

#[tokio::test]
async fn early_refit_needs_many_more_results() {
    on_each(async |database| {
        let archive = Archive::open(&database).await.unwrap();
        let config = PredictionsConfig { matches_min: 20, ..PredictionsConfig::default() };
        let predictor = Predictor::default();
        let put = async |ids: std::ops::RangeInclusive<Key>| {
            let records = ids.map(|id| Arc::new(finished(id, [100, 200], [1, 0], None)));
            archive.put(&records.collect::<Vec<_>>(), NOW).await.unwrap();
        };
        let fitted_at = |now| {
            predictor.refit(&archive, &config, RefitScope::Urgent, now);
            predictor.fitted_model(LEAGUE).map(|fitted| fitted.at)
        };
        put(1..=19).await;
        assert_eq!(fitted_at(NOW), None, "too few");
        put(20..=20).await;
        assert_eq!(fitted_at(NOW + 1), Some(NOW + 1), "enough for the first time");
        put(21..=22).await;
        assert_eq!(fitted_at(NOW + 2), Some(NOW + 1), "that can wait");
        put(23..=23).await;
        assert_eq!(fitted_at(NOW + 3), Some(NOW + 3), "a tenth more");
    })
    .await;
}

#[test]
fn goals_of_extra_time_do_not_count() {
    let record = finished(1, [100, 200], [2, 1], Some([1, 0]));
    let played = result(&record.summary, NOW).unwrap();
    assert_eq!(played.goals, [1, 1]);
    assert!((played.days - 1.0).abs() < 1e-9, "{} days", played.days);
    let strange = finished(1, [100, 200], [0, 1], Some([1, 0]));
    assert_eq!(result(&strange.summary, NOW), None, "more in extra time than in all");
}

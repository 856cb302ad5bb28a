//! Over every shared recording, restored at several points.

use std::path::PathBuf;

use ingest::recording::{Limits, Recording, Step};

use super::twin::{Input, START, Twin};

fn check(file: &str) {
    let feeds = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/feeds"));
    if !feeds.is_dir() {
        return database::testing::skipped("shared recordings are not here");
    }
    let recording = Recording::open(&feeds.join(file), &[], START, &Limits::default()).unwrap();
    let batches = recording.filter_map(|step| match step {
        Step::Batch(timed) => Some(timed.batch),
        Step::Refused(_) => None,
    });
    // Nothing is restored after the last point of a stream, so the rest of it adds nothing.
    let batches_max = if file.starts_with("betfair-stream/") { 1_600 } else { usize::MAX };
    let mut twin = Twin::new(1);
    for (number, batch) in batches.take(batches_max).enumerate() {
        let first = batch.events.first().map(|event| (event.sport, event.match_id));
        twin.step(&Input::Batch(0, batch));
        if let Some((sport, id)) = first.filter(|_| number == 3) {
            twin.step(&Input::Follow(sport, id));
        }
        if [0, 5, 100, 1_500].contains(&number) || number % 10_000 == 9_999 {
            twin.save_and_restore();
        }
    }
    assert!(!twin.frames.is_empty(), "{file} published nothing");
    twin.compare_images();
    twin.saved();
}

/// A test for each recording, so that they run side by side.
macro_rules! recordings {
    ($($name:ident: $file:literal,)*) => {
        $(
            #[test]
            fn $name() {
                check($file);
            }
        )*
    };
}

recordings! {
    betfair_stream_football_1_event_77_markets_basic: "betfair-stream/football-1-event-77-markets.basic.bz2",
    betfair_stream_football_200_markets_live: "betfair-stream/football-200-markets.live.bz2",
    betfair_stream_tennis_1_223716976_basic: "betfair-stream/tennis-1.223716976.basic.bz2",
    betfair_stream_tennis_29788105_pro: "betfair-stream/tennis-29788105.pro.jsonl.gz",
    betfair_stream_tennis_29788457_4_markets_pro: "betfair-stream/tennis-29788457-4-markets.pro.jsonl.gz",
    betfair_stream_racing_1_241629436_live: "betfair-stream/racing-1.241629436.live.jsonl.gz",
    betfair_scores_eventtimeline: "betfair-scores/eventtimeline.json",
    betfair_scores_incidents: "betfair-scores/incidents.json",
    betfair_scores_score: "betfair-scores/score.json",
    betfair_scores_scores: "betfair-scores/scores.json",
    betfair_rest_list_market_book: "betfair-rest/list_market_book.json",
    wyscout_2058009_events: "wyscout/2058009.events.json.gz",
    wyscout_2058017_events: "wyscout/2058017.events.json.gz",
    wyscout_2516847_events: "wyscout/2516847.events.json.gz",
    statsbomb_15986_events: "statsbomb/15986.events.json.gz",
    statsbomb_3788741_events: "statsbomb/3788741.events.json.gz",
    statsperform_hsv_svs_2021_09_11_ma1: "statsperform/hsv-svs-2021-09-11.ma1.json.gz",
    statsperform_hsv_svs_2021_09_11_ma3: "statsperform/hsv-svs-2021-09-11.ma3.json.gz",
    api_football_fixtures_bundes_ns_pst: "api-football/fixtures-bundes-ns-pst.json",
    api_football_fixtures_cl_penalties: "api-football/fixtures-cl-penalties.json",
    football_data_couk_e0_2016_2017: "football-data-couk/E0-2016-2017.csv.gz",
    football_data_couk_e0_2019_2020: "football-data-couk/E0-2019-2020.csv.gz",
    the_odds_api_sport_odds: "the-odds-api/sport-odds.json",
    the_odds_api_event_odds: "the-odds-api/event-odds.json",
    sportradar_uof_odds_change_0: "sportradar-uof/odds_change-0.xml",
    slam_pointbypoint_2011_wimbledon_2148_points: "slam-pointbypoint/2011-wimbledon-2148.points.csv.gz",
    slam_pointbypoint_2011_wimbledon_2701_points: "slam-pointbypoint/2011-wimbledon-2701.points.csv.gz",
    slam_pointbypoint_2012_ausopen_1701_points: "slam-pointbypoint/2012-ausopen-1701.points.csv.gz",
    slam_pointbypoint_2012_wimbledon_1701_points: "slam-pointbypoint/2012-wimbledon-1701.points.csv.gz",
    slam_pointbypoint_2013_usopen_2701_points: "slam-pointbypoint/2013-usopen-2701.points.csv.gz",
    slam_pointbypoint_2023_usopen_4601_points: "slam-pointbypoint/2023-usopen-4601.points.csv.gz",
    pointbypoint_strings_matches: "pointbypoint-strings/matches.csv",
}

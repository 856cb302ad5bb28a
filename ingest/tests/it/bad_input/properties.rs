//! For any bytes, decoders and normalisers return, and the clock never goes back.

use facts::{
    event::Sport,
    tennis::{FinalSet, MatchFormat},
};
use ingest::{
    decode::{slam, sportradar_uof::ControlMessage, statsbomb, statsperform, wyscout},
    normalize::{
        EventByEvent as _, Interpret, Interpretation, api_football, football_data_couk,
        slam::Normalizer as Tennis, sportradar_uof, statsbomb as from_statsbomb,
        statsperform as from_statsperform, the_odds_api, wyscout::Normalizer as Football,
    },
};
use proptest::{collection::vec, prelude::*, sample::Index};

use super::{
    api_football as answers,
    fixtures::{
        answer, csv, document, event, match_events, match_file, odds_change, record, rows, season,
    },
    statsbomb as statsbomb_match, statsperform as statsperform_match,
};

/// A change to a valid text: at an offset, removes this many bytes and inserts others.
pub(super) type Change = (Index, usize, Vec<u8>);

pub(super) fn changes() -> impl Strategy<Value = Vec<Change>> {
    let pieces: Vec<&[u8]> =
        vec![b"", b"0", b"-1", b"1e308", b"null", b"\"null\"", b"\\u", b"{", b"]", b",", b"\n"];
    let piece =
        prop_oneof![prop::sample::select(pieces).prop_map(<[u8]>::to_vec), vec(any::<u8>(), 1..4)];
    vec((any::<Index>(), 0..12_usize, piece), 1..6)
}

pub(super) fn changed(text: &str, changes: &[Change]) -> Vec<u8> {
    let mut bytes = text.as_bytes().to_vec();
    for (index, taken, put) in changes {
        let from = index.index(bytes.len() + 1);
        let to = (from + taken).min(bytes.len());
        bytes.splice(from..to, put.iter().copied());
    }
    bytes
}

fn play_football(bytes: &[u8], record: Option<&wyscout::record::MatchRecord>) {
    let document = wyscout::decode(bytes);
    let Ok(mut normalizer) = Football::new(&document, record) else { return };
    let mut played = Interpretation::default();
    for event in document.events.iter().flatten() {
        drop(normalizer.event(event, &mut played));
    }
    normalizer.finish(&mut played);
    assert!(played.batches.is_sorted_by_key(|it| it.clock_us));
}

fn play_tennis(bytes: &[u8], record: Option<slam::MatchRow>) {
    let mut lines = bytes.split(|byte| *byte == b'\n');
    let Ok(columns) = slam::PointColumns::from_header(lines.next().unwrap_or_default()) else {
        return;
    };
    let mut normalizer = Tennis::new("2013-usopen-2701", record, 0);
    let mut played = Interpretation::default();
    let rows: Vec<_> = lines.filter_map(|line| columns.row(line).ok()).collect();
    for (at, row) in rows.iter().enumerate() {
        if matches!(normalizer.admit(row), Ok(true)) {
            drop(normalizer.row(row, rows.get(at + 1), &mut played));
        }
    }
    normalizer.finish(&mut played);
    assert_eq!(played.notices.iter().find(|it| it.reason.starts_with("no tennis match")), None);
    assert!(played.batches.is_sorted_by_key(|it| it.clock_us));
}

fn play_statsbomb(bytes: &[u8]) {
    let document = statsbomb::decode(bytes);
    let Ok(mut normalizer) = from_statsbomb::Normalizer::new(&document, &[], None, "5") else {
        return;
    };
    let mut played = Interpretation::default();
    for event in document.events.iter().flatten() {
        drop(normalizer.event(event, &mut played));
    }
    normalizer.finish(&mut played);
    assert!(played.batches.is_sorted_by_key(|it| it.clock_us));
}

fn play_statsperform(bytes: &[u8]) {
    let document = statsperform::decode(bytes);
    let mut played = Interpretation::default();
    if let Ok(mut normalizer) = from_statsperform::Normalizer::new(&document, Some(&document)) {
        for event in document.events.iter().flatten() {
            drop(normalizer.event(event, &mut played));
        }
        normalizer.finish(&mut played);
        assert!(played.batches.is_sorted_by_key(|it| it.clock_us));
    }
    let mut played = Interpretation::default();
    if let Ok(mut summary) = from_statsperform::Summary::new(&document) {
        for moment in document.moments.iter().flatten() {
            drop(summary.event(moment, &mut played));
        }
        summary.finish(&mut played);
        assert!(played.batches.is_sorted_by_key(|it| it.clock_us));
    }
}

/// One image after another, possibly of the same fixtures.
fn poll_api_football(images: &[Vec<u8>]) {
    let mut interpreter = api_football::Interpreter::default();
    let mut played = Interpretation::default();
    for (received, image) in images.iter().enumerate() {
        drop(interpreter.message(image, received as i64, &mut played));
    }
    assert!(played.batches.is_sorted_by_key(|it| it.clock_us));
}

fn long_answer() -> String {
    let events = [
        answers::event("10", 1, "Goal", "Own Goal"),
        answers::event("40", 2, "Card", "Yellow Card"),
        answers::event("60", 2, "Var", "Goal cancelled"),
        answers::event("70", 1, "subst", "Substitution 1"),
        answers::event("110", 2, "Goal", "Normal Goal"),
    ];
    answers::answer(&[answers::fixture("7", &events.join(",")), answers::fixture("8", "")])
}

/// Plays a good message, a damaged one and the good one again to one interpreter.
fn interpret(interpreter: &mut dyn Interpret, good: &str, bytes: &[u8]) {
    let mut played = Interpretation::default();
    for message in [good.as_bytes(), bytes, good.as_bytes()] {
        drop(interpreter.message(message, 0, &mut played));
    }
    assert!(played.notices.len() <= 300, "notices have an end");
}

fn long_match() -> String {
    let mut events = match_events();
    events.push(event(10, "E1", 5.0, 7, ("Pass", "Simple pass"), &[]));
    events.push(event(11, "E2", 5.0, 8, ("Shot", "Shot"), &[101]));
    events.push(event(12, "P", 50.0, 7, ("Free Kick", "Penalty"), &[101]));
    events.push(event(13, "P", 90.0, 8, ("Free Kick", "Penalty"), &[]));
    document(&events)
}

fn long_tennis() -> String {
    let points = "11112222".repeat(6) + "1212121211" + &"2222".repeat(6) + "112212";
    csv(&rows(
        "2013-usopen-2701",
        &points,
        MatchFormat { sets_to_win: 2, final_set: FinalSet::TieBreak },
    ))
}

proptest! {
    #[test]
    fn decoders_never_panic_on_bytes(bytes in vec(any::<u8>(), 0..400)) {
        play_football(&bytes, None);
        play_tennis(&bytes, None);
        drop(wyscout::record::find(&bytes, 5));
        play_statsbomb(&bytes);
        play_statsperform(&bytes);
        poll_api_football(&[bytes.clone(), bytes.clone()]);
        drop(slam::matches(&bytes));
        std::hint::black_box(ControlMessage::parse(&bytes));
        interpret(&mut the_odds_api::Interpreter::default(), "", &bytes);
        interpret(&mut sportradar_uof::Interpreter::default(), "", &bytes);
        interpret(&mut football_data_couk::Interpreter::default(), "", &bytes);
    }

    #[test]
    fn the_odds_api_never_panics_on_damage(changes in changes()) {
        let bytes = changed(&answer(), &changes);
        interpret(&mut the_odds_api::Interpreter::default(), &answer(), &bytes);
    }

    #[test]
    fn sportradar_uof_never_panics_on_damage(changes in changes(), root in 0..4_usize) {
        let roots = ["odds_change", "bet_settlement", "bet_cancel", "rollback_bet_settlement"];
        let text = odds_change().replace("odds_change", roots[root]);
        let mut interpreter = sportradar_uof::Interpreter::with_default(Sport::Tennis);
        interpret(&mut interpreter, &odds_change(), &changed(&text, &changes));
    }

    #[test]
    fn football_data_never_panics_on_damage(changes in changes()) {
        let bytes = changed(&season(), &changes);
        let mut played = Interpretation::default();
        drop(football_data_couk::Interpreter::default().message(&bytes, 0, &mut played));
        prop_assert!(played.batches.is_sorted_by_key(|it| it.clock_us));
    }

    #[test]
    fn wyscout_never_panics_on_damage(changes in changes()) {
        let found = wyscout::record::find(record("2", "1").as_bytes(), 5).unwrap();
        play_football(&changed(&long_match(), &changes), found.as_ref());
    }

    #[test]
    fn wyscout_never_panics_on_a_damaged_record(changes in changes()) {
        let found = wyscout::record::find(&changed(&record("2", "1"), &changes), 5);
        play_football(long_match().as_bytes(), found.unwrap_or_default().as_ref());
    }

    #[test]
    fn statsbomb_never_panics_on_damage(changes in changes()) {
        let events = statsbomb_match::document(&statsbomb_match::long_match());
        play_statsbomb(&changed(&events, &changes));
    }

    #[test]
    fn statsperform_never_panics_on_damage(changes in changes()) {
        let events = statsperform_match::events(&statsperform_match::long_match());
        let lists = format!("{events},{}", statsperform_match::lists());
        play_statsperform(&changed(&statsperform_match::document("{}", &lists), &changes));
    }

    #[test]
    fn api_football_never_panics_on_damage(all in vec(changes(), 1..4)) {
        let images: Vec<_> = all.iter().map(|changes| changed(&long_answer(), changes)).collect();
        poll_api_football(&images);
    }

    #[test]
    fn slam_never_panics_on_damage(changes in changes()) {
        play_tennis(&changed(&long_tennis(), &changes), None);
    }

    #[test]
    fn slam_never_panics_on_a_damaged_match_file(changes in changes()) {
        let file = changed(&match_file("2013-usopen-2701", "Retired", "2"), &changes);
        let record = slam::matches(&file).unwrap_or_default().into_iter().next();
        play_tennis(long_tennis().as_bytes(), record);
    }

    /// Numbers within their columns, in any order and any combination.
    #[test]
    fn slam_never_panics_on_any_row(rows in vec(row(), 1..40)) {
        let numbered: Vec<_> =
            rows.iter().enumerate().map(|(at, row)| row.replace("NUMBER", &at.to_string())).collect();
        play_tennis(csv(&numbered).as_bytes(), None);
    }
}

fn row() -> impl Strategy<Value = String> {
    let state = (1..=5_u8, 0..=20_u8, 0..=20_u8, 0..=2_u8);
    let point = (0..=2_u8, 0..=4_u8, 0..=50_u16);
    (state, point).prop_map(|((set, first, second, over), (winner, server, shown))| {
        format!(
            "m,0:00:{shown:02},{set},{first},{second},{over},NUMBER,{winner},{server},\
             {shown},0,0,0,0,0"
        )
    })
}

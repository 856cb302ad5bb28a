//! Point strings that are damaged, cut, or contradict the rules and the other columns.

use facts::event::{Fact, Side, TennisFact, TennisScore, TennisStatus};
use ingest::normalize::{Interpret, Interpretation, point_strings::Interpreter};
use proptest::{collection::vec, prelude::*};

use super::Outcome;

const HEADER: &str = "pbp_id,date,tny_name,tour,draw,server1,server2,winner,pbp,score,adf_flag\n";

fn file(winner: &str, pbp: &str, score: &str) -> String {
    format!("{HEADER}7,08 Jul 12,ATPBasel,ATP,Main,Ann,Bea,{winner},{pbp},{score},1\n")
}

/// Games that the server wins to love, each with its separator.
fn held(games: usize) -> String {
    "SSSS;".repeat(games)
}

/// A set of six games, all won by the player who serves first.
fn six_love() -> String {
    "SSSS;RRRR;SSSS;RRRR;SSSS;RRRR.".to_owned()
}

fn outcome(winner: &str, pbp: &str, score: &str) -> Outcome {
    Outcome::of_bytes("matches.csv", file(winner, pbp, score))
}

fn end(outcome: &Outcome) -> (TennisScore, Option<TennisStatus>) {
    let (mut score, mut status) = (TennisScore::default(), None);
    for fact in outcome.facts() {
        match fact {
            Fact::Tennis(TennisFact::Point(point)) => score = point.score.clone(),
            Fact::Tennis(TennisFact::Score(new)) => score = new.clone(),
            Fact::Tennis(TennisFact::Status(new)) => status = Some(*new),
            _ => {}
        }
    }
    (score, status)
}

/// The end of a match: the games of its sets, its status and the winner.
#[track_caller]
fn check(
    outcome: &Outcome,
    games: &[[u8; 2]],
    status: TennisStatus,
    winner: Option<Side>,
    reasons: &[&str],
) {
    let (score, last) = end(outcome);
    let played: Vec<_> = score.sets.iter().map(|set| set.games).collect();
    assert_eq!(played, games);
    assert_eq!((last, score.winner), (Some(status), winner));
    assert_eq!(outcome.reasons(), reasons);
}

#[test]
fn retirement_has_the_winner_of_the_column() {
    let outcome = outcome("2", &format!("{}SSSS;RR", six_love()), "6-0 0-1 RET");
    let reasons = ["score \"6-0 0-1 RET\" of match 7 is 0-6 0-1 by points"];
    let games = [[6, 0], [1, 0]];
    check(&outcome, &games, TennisStatus::Retired, Some(Side::Second), &reasons);
}

/// A match that no column says was given up is not: its points are missing, and the column has its sets.
#[test]
fn match_whose_points_break_off_ends_as_the_columns_state() {
    let reasons = ["points of match 7 end before it does"];
    let played = six_love() + "SSSS;RR";
    let games = [[6, 0], [4, 6], [2, 6]];
    let stated = outcome("2", &played, "0-6 6-4 6-2");
    check(&stated, &games, TennisStatus::Finished, Some(Side::Second), &reasons);
    let lost = outcome("2", &played, "6-0 4-6 2-6");
    let reason = "score \"6-0 4-6 2-6\" of match 7 is 0-6 0-1 by points";
    let both = [reasons[0], reason];
    check(&lost, &[[6, 0], [1, 0]], TennisStatus::Finished, Some(Side::Second), &both);
    let unknown = outcome("1", &played, "");
    check(&unknown, &[[6, 0], [1, 0]], TennisStatus::Finished, Some(Side::First), &reasons);
}

#[test]
fn match_without_a_winner_is_left_open() {
    let outcome = outcome("", "SSSS;RR", "");
    check(&outcome, &[[1, 0]], TennisStatus::Live, None, &[]);
}

#[test]
fn disagreeing_columns_are_noted_and_change_nothing() {
    let straight = six_love() + &six_love();
    let outcome = outcome("2", &straight, "6-1 6-0");
    let reasons = [
        "player 1 has won match 7 by the points, 2 by `winner`",
        "score \"6-1 6-0\" of match 7 is 6-0 6-0 by points",
    ];
    let games = [[6, 0], [6, 0]];
    check(&outcome, &games, TennisStatus::Finished, Some(Side::First), &reasons);
}

#[test]
fn third_set_after_two_straight_sets_means_best_of_five() {
    let outcome = outcome("1", &six_love().repeat(3), "6-0 6-0 6-0");
    let games = [[6, 0]; 3];
    check(&outcome, &games, TennisStatus::Finished, Some(Side::First), &[]);
}

#[test]
fn final_set_format_follows_its_marks() {
    let split = six_love() + "RRRR;SSSS;RRRR;SSSS;RRRR;SSSS.";
    let long = format!("{split}{}SSSS;RRRR", held(16));
    let advantage = [[6, 0], [0, 6], [10, 8]];
    let outcome_long = outcome("1", &long, "6-0 0-6 10-8");
    check(&outcome_long, &advantage, TennisStatus::Finished, Some(Side::First), &[]);
    let ten = format!("{split}{}S/RS/RS/RS/RS/RS/", held(12));
    let cut = outcome("1", &ten, "");
    assert_eq!(end(&cut).0.sets[2].tie_break, Some([6, 5]));
}

#[test]
fn marks_prevail_over_the_rules() {
    let outcome = outcome("1", "SSS;SSSSSS;SSSS", "");
    let (score, _) = end(&outcome);
    assert_eq!(score.sets[0].games, [2, 1]);
    assert_eq!(score.points, 13);
    let mut expected = [3, 7, 8]
        .map(|point| format!("score after point {point} of match 7 is not by the rules"))
        .to_vec();
    expected.push("points of match 7 end before it does".to_owned());
    assert_eq!(outcome.reasons(), expected);
}

#[test]
fn invalid_rows_are_skipped_alone() {
    let good = file("1", &(six_love() + &six_love()), "6-0 6-0");
    let text = format!("{good}8,bad row\n{}", good.lines().nth(1).unwrap());
    let outcome = Outcome::of_bytes("matches.csv", text);
    assert_eq!(outcome.refused(), [("syntax", 3), ("value", 0)]);
    assert_eq!(outcome.reasons()[1], "match 7 comes twice");
    assert_eq!(end(&outcome).0.winner, Some(Side::First));
}

#[test]
fn match_with_too_many_sets_is_refused() {
    let good = file("1", &(six_love() + &six_love()), "6-0 6-0");
    let endless = file("1", &"S.".repeat(4000), "").replace("\n7,", "\n8,");
    let text = format!("{good}{}\n", endless.lines().nth(1).unwrap());
    let outcome = Outcome::of_bytes("matches.csv", text);
    assert_eq!(outcome.reasons(), ["match 8 with 4000 sets"]);
    assert_eq!(end(&outcome).0.winner, Some(Side::First));
}

proptest! {
    #[test]
    fn arbitrary_bytes_do_not_panic(bytes in vec(any::<u8>(), 0..300)) {
        play(&bytes);
        let mut text = HEADER.as_bytes().to_vec();
        text.extend(bytes);
        play(&text);
    }

    #[test]
    fn arbitrary_point_strings_do_not_panic(
        pbp in "[SRAD;./ x]{1,400}",
        column in "[0-9() -]{0,12}|[A-Z0-9 -]{0,8}",
        winner in "[0-3]?",
    ) {
        play(file(&winner, &pbp, &column).as_bytes());
    }
}

fn play(bytes: &[u8]) {
    let mut played = Interpretation::default();
    let taken = Interpreter.message(bytes, 0, &mut played);
    assert!(played.batches.is_sorted_by_key(|it| it.clock_us));
    assert!(taken.is_ok() || played.batches.is_empty());
    let facts = played.batches.iter().flat_map(|it| &it.batch.events);
    let points = facts.filter_map(|event| match &event.fact {
        Fact::Tennis(TennisFact::Point(point)) => Some((event.match_id, point)),
        _ => None,
    });
    let mut last = std::collections::HashMap::new();
    for (id, point) in points {
        let before = last.insert(id, point.score.points).unwrap_or(0);
        // A point with a score that no match can have is left out.
        assert!(point.score.points > before, "{} after {before}", point.score.points);
    }
}

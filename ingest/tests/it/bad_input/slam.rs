//! Points that are wrong, missing, or contradict the rules.

use facts::{
    event::{Fact, Side, TennisFact, TennisScore, TennisStatus},
    tennis::{FinalSet, MatchFormat},
};
use ingest::recording::Limits;

use super::{
    Outcome, Scratch,
    fixtures::{HEADER, csv, gz, match_file, rows},
};

const KEY: &str = "2013-usopen-2701";
const THREE: MatchFormat = MatchFormat { sets_to_win: 2, final_set: FinalSet::TieBreak };
const FIVE: MatchFormat = MatchFormat { sets_to_win: 3, final_set: FinalSet::TieBreak };

impl Outcome {
    fn tennis(&self) -> impl Iterator<Item = &TennisFact> {
        self.facts().filter_map(|fact| match fact {
            Fact::Tennis(fact) => Some(fact),
            _ => None,
        })
    }

    fn tennis_score(&self) -> &TennisScore {
        let scores = self.tennis().filter_map(|fact| match fact {
            TennisFact::Point(point) => Some(&point.score),
            TennisFact::Score(score) => Some(score),
            _ => None,
        });
        scores.last().unwrap()
    }

    fn tennis_statuses(&self) -> Vec<TennisStatus> {
        let statuses = self.tennis().filter_map(|fact| match fact {
            TennisFact::Status(status) => Some(*status),
            _ => None,
        });
        statuses.collect()
    }
}

fn games(outcome: &Outcome) -> Vec<[u8; 2]> {
    outcome.tennis_score().sets.iter().map(|set| set.games).collect()
}

/// Two sets of six games each, all won by player 1.
fn straight() -> String {
    "1111".repeat(12)
}

#[test]
fn match_ends_with_its_last_point() {
    let outcome = Outcome::of_bytes("a.points.csv", csv(&rows(KEY, &straight(), THREE)));
    assert_eq!(outcome.reasons(), [""; 0]);
    assert_eq!(games(&outcome), [[6, 0], [6, 0]]);
    assert_eq!(outcome.tennis_score().winner, Some(Side::First));
    assert_eq!(outcome.tennis_statuses(), [TennisStatus::Live, TennisStatus::Finished]);
}

#[test]
fn wrong_types_are_refused_and_the_columns_carry_on() {
    let mut rows = rows(KEY, &straight(), THREE);
    rows[1] = rows[1].replace(",30,0,", ",thirty,0,");
    rows[9] = "garbage".to_owned();
    let outcome = Outcome::of_bytes("a.points.csv", csv(&rows));
    let refused = outcome.refused();
    assert_eq!((refused[0], refused[1]), (("value", 3), ("value", 4)));
    assert!(refused.contains(&("syntax", 11)));
    assert_eq!(games(&outcome), [[6, 0], [6, 0]]);
    assert_eq!(outcome.tennis_score().points, 46);
    assert_eq!(outcome.tennis_score().winner, Some(Side::First));
}

#[test]
fn columns_prevail_over_the_rules() {
    let mut rows = rows(KEY, "11112", THREE);
    rows[4] = rows[4].replace(",1,0,0,5,", ",3,2,0,5,");
    let outcome = Outcome::of_bytes("a.points.csv", csv(&rows));
    assert_eq!(outcome.reasons(), ["score after point 5 is not by the rules"]);
    assert_eq!(games(&outcome), [[3, 2]]);
}

#[test]
fn rows_lost_in_a_tie_break_leave_it_a_tie_break() {
    let mut rows = rows(KEY, &("11112222".repeat(6) + "1212111"), THREE);
    rows.drain(48..51);
    let outcome = Outcome::of_bytes("a.points.csv", csv(&rows));
    let set = outcome.tennis_score().sets[0];
    assert_eq!((set.games, set.tie_break), ([6, 6], Some([5, 2])));
    assert_eq!(outcome.refused(), [("value", 50)]);
}

#[test]
fn repeated_point_and_point_after_the_end_are_refused() {
    let mut rows = rows(KEY, &straight(), THREE);
    rows.insert(3, rows[2].clone());
    rows.push(rows[48].replace(",48,1,", ",49,1,"));
    let outcome = Outcome::of_bytes("a.points.csv", csv(&rows));
    let expected = ["point 3 comes twice", "point 49 after the end of the match"];
    assert_eq!(outcome.reasons(), expected);
    assert_eq!(outcome.tennis_score().points, 48);
}

#[test]
fn match_longer_than_expected_goes_on() {
    let points = "1111".repeat(12) + &"2222".repeat(6) + &"1111".repeat(6);
    let outcome = Outcome::of_bytes("a.points.csv", csv(&rows(KEY, &points, FIVE)));
    assert_eq!(outcome.reasons(), ["point 49 in a match that two sets were to decide"]);
    assert_eq!(games(&outcome), [[6, 0], [6, 0], [0, 6], [6, 0]]);
    assert_eq!(outcome.tennis_statuses(), [TennisStatus::Live, TennisStatus::Finished]);
}

#[test]
fn match_shorter_than_expected_ends_with_its_rows() {
    for (key, winner) in [("2021-wimbledon-3101", Some(Side::First)), ("2013-usopen-1701", None)] {
        let outcome = Outcome::of_bytes("a.points.csv", csv(&rows(key, &straight(), THREE)));
        assert_eq!(games(&outcome)[..2], [[6, 0], [6, 0]]);
        assert_eq!(outcome.tennis_score().winner, winner, "singles of {key} have one format");
    }
}

#[test]
fn one_wrong_column_or_row_does_not_change_the_result() {
    type Damage = fn(&mut Vec<String>);
    let cases: [(Damage, u32, &[&str]); 4] = [
        (
            |rows| rows[11] = rows[11].replace(",1,3,0,0,12,", ",1,3,0,1,12,"),
            48,
            &["set 1 goes on after point 12, against its column"],
        ),
        (
            |rows| rows[47] = rows[47].replace(",2,6,0,1,48,", ",2,6,0,0,48,"),
            48,
            &["set 2 is over after point 48, against its column"],
        ),
        (|rows| drop(rows.remove(23)), 48, &["point before point 25 is missing; it ended set 1"]),
        (
            |rows| rows[29] = rows[29].replace(",2,1,0,0,30,", ",3,1,0,0,30,"),
            47,
            &[
                "point 30 in set 3, but set 2 is not over",
                "score after point 31 is not by the rules",
            ],
        ),
    ];
    for (damage, points, reasons) in cases {
        let mut rows = rows(KEY, &straight(), THREE);
        damage(&mut rows);
        let outcome = Outcome::of_bytes("a.points.csv", csv(&rows));
        assert_eq!(outcome.reasons(), reasons);
        assert_eq!(games(&outcome), [[6, 0], [6, 0]]);
        let score = outcome.tennis_score();
        assert_eq!((score.winner, score.points), (Some(Side::First), points), "{reasons:?}");
        assert_eq!(outcome.tennis_statuses(), [TennisStatus::Live, TennisStatus::Finished]);
    }
}

#[test]
fn set_without_its_last_rows_is_not_known() {
    let mut rows = rows(KEY, &straight(), THREE);
    rows.drain(13..24);
    let outcome = Outcome::of_bytes("a.points.csv", csv(&rows));
    assert_eq!(outcome.reasons(), ["the end of set 1 is missing before point 25"]);
    assert_eq!(games(&outcome), [[0, 0], [6, 0], [0, 0]]);
    assert_eq!(outcome.tennis_statuses(), [TennisStatus::Live]);
}

#[test]
fn retirement_comes_from_the_match_file() {
    let scratch = Scratch::new();
    scratch.file("a.match.csv", match_file(KEY, "Retired", "2"));
    let path = scratch.file("a.points.csv.gz", gz(csv(&rows(KEY, "1121", THREE)).as_bytes()));
    let outcome = Outcome::read(&path, &Limits::default()).unwrap();
    assert_eq!(outcome.tennis_score().winner, Some(Side::Second));
    assert_eq!(outcome.tennis_statuses(), [TennisStatus::Live, TennisStatus::Retired]);
    let Some(Fact::Fixture(fixture)) = outcome.facts().next() else { panic!("no fixture") };
    assert_eq!(&*fixture.sides.as_ref().unwrap()[1].name, "Bea");
}

#[test]
fn match_ends_as_the_match_file_states() {
    let unknown = "status \"Rained off\" of a match is not known";
    for (status, winner, expected, reason) in [
        ("Retired", "0", Some(TennisStatus::Retired), None),
        ("Default", "1", Some(TennisStatus::Retired), None),
        ("Walkover", "2", Some(TennisStatus::Walkover), None),
        ("", "2", Some(TennisStatus::Finished), None),
        ("In Progress", "0", None, None),
        ("Rained off", "2", Some(TennisStatus::Finished), Some(unknown)),
    ] {
        let scratch = Scratch::new();
        scratch.file("a.match.csv", match_file(KEY, status, winner));
        let path = scratch.file("a.points.csv", csv(&rows(KEY, "1121", THREE)));
        let outcome = Outcome::read(&path, &Limits::default()).unwrap();
        let statuses: Vec<_> = [Some(TennisStatus::Live), expected].into_iter().flatten().collect();
        assert_eq!(outcome.tennis_statuses(), statuses, "{status:?}");
        assert_eq!(outcome.reasons(), reason.into_iter().collect::<Vec<_>>(), "{status:?}");
        let won = outcome.tennis_score().winner.map(|side| side.index() + 1);
        assert_eq!(won.unwrap_or(0).to_string(), winner, "{status:?}");
    }
}

#[test]
fn points_prevail_over_the_match_file() {
    let scratch = Scratch::new();
    scratch.file("a.match.csv", match_file(KEY, "Complete", "2"));
    let path = scratch.file("a.points.csv", csv(&rows(KEY, &straight(), THREE)));
    let outcome = Outcome::read(&path, &Limits::default()).unwrap();
    let expected = "player 1 has won by the points, player 2 by the match file";
    assert_eq!(outcome.reasons(), [expected]);
    assert_eq!(outcome.tennis_score().winner, Some(Side::First));
}

#[test]
fn truncated_match_is_not_ended() {
    let text = csv(&rows(KEY, &straight(), THREE));
    let cut = gz(text.as_bytes());
    let scratch = Scratch::new();
    scratch.file("a.match.csv", match_file(KEY, "Complete", "1"));
    let path = scratch.file("a.points.csv", &cut[..cut.len() - 12]);
    let outcome = Outcome::read(&path, &Limits::default()).unwrap();
    assert_eq!(outcome.refusals.last().unwrap().kind.as_str(), "truncated");
    assert_eq!(outcome.tennis_statuses(), [TennisStatus::Live]);
}

#[test]
fn whole_tournament_is_played_match_by_match() {
    let matches = ["2013-usopen-2101", "2013-usopen-2102"];
    let all: Vec<_> = matches.iter().flat_map(|key| rows(key, &straight(), THREE)).collect();
    let outcome = Outcome::of_bytes("2013-usopen-points.csv", csv(&all));
    assert_eq!(outcome.reasons(), [""; 0]);
    let fixtures = outcome.facts().filter(|fact| matches!(fact, Fact::Fixture(_)));
    assert_eq!(fixtures.count(), 2);
}

#[test]
fn header_alone_plays_nothing() {
    let outcome = Outcome::of_bytes("a.points.csv", HEADER);
    assert_eq!((outcome.batches, outcome.refusals.len()), (0, 0));
}

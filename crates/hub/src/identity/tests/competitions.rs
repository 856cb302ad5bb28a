//! What feeds state of a match, and what the operator says of two competitions.

use facts::event::{AgeGroup, Class, Discipline, Gender};

use super::*;
use crate::identity::rule::Comparison;

const NOON: &str = "2026-03-01T12:00:00Z";
const EVENING: &str = "2026-03-01T13:00:00Z";

fn in_competition(provider: &str, key: &str, start: &str, name: &str, sides: &str) -> Fixture {
    let id = Id::derive(provider, "competition", name);
    let competition = Competition { id, name: name.into(), season: None };
    Fixture { competition: Some(competition), ..fixture(provider, key, sides, start) }
}

fn stating(class: Class) -> Fixture {
    Fixture { class, ..fixture("a", "1", "Sparta v Slavia", NOON) }
}

#[test]
fn what_both_state_must_agree_and_what_one_states_must_be_usual() {
    let class = Class::default;
    let women = || Class { gender: Some(Gender::Women), ..class() };
    let men = || Class { gender: Some(Gender::Men), ..class() };
    let under = |age| Class { age: Some(AgeGroup::Under(age)), ..class() };
    let in_country = |name| Class::in_country(Some(name));
    let played = |discipline| Class { discipline: Some(discipline), ..class() };
    let simulated = |is_so| Class { simulated: Some(is_so), ..class() };
    let reserve = |is_so| Class { reserve: Some(is_so), ..class() };
    for (one, other, expected) in [
        (class(), class(), None),
        (men(), class(), None),
        (men(), men(), None),
        (women(), women(), None),
        (women(), class(), Some("gender: women, not stated")),
        (women(), men(), Some("gender: women, men")),
        (Class { gender: Some(Gender::Mixed), ..class() }, men(), Some("gender: mixed, men")),
        (under(21), class(), Some("age: U21, not stated")),
        (under(21), under(19), Some("age: U21, U19")),
        (under(21), Class { age: Some(AgeGroup::Youth), ..class() }, None),
        (Class { age: Some(AgeGroup::Senior), ..class() }, class(), None),
        (reserve(true), reserve(false), Some("reserve: yes, no")),
        (reserve(true), class(), Some("reserve: yes, not stated")),
        (simulated(true), class(), Some("simulated: yes, not stated")),
        (simulated(false), class(), None),
        (played(Discipline::Futsal), class(), Some("discipline: futsal, not stated")),
        (played(Discipline::Usual), class(), None),
        (in_country("CZE"), in_country("Czech Republic"), None),
        (in_country("GB"), in_country("Scotland"), None),
        (in_country("World"), in_country("Scotland"), None),
        (in_country("DE"), in_country("Austria"), Some("country: Germany, Austria")),
    ] {
        let readings = [&one, &other].map(|class| {
            Reading::from_fixture(Sport::Football, &stating(class.clone())).expect("readable")
        });
        let why = match readings[0].compare(&readings[1]) {
            Comparison::Same { .. } => None,
            Comparison::Doubtful { why, .. } => Some(why),
            Comparison::Different => Some("different".to_owned()),
        };
        let why = why.map(|why| why.replace("what the feeds state differs: ", ""));
        assert_eq!(why.as_deref(), expected, "{one:?} {other:?}");
    }
}

#[test]
fn words_of_names_count_as_statements() {
    let women = Class { gender: Some(Gender::Women), ..Class::default() };
    let stated = Fixture { class: women, ..fixture("a", "1", "Sparta v Slavia", NOON) };
    let named = fixture("b", "1", "Sparta (W) v Slavia (W)", NOON);
    let mut identity = Identity::default();
    let resolutions = [&stated, &named].map(|fixture| identity.football(fixture));
    assert_eq!(resolutions[0].id, resolutions[1].id);
}

#[test]
fn country_that_differs_from_one_member_keeps_a_match_out() {
    let mut identity = Identity::default();
    let class = Class::in_country(Some("Cyprus"));
    identity.football(&Fixture { class, ..fixture("a", "1", "Apollon v Aris", NOON) });
    let second = identity.football(&fixture("b", "1", "Apollon v Aris", NOON));
    let class = Class::in_country(Some("GRE"));
    let third = Fixture { class, ..fixture("c", "1", "Apollon v Aris", NOON) };
    let third = identity.football(&third);
    assert_ne!(third.id, second.id);
    assert!(third.doubts > 0);
}

/// The order about the competitions of the first doubt.
fn order(identity: &mut Identity, relation: Option<DecidedRelation>) -> MatchOrder {
    let decisions = identity.take_decisions();
    let mut doubts = decisions.iter().filter_map(|decision| match decision {
        Decision::Doubt(doubt) => doubt.competitions(relation),
        _ => None,
    });
    MatchOrder::Competitions(Box::new(doubts.next_back().expect("a doubt of two competitions")))
}

fn follow(identity: &mut Identity, order: MatchOrder) -> Vec<Move> {
    identity.follow(&NumberedOrder { number: 7, order })
}

/// Why each of the new doubts is one.
fn reasons(identity: &mut Identity) -> Vec<String> {
    let decisions = identity.take_decisions().into_iter();
    let reasons = decisions.filter_map(|decision| match decision {
        Decision::Doubt(doubt) => Some(doubt.why),
        _ => None,
    });
    reasons.collect()
}

/// Two matches of two competitions, the second pair of which comes later; what becomes of them.
fn doubtful() -> Identity {
    let mut identity = Identity::default();
    for (provider, competition) in [("a", "Liga F"), ("b", "Primera Iberdrola")] {
        let fixture = in_competition(provider, "1", NOON, competition, "Levante v Sevilla");
        identity.football(&fixture);
    }
    identity
}

fn later(identity: &mut Identity) -> [Id; 2] {
    [("a", "Liga F"), ("b", "Primera Iberdrola")].map(|(provider, competition)| {
        let fixture = in_competition(provider, "2", EVENING, competition, "Eibar v Alaves");
        identity.football(&fixture).id
    })
}

#[test]
fn competitions_said_to_be_one_settle_present_and_later_doubts() {
    let mut identity = doubtful();
    let same = order(&mut identity, Some(DecidedRelation::Same));
    let moves = follow(&mut identity, same);
    assert_eq!(moves.len(), 1);
    assert_eq!(identity.mapping(local_id("a", "1")).id, identity.mapping(local_id("b", "1")).id);
    let decisions = identity.take_decisions();
    assert!(matches!(decisions.last(), Some(Decision::Done { order: 7, refused: None })));
    for mut identity in [identity, Identity::reborn(&decisions)] {
        let [one, other] = later(&mut identity);
        assert_eq!(one, other);
    }
}

#[test]
fn competitions_said_to_be_two_are_never_joined_until_that_is_taken_back() {
    let mut identity = doubtful();
    let apart = order(&mut identity, Some(DecidedRelation::Apart));
    let MatchOrder::Competitions(said) = apart.clone() else { panic!("no such order") };
    assert_eq!(follow(&mut identity, apart), []);
    let decisions = identity.take_decisions();
    for mut identity in [identity, Identity::reborn(&decisions)] {
        let fixture = in_competition("b", "2", EVENING, "Primera Iberdrola", "Eibar v Alaves");
        identity.football(&in_competition("a", "2", EVENING, "Liga F", "Eibar v Alaves"));
        assert_eq!(identity.football(&fixture).doubts, 0);
        let undo = CompetitionsOrder { relation: None, ..(*said).clone() };
        follow(&mut identity, MatchOrder::Competitions(Box::new(undo)));
        identity.forget(local_id("b", "2"));
        assert_eq!(identity.football(&fixture).doubts, 1);
    }
}

#[test]
fn doubt_for_another_reason_is_left_to_the_operator() {
    let mut identity = doubtful();
    let turned = in_competition("b", "3", EVENING, "Primera Iberdrola", "Alaves v Eibar");
    identity.football(&turned);
    let doubt =
        identity.football(&in_competition("a", "3", EVENING, "Liga F", "Eibar v Alaves")).doubts;
    assert_eq!(doubt, 1);
    let same = order(&mut identity, Some(DecidedRelation::Same));
    assert_eq!(follow(&mut identity, same).len(), 1, "the first pair");
    assert_eq!(reasons(&mut identity), ["the sides are the other way round"]);
}

#[test]
fn doubt_of_two_matches_that_were_joined_with_others_is_left_to_the_operator() {
    let mut identity = doubtful();
    let same = order(&mut identity, Some(DecidedRelation::Same));
    for (provider, with) in [("a", "c"), ("b", "d")] {
        let join = MatchOrder::Join {
            provider: provider.to_owned(),
            key: "1".to_owned(),
            into: local_id(with, "1"),
            swapped: false,
            with: Some((with.to_owned(), "1".to_owned())),
        };
        assert_eq!(follow(&mut identity, join).len(), 1);
    }
    identity.take_decisions();
    assert_eq!(follow(&mut identity, same), []);
    assert_eq!(reasons(&mut identity), ["it fits, but both had ids before it did"]);
}

#[test]
fn what_one_feed_states_of_a_competition_said_to_be_one_holds_for_both() {
    let mut identity = Identity::default();
    let women = Class { gender: Some(Gender::Women), ..Class::default() };
    let stated = in_competition("a", "1", NOON, "Primera", "Levante v Sevilla");
    identity.football(&Fixture { class: women, ..stated });
    let silent = in_competition("b", "1", NOON, "Iberdrola", "Levante v Sevilla");
    assert_eq!(identity.football(&silent).doubts, 1);
    let same = order(&mut identity, Some(DecidedRelation::Same));
    assert_eq!(follow(&mut identity, same).len(), 1);
}

#[test]
fn two_competitions_of_one_provider_are_refused() {
    let mut identity = doubtful();
    let MatchOrder::Competitions(mut said) = order(&mut identity, Some(DecidedRelation::Same))
    else {
        panic!("no such order")
    };
    said.other.provider = said.one.provider.clone();
    assert_eq!(follow(&mut identity, MatchOrder::Competitions(said)), []);
    let decisions = identity.take_decisions();
    assert!(matches!(&decisions[..], [Decision::Done { refused: Some(_), .. }]), "{decisions:?}");
}

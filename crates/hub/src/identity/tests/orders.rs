//! The operator's orders override the rule, now and in later runs.

use super::*;

const NOON: &str = "2026-03-01T12:00:00Z";

fn join(one: &str, other: &str, swapped: bool) -> MatchOrder {
    let with = Some((other.to_owned(), "1".to_owned()));
    MatchOrder::Join {
        provider: one.to_owned(),
        key: "1".to_owned(),
        into: local_id(other, "1"),
        swapped,
        with,
    }
}

fn split(provider: &str) -> MatchOrder {
    MatchOrder::Split { provider: provider.to_owned(), key: "1".to_owned() }
}

fn follow(identity: &mut Identity, order: MatchOrder) -> Vec<Move> {
    identity.follow(&NumberedOrder { number: 7, order })
}

fn moved(provider: &str, from: &str, to: &str, swapped: bool) -> Move {
    Move { id: local_id(provider, "1"), from: local_id(from, "1"), to: local_id(to, "1"), swapped }
}

fn with(matches: &[(&str, &str)]) -> Identity {
    let mut identity = Identity::default();
    for (provider, sides) in matches {
        identity.resolve_fixture(Sport::Tennis, &fixture(provider, "1", sides, NOON));
    }
    identity
}

const ONE: &str = "N. Djokovic v R. Nadal";
const TURNED: &str = "R. Nadal v N. Djokovic";
const OTHER: &str = "J. Nole v T. Rafa";

/// Checks the mappings in this run and in a later one.
#[track_caller]
fn check_mappings(mut identity: Identity, before: Vec<Decision>, mappings: &[(&str, &str, bool)]) {
    let decisions = before.into_iter().chain(identity.take_decisions()).collect::<Vec<_>>();
    for identity in [identity, Identity::reborn(&decisions)] {
        for (provider, id, swapped) in mappings {
            let mapping = MatchMapping { id: local_id(id, "1"), swapped: *swapped };
            assert_eq!(identity.mapping(local_id(provider, "1")), mapping, "{provider}");
        }
    }
}

#[test]
fn join_moves_a_match_with_all_its_members() {
    let mut identity = with(&[("a", ONE), ("b", OTHER), ("c", "Rafa T. v Nole X."), ("d", OTHER)]);
    assert_eq!(identity.mapping(local_id("d", "1")).id, local_id("b", "1"));
    let moves = follow(&mut identity, join("b", "a", true));
    let mut expected = vec![moved("b", "b", "a", true), moved("d", "b", "a", true)];
    expected[1..].sort_by_key(|it| it.id);
    assert_eq!(moves, expected);
    assert_eq!(follow(&mut identity, join("b", "a", true)), [], "twice");
    assert_eq!(follow(&mut identity, join("d", "b", false)), [], "b is a already");
    check_mappings(
        identity,
        vec![],
        &[("a", "a", false), ("b", "a", true), ("d", "a", true), ("c", "c", false)],
    );
}

#[test]
fn order_for_later_is_remembered() {
    let mut identity = Identity::default();
    assert_eq!(follow(&mut identity, join("b", "a", false)), []);
    let decisions = identity.take_decisions();
    assert!(matches!(
        &decisions[..],
        [Decision::Bind(_), Decision::Done { order: 7, refused: None }]
    ));
    let mut later = Identity::reborn(&decisions);
    for provider in ["b", "a"] {
        let sides = format!("{provider} v c");
        assert_eq!(later.football(&fixture(provider, "1", &sides, NOON)).id, local_id("a", "1"));
    }
}

#[test]
fn order_cannot_join_two_matches_of_one_provider() {
    let mut identity = with(&[("a", ONE), ("b", ONE)]);
    let twin = fixture("b", "2", OTHER, NOON);
    identity.resolve_fixture(Sport::Tennis, &twin);
    identity.take_decisions();
    let order = MatchOrder::Join {
        provider: "b".into(),
        key: "2".into(),
        into: local_id("a", "1"),
        swapped: false,
        with: None,
    };
    assert_eq!(follow(&mut identity, order), []);
    let decisions = identity.take_decisions();
    assert!(matches!(&decisions[..], [Decision::Done { refused: Some(_), .. }]), "{decisions:?}");
    assert_eq!(identity.mapping(local_id("b", "2")).id, local_id("b", "2"));
}

#[test]
fn split_restores_the_local_id_permanently() {
    let mut identity = with(&[("a", ONE), ("b", TURNED), ("c", ONE)]);
    let mut decisions = identity.take_decisions();
    assert_eq!(follow(&mut identity, split("b")), [moved("b", "a", "b", false)]);
    decisions.extend(identity.take_decisions());
    for mut identity in [identity, Identity::reborn(&decisions)] {
        for (provider, sides, id) in
            [("a", ONE, "a"), ("c", ONE, "a"), ("b", TURNED, "b"), ("d", ONE, "d")]
        {
            identity.forget(local_id(id, "1"));
            let resolution =
                identity.resolve_fixture(Sport::Tennis, &fixture(provider, "1", sides, NOON));
            if provider == "d" {
                // It is similar to a match and to the one split from it: two doubts.
                assert_eq!(resolution.doubts, 2);
            }
            assert_eq!(resolution.id, local_id(id, "1"), "{provider}");
        }
    }
}

#[test]
fn split_of_the_first_member_keeps_the_others_together() {
    let mut identity = with(&[("a", ONE), ("b", TURNED), ("c", ONE)]);
    let decisions = identity.take_decisions();
    let [first, second] =
        if local_id("b", "1") < local_id("c", "1") { ["b", "c"] } else { ["c", "b"] };
    let moves = follow(&mut identity, split("a"));
    assert_eq!(moves, [moved(first, "a", first, false), moved(second, "a", first, true)]);
    check_mappings(
        identity,
        decisions,
        &[("a", "a", false), (first, first, false), (second, first, true)],
    );
}

#[test]
fn split_of_a_single_match_rejects_its_doubts() {
    let mut identity = Identity::default();
    let [one, other] = ["Arsenal v Leeds", "Leeds v Arsenal"];
    identity.football(&fixture("a", "1", one, NOON));
    assert_eq!(identity.football(&fixture("b", "1", other, NOON)).doubts, 1);
    identity.take_decisions();
    assert_eq!(follow(&mut identity, split("b")), []);
    let (low, high) = pair(local_id("a", "1"), local_id("b", "1"));
    let done = Decision::Done { order: 7, refused: None };
    assert_eq!(identity.take_decisions(), [Decision::Split(low, high), done]);
}

#[test]
fn join_of_an_unknown_match_without_a_name_is_refused() {
    let mut identity = Identity::default();
    let (provider, key) = ("a".to_owned(), "1".to_owned());
    let order = MatchOrder::Join { provider, key, into: Id(7), swapped: false, with: None };
    assert_eq!(follow(&mut identity, order), []);
    let decisions = identity.take_decisions();
    assert!(matches!(&decisions[..], [Decision::Done { refused: Some(_), .. }]), "{decisions:?}");
}

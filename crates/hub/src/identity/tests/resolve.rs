//! The id of a match, and its stability.

use super::*;

const NOON: &str = "2026-03-01T12:00:00Z";

fn city(provider: &str) -> Fixture {
    fixture(provider, "1", "Man City v Arsenal", NOON)
}

#[test]
fn first_provider_gives_its_id_to_all() {
    let mut identity = Identity::default();
    let ids = ["a", "b", "c"].map(|provider| identity.football(&city(provider)).id);
    assert_eq!(ids, [local_id("a", "1"); 3]);
    assert_eq!(identity.members(ids[0]).count(), 3);
    let decisions = identity.take_decisions();
    assert!(matches!(&decisions[..], [Decision::Bind(b), Decision::Bind(_)]
        if b.mapping.id == local_id("a", "1") && b.description.sides == "Man City v Arsenal" && b.description.start == NOON));
    assert!(!identity.has_decisions());
}

#[test]
fn stored_binding_wins_in_any_order_of_providers() {
    let mut identity = Identity::default();
    identity.football(&city("a"));
    identity.football(&city("b"));
    let decisions = identity.take_decisions();
    for order in [["a", "b"], ["b", "a"]] {
        let mut later = Identity::reborn(&decisions);
        for provider in order {
            // Even if the opponent has changed.
            let other = fixture(provider, "1", &format!("{provider} v Arsenal"), NOON);
            assert_eq!(later.football(&other).id, local_id("a", "1"), "{provider} of {order:?}");
        }
        assert_eq!(later.take_decisions(), []);
    }
}

#[test]
fn match_whose_id_others_use_keeps_its_id() {
    let mut identity = Identity::default();
    identity.football(&city("a"));
    identity.football(&city("b"));
    let mut later = Identity::reborn(&identity.take_decisions());
    later.football(&city("c"));
    assert_eq!(later.football(&city("a")).id, local_id("a", "1"), "it was given to b");
}

#[test]
fn late_names_resolve_the_final_id_once() {
    let mut identity = Identity::default();
    identity.football(&city("a"));
    let nameless = Fixture { sides: None, ..city("b") };
    let resolution = identity.football(&nameless);
    assert_eq!((resolution.id, resolution.from), (local_id("b", "1"), None));
    let resolution = identity.football(&city("b"));
    assert_eq!((resolution.id, resolution.from), (local_id("a", "1"), Some(local_id("b", "1"))));
    let moved = fixture("b", "1", "Man City v Arsenal", "2026-05-01T12:00:00Z");
    assert_eq!(identity.football(&moved).id, local_id("a", "1"), "an id stays");
    assert_eq!(
        identity.football(&fixture("b", "1", "X v Y", NOON)).id,
        local_id("a", "1"),
        "an id stays"
    );
}

#[test]
fn match_that_fits_only_after_a_change_is_a_doubt() {
    let mut identity = Identity::default();
    identity.football(&city("a"));
    let mut late = fixture("b", "1", "Man City v Arsenal", "2026-05-01T12:00:00Z");
    assert_eq!(identity.football(&late).doubts, 0);
    late.start = city("a").start;
    let resolution = identity.football(&late);
    assert_eq!((resolution.id, resolution.doubts), (local_id("b", "1"), 1));
    assert_eq!(
        identity.football(&Fixture { competition: None, ..late }).doubts,
        0,
        "reported once"
    );
}

#[test]
fn one_provider_never_has_a_match_twice() {
    let mut identity = Identity::default();
    let twice = [city("a"), Fixture { provider_key: "2".into(), ..city("a") }];
    let ids = twice.each_ref().map(|it| identity.football(it).id);
    assert_eq!(ids, [local_id("a", "1"), local_id("a", "2")]);
    // Neither is a better fit, so the operator has to decide.
    let resolution = identity.football(&city("b"));
    assert_eq!((resolution.id, resolution.doubts), (local_id("b", "1"), 2));
}

#[test]
fn provider_does_not_have_a_match_twice_after_a_restart() {
    let mut identity = Identity::default();
    identity.football(&city("a"));
    identity.football(&city("b"));
    let mut later = Identity::reborn(&identity.take_decisions());
    later.football(&city("b"));
    let twin = Fixture { provider_key: "2".into(), ..city("a") };
    let resolution = later.football(&twin);
    assert_eq!((resolution.id, resolution.doubts), (local_id("a", "2"), 1));
}

#[test]
fn two_matches_on_one_day_resolve_by_start_time() {
    let game = |provider, key, start| fixture(provider, key, "Lakers v Bulls", start);
    let mut identity = Identity::default();
    for (key, start) in [("1", "2026-03-01T13:00:00Z"), ("2", "2026-03-01T20:00:00Z")] {
        identity.resolve_fixture(Sport::Basketball, &game("a", key, start));
    }
    for (key, start) in [("20", "2026-03-01T20:05:00Z"), ("10", "2026-03-01T13:00:00Z")] {
        let resolution = identity.resolve_fixture(Sport::Basketball, &game("b", key, start));
        assert_eq!((resolution.id, resolution.doubts), (local_id("a", &key[..1]), 0));
    }
    let by_day = identity.resolve_fixture(Sport::Basketball, &game("c", "1", "2026-03-01"));
    assert_eq!((by_day.id, by_day.doubts), (local_id("c", "1"), 2));
}

#[test]
fn swapped_is_relative_to_the_match_not_to_the_member_found() {
    let mut identity = Identity::default();
    for (provider, sides, swapped) in [
        ("a", "Novak Djokovic v Rafael Nadal", false),
        ("b", "Nadal R. v Djokovic N.", true),
        ("c", "R Nadal v N Djokovic", true),
        ("d", "N. Djokovic v R. Nadal", false),
    ] {
        let resolution =
            identity.resolve_fixture(Sport::Tennis, &fixture(provider, "1", sides, NOON));
        assert_eq!(
            (resolution.id, resolution.swapped),
            (local_id("a", "1"), swapped),
            "{provider}"
        );
    }
}

#[test]
fn initial_that_two_players_share_is_a_doubt() {
    let mut identity = Identity::default();
    for (key, sides) in
        [("1", "Karolina Pliskova v Simona Halep"), ("2", "Kristyna Pliskova v Simona Halep")]
    {
        identity.resolve_fixture(Sport::Tennis, &fixture("a", key, sides, NOON));
    }
    let short =
        identity.resolve_fixture(Sport::Tennis, &fixture("b", "1", "K. Pliskova v S. Halep", NOON));
    assert_eq!((short.id, short.doubts), (local_id("b", "1"), 2));
}

#[test]
fn forgotten_matches_are_not_found_but_bindings_remain() {
    let mut identity = Identity::default();
    identity.football(&city("a"));
    identity.football(&city("b"));
    identity.forget(local_id("a", "1"));
    assert_eq!(identity.matches.len(), 0);
    assert_eq!(identity.football(&city("c")).id, local_id("c", "1"));
    assert_eq!(identity.football(&city("b")).id, local_id("a", "1"));
    identity.forget(local_id("c", "1"));
    identity.forget(local_id("a", "1"));
    assert_eq!((identity.matches.len(), identity.groups.members(local_id("c", "1")).len()), (0, 0));
}

#[test]
fn doubts_are_reported_once_with_all_fields() {
    let mut identity = Identity::default();
    identity.football(&within(city("a"), "English Premier League"));
    let swapped = fixture("b", "1", "Arsenal v Man City", NOON);
    assert_eq!(identity.football(&swapped).doubts, 1);
    let decisions = identity.take_decisions();
    let [Decision::Doubt(doubt)] = &decisions[..] else { panic!("{decisions:?}") };
    assert!(doubt.swapped && doubt.score > 0.5 && !doubt.why.is_empty(), "{doubt:?}");
    assert_eq!(doubt.other.competition, "English Premier League");
    let mut later = Identity::reborn(&decisions);
    later.football(&city("a"));
    assert_eq!(later.football(&swapped).doubts, 0);
}

#[test]
fn too_many_similar_matches_are_not_resolved() {
    let mut identity = Identity::default();
    for key in 0..300 {
        identity.football(&fixture("a", &key.to_string(), "Team v Other", NOON));
    }
    let resolution = identity.football(&fixture("b", "1", "Team v Other", NOON));
    assert_eq!((resolution.id, resolution.doubts), (local_id("b", "1"), 0));
}

/// A second provider's sides and competition get the ids that the match already shows, even if that
/// provider is first in a later run, and in either order of the sides.
#[test]
fn names_of_the_first_provider_are_not_replaced() {
    let cup_fixture = |provider: &str, sides: &str| {
        within(fixture(provider, "1", sides, "2026-09-01T16:00:00Z"), &format!("{provider} cup"))
    };
    let first = cup_fixture("a", "Novak Djokovic v Rafael Nadal");
    let second = cup_fixture("b", "R. Nadal v N. Djokovic");
    let mut identity = Identity::default();
    identity.resolve_fixture(Sport::Tennis, &first);
    assert!(identity.resolve_fixture(Sport::Tennis, &second).swapped);
    let decisions = identity.take_decisions();
    let mut stored = StoredDecisions::default();
    decisions.iter().for_each(|decision| remember(&mut stored, decision));
    let ids = |fixture: &Fixture| {
        let sides = fixture.sides.as_ref().unwrap().each_ref().map(|side| side.id);
        (sides, fixture.competition.as_ref().unwrap().id)
    };
    let (sides, competition) = ids(&first);
    for identity in [identity, Identity::new(stored)] {
        let local_id = local_id("b", "1");
        let fact = Fact::Fixture(second.clone()).swapped();
        let fact = identity.with_public_ids(local_id, Cow::Owned(fact)).into_owned();
        let Fact::Fixture(shown) = fact else { panic!("{fact:?}") };
        assert_eq!(ids(&shown), (sides, competition));
        assert_eq!(&*shown.sides.unwrap()[0].name, "N. Djokovic", "names are its own");
    }
}

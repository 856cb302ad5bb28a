//! Properties that hold for any input in any order.

use std::collections::{BTreeMap, BTreeSet};

use proptest::{prelude::*, sample::subsequence};

use super::*;

/// Different matches, each in the spelling of three providers.
const MATCHES: [[&str; 3]; 8] = [
    ["Manchester City v Arsenal", "Man City v Arsenal", "Manchester City FC v Arsenal FC"],
    ["Manchester United v Chelsea", "Man Utd v Chelsea", "Man United v Chelsea FC"],
    ["Middlesbrough v Leeds United", "Middlesbrough v Leeds", "Middlesboro v Leeds Utd"],
    ["Arsenal Women v Chelsea Women", "Arsenal (W) v Chelsea (W)", "Arsenal FC Women v Chelsea W"],
    ["England U21 v Italy U21", "England U-21 v Italy Under 21", "England Under-21 v Italy U21"],
    ["Inter v AC Milan", "Internazionale v Milan", "Inter Milan v A.C. Milan"],
    ["Turkey v Italy", "Türkiye v Italy", "Turkiye v Italy"],
    ["1. FC Köln v M'gladbach", "FC Koln v Borussia Mönchengladbach", "Koln v Monchengladbach"],
];

const PROVIDERS: [&str; 3] = ["a", "b", "c"];

fn provider_fixture(provider: usize, number: usize) -> Fixture {
    let fixture = fixture(PROVIDERS[provider], &number.to_string(), MATCHES[number][provider], "");
    // Each feed has a slightly different start.
    Fixture { start: Some(hour(12 + provider as i64)), ..fixture }
}

fn all() -> Vec<(usize, usize)> {
    (0..3).flat_map(|provider| (0..MATCHES.len()).map(move |number| (provider, number))).collect()
}

proptest! {
    #[test]
    fn order_of_introduction_changes_nothing(told_by in Just(all()).prop_shuffle()) {
        let mut identity = Identity::default();
        let mut ids = BTreeMap::<usize, BTreeSet<Id>>::new();
        for (provider, number) in told_by {
            let fixture = provider_fixture(provider, number);
            ids.entry(number).or_default().insert(identity.football(&fixture).id);
        }
        prop_assert_eq!(ids.values().map(BTreeSet::len).max(), Some(1), "each is one");
        prop_assert_eq!(ids.values().flatten().collect::<BTreeSet<_>>().len(), MATCHES.len());
    }

    #[test]
    fn same_input_gives_the_same_decisions(some in subsequence(all(), 1..24).prop_shuffle()) {
        let run = || {
            let mut identity = Identity::default();
            let fixtures = some.iter().map(|&(provider, number)| provider_fixture(provider, number));
            let answers = fixtures.map(|it| identity.football(&it)).collect::<Vec<_>>();
            (answers, identity.take_decisions())
        };
        prop_assert_eq!(run(), run());
    }

    #[test]
    fn no_provider_has_a_match_twice_and_no_id_changes(
        steps in prop::collection::vec((0..3_usize, 0..6_u8, 0..4_usize, 0..5_i64, any::<bool>()), 1..40),
        orders in prop::collection::vec((0..3_usize, 0..6_u8, 0..3_usize, 0..6_u8, any::<bool>()), 0..6),
    ) {
        let sides = ["Ajax v PSV", "PSV v Ajax", "Ajax v PSV Eindhoven", "Ajaks v PSV"];
        let mut identity = Identity::default();
        let mut ids = BTreeMap::new();
        for (provider, key, names, start, named) in steps {
            let mut fixture = fixture(PROVIDERS[provider], &key.to_string(), sides[names], "");
            fixture.start = Some(hour(start * 2));
            fixture.sides = fixture.sides.filter(|_| named);
            let resolution = identity.football(&fixture);
            let before = ids.insert((provider, key), (resolution.id, named));
            if let Some((id, true)) = before {
                prop_assert_eq!(id, resolution.id);
                ids.insert((provider, key), (id, true));
            }
        }
        check_groups(&identity)?;
        for (provider, key, other, other_key, join) in orders {
            let (provider, key) = (PROVIDERS[provider].to_owned(), key.to_string());
            let with = (PROVIDERS[other].to_owned(), other_key.to_string());
            let into = local_id(&with.0, &with.1);
            let order = if join {
                MatchOrder::Join { provider, key, into, swapped: false, with: Some(with) }
            } else {
                MatchOrder::Split { provider, key }
            };
            identity.follow(&NumberedOrder { number: 1, order });
            check_groups(&identity)?;
        }
        let before = identity.matches.keys().map(|id| (*id, identity.mapping(*id))).collect::<Vec<_>>();
        let later = Identity::reborn(&identity.take_decisions());
        for (id, mapping) in before {
            prop_assert_eq!(later.mapping(id), mapping);
        }
    }

    #[test]
    fn arbitrary_fixtures_do_not_panic(one in any::<String>(), other in any::<String>(), start in any::<i64>()) {
        for sport in [Sport::Football, Sport::Tennis, Sport::Darts, Sport::Cricket] {
            let mut identity = Identity::default();
            for (provider, start) in [("a", start), ("b", 0), ("c", i64::MIN), ("d", i64::MAX)] {
                let mut fixture = within(fixture(provider, "1", "x v y", ""), &other);
                fixture.start = Some(start);
                if let Some(sides) = &mut fixture.sides {
                    (sides[0].name, sides[1].name) = (one.as_str().into(), other.as_str().into());
                }
                identity.resolve_fixture(sport, &fixture);
            }
        }
    }
}

fn check_groups(identity: &Identity) -> Result<(), TestCaseError> {
    for (local_id, entry) in &identity.matches {
        let members = identity.groups.members(entry.mapping.id);
        prop_assert!(members.iter().any(|member| member.id == *local_id));
        let providers = members.iter().map(|member| &member.provider).collect::<BTreeSet<_>>();
        prop_assert_eq!(providers.len(), members.len(), "two of one provider in {:?}", members);
    }
    Ok(())
}

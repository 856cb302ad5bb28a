use std::{future::pending, time::Duration};

use facts::event::{Fixture, Participant, Sport};
use tokio::sync::mpsc;

use super::*;
use crate::identity::{DecisionWriter, Identity, local_id, watch};
use database::testing::on_each;

const NOW: Micros = 1_788_280_000_000_000;

/// The same tables as another program sees them.
async fn another(database: &Database) -> IdentityStore {
    IdentityStore::new(&Database::open_existing(database.name()).await.unwrap())
}

fn fixture(provider: &str, sides: [&str; 2]) -> Fixture {
    Fixture {
        provider: provider.into(),
        provider_key: "1/2 '".into(),
        competition: None,
        start: Some(NOW),
        date: None,
        sides: Some(sides.map(|name| Participant { id: Id(1), name: name.into() })),
        ..Fixture::default()
    }
}

fn resolve(identity: &mut Identity, provider: &str, sides: [&str; 2]) -> MatchMapping {
    let local_id = local_id(provider, "1/2 '");
    let resolution = identity.resolve(Sport::Tennis, local_id, &fixture(provider, sides));
    MatchMapping { id: resolution.id, swapped: resolution.swapped }
}

#[tokio::test]
async fn decisions_are_loaded_as_stored() {
    on_each(async |database| {
        let store = IdentityStore::new(&database);
        let mut identity = Identity::default();
        resolve(&mut identity, "a", ["N. Djokovic", "R. Nadal"]);
        let swapped = resolve(&mut identity, "b", ["R. Nadal", "N. Djokovic"]);
        resolve(&mut identity, "c", ["Djokovic", "R. Nadal"]);
        store.write(&identity.take_decisions(), NOW).await.unwrap();

        let stored = another(&database).await.load().await.unwrap();
        let with = Some((local_id("a", "1/2 '"), Arc::from("a")));
        let aliases = Vec::new();
        let binding = Binding {
            local_id: local_id("b", "1/2 '"),
            provider: "b".into(),
            mapping: swapped,
            with,
            aliases,
        };
        assert_eq!(stored.bindings, [binding]);
        assert_eq!(stored.doubts.len(), 2);
        let mut later = Identity::new(stored);
        assert_eq!(resolve(&mut later, "b", ["x", "y"]), swapped);

        let doubts = store.doubts().await.unwrap();
        assert!(doubts.iter().all(|doubt| &*doubt.one.key == "1/2 '" && !doubt.why.is_empty()));
        let (low, high) = pair(doubts[0].one.id, doubts[0].other.id);
        let undone = [
            Decision::Split(low, high),
            Decision::Split(low, high),
            Decision::Unbind(local_id("b", "1/2 '")),
        ];
        store.write(&undone, NOW).await.unwrap();
        assert_eq!(store.doubts().await.unwrap().len(), 1, "one was decided");
        let stored = store.load().await.unwrap();
        assert_eq!((stored.bindings.len(), stored.splits), (0, vec![(low, high)]));
    })
    .await;
}

#[tokio::test]
async fn oldest_doubts_are_deleted_at_the_limit() {
    on_each(async |database| {
        let store = IdentityStore::new(&database);
        let doubt = |number: usize| {
            let other = MatchDescription::by_key("b", &number.to_string());
            let one = MatchDescription { id: Id(1), ..MatchDescription::by_key("a", "1") };
            let why = String::new();
            Decision::Doubt(Box::new(Doubt { one, other, swapped: false, score: 0.5, why }))
        };
        let doubts = (0..DOUBTS_MAX + 2).map(doubt).collect::<Vec<_>>();
        store.write(&doubts, NOW).await.unwrap();
        let left = store.load().await.unwrap().doubts;
        assert_eq!(left.len(), DOUBTS_MAX);
        assert!(
            !left.contains(&(Id(1), local_id("b", "1")))
                && left.contains(&(Id(1), local_id("b", "2")))
        );
    })
    .await;
}

#[tokio::test]
async fn writer_stores_decisions_in_the_background() {
    on_each(async |database| {
        let store = IdentityStore::new(&database);
        let (writer, written) = DecisionWriter::start(store.clone());
        let mut identity = Identity::default();
        for provider in ["a", "b"] {
            resolve(&mut identity, provider, ["N. Djokovic", "R. Nadal"]);
            if let Some(decisions) = writer.take_from(&mut identity) {
                decisions.write();
            }
        }
        assert!(!identity.has_decisions());
        drop(writer);
        written.await.unwrap();
        assert_eq!(store.bindings().await.unwrap().len(), 1);
    })
    .await;
}

#[tokio::test]
async fn orders_of_other_programs_are_forwarded_until_done() {
    on_each(async |database| {
        let (ours, other) = (IdentityStore::new(&database), another(&database).await);
        let split = |key: &str| MatchOrder::Split { provider: "a".to_owned(), key: key.to_owned() };
        other.order(&split("waits"), NOW).await.unwrap();
        let (tx, mut rx) = mpsc::channel(1);
        let every = Duration::from_millis(5);
        let watching = tokio::spawn(watch(ours.clone(), every, tx, pending()));
        assert_eq!(rx.recv().await.unwrap().order, split("waits"));
        let order = MatchOrder::Join {
            provider: "a".to_owned(),
            key: "1".to_owned(),
            into: Id(7),
            swapped: true,
            with: Some(("b".to_owned(), "2".to_owned())),
        };
        let number = other.order(&order, NOW).await.unwrap();
        let received = rx.recv().await.unwrap();
        assert_eq!(received, NumberedOrder { number, order });

        let mut identity = Identity::default();
        identity.follow(&received);
        ours.write(&identity.take_decisions(), NOW).await.unwrap();
        let waiting = other.orders_after(0).await.unwrap();
        assert_eq!(waiting.into_iter().map(|it| it.order).collect::<Vec<_>>(), [split("waits")]);
        assert_eq!(
            other.mapping(local_id("a", "1")).await.unwrap(),
            Some(MatchMapping { id: Id(7), swapped: true })
        );

        drop(rx);
        watching.await.unwrap();
    })
    .await;
}

#[tokio::test]
async fn competitions_are_ordered_decided_and_taken_back() {
    on_each(async |database| {
        let store = IdentityStore::new(&database);
        let mut identity = Identity::default();
        let mut introduce = |provider: &str, name: &str| {
            let competition = facts::event::Competition {
                id: Id::derive(provider, "competition", name),
                name: name.into(),
                season: None,
            };
            let fixture = fixture(provider, ["Ajax", "PSV"]);
            let fixture = Fixture { competition: Some(competition), ..fixture };
            identity.resolve(Sport::Football, local_id(provider, "1/2 '"), &fixture);
        };
        introduce("a", "Eredivisie");
        introduce("b", "KNVB Beker");
        store.write(&identity.take_decisions(), NOW).await.unwrap();
        let doubts = store.doubts().await.unwrap();
        assert_eq!(doubts.len(), 1);
        for relation in [Some(DecidedRelation::Apart), None, Some(DecidedRelation::Same)] {
            let order = doubts[0].competitions(relation).expect("both have competitions");
            let order = MatchOrder::Competitions(Box::new(order));
            let number = store.order(&order, NOW + 1).await.unwrap();
            let waiting = another(&database).await.orders_after(0).await.unwrap();
            assert_eq!(waiting, [NumberedOrder { number, order }]);
            identity.follow(&waiting[0]);
            store.write(&identity.take_decisions(), NOW + 1).await.unwrap();
            let decided = store.competitions().await.unwrap();
            let relations: Vec<_> = decided.iter().map(|order| order.relation).collect();
            assert_eq!(relations, Vec::from_iter(relation.map(Some)));
            let loaded = store.load().await.unwrap().competitions;
            let pair = doubts[0].competitions(relation).map(|order| order.pair());
            assert_eq!(loaded, Vec::from_iter(pair.zip(relation)));
            let open = store.doubts().await.unwrap().len();
            assert_eq!(open, usize::from(relation.is_none()), "{relation:?}");
        }
        assert_eq!(store.bindings().await.unwrap().len(), 1);
    })
    .await;
}

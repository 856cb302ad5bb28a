use facts::event::{
    About, Competition, Event, Fact, Fixture, FootballFact, Incident, IncidentKind, LineUp,
    LineUpPlayer, Participant, Race, RaceRunner, RaceStatus, RunnerStatus, Side, Sport, Venue,
};

use super::*;
use database::testing::on_each;

fn digest(key: &str) -> Id {
    Id::derive("acme", "team", key)
}

fn numbers_of(ids: &PublicIds, keys: &[&str]) -> Vec<Option<Id>> {
    keys.iter().map(|key| ids.number(digest(key))).collect()
}

/// Two digests of which the second wants the number of the first.
fn rivals() -> (Id, Id) {
    let one = digest("one");
    (one, Id(one.0 + u64::from(NUMBERS_MAX)))
}

/// Every id of an event, in the order of the visits.
fn ids_of(mut event: Event) -> Vec<u64> {
    let mut all = Vec::new();
    event.each_id(&mut |id| all.push(id.0));
    all
}

#[test]
fn every_id_of_a_fact_is_visited() {
    let entity = |id| Participant { id: Id(id), name: "x".into() };
    let event = |fact| Event { sport: Sport::Football, match_id: Id(1), fact };
    let fixture = Fixture {
        provider: "acme".into(),
        provider_key: "m".into(),
        competition: Some(Competition { id: Id(2), name: "x".into(), season: None }),
        start: None,
        date: None,
        sides: Some([entity(3), entity(4)]),
        ..Fixture::default()
    };
    assert_eq!(ids_of(event(Fact::Fixture(fixture))), [1, 2, 3, 4]);
    let about = About {
        venue: Some(Venue { id: Id(2), name: "x".into(), city: None }),
        referee: Some(entity(3)),
        home_coach: Some(entity(4)),
        away_coach: Some(entity(5)),
        ..About::default()
    };
    assert_eq!(ids_of(event(Fact::About(Box::new(about)))), [1, 2, 3, 4, 5]);
    let incident = Incident {
        player: Some(entity(2)),
        assist: Some(entity(3)),
        ..Incident::new("e", IncidentKind::Substitution, (1, None), None)
    };
    let incident = FootballFact::Incident(incident);
    assert_eq!(ids_of(event(Fact::Football(incident))), [1, 2, 3]);
    let player = |id| LineUpPlayer {
        player: entity(id),
        number: None,
        position: None,
        country: None,
        starter: true,
        captain: false,
    };
    let line_up = LineUp { formation: None, players: vec![player(2), player(3)] };
    let line_up = FootballFact::LineUp { side: Side::First, line_up };
    assert_eq!(ids_of(event(Fact::Football(line_up))), [1, 2, 3]);
    let stats = FootballFact::PlayerStats { side: Side::First, player: entity(2), values: vec![] };
    assert_eq!(ids_of(event(Fact::Football(stats))), [1, 2]);
    let runner = RaceRunner {
        participant: entity(2),
        number: None,
        jockey: None,
        status: RunnerStatus::Active,
        position: None,
    };
    let race = Race { status: RaceStatus::NotStarted, runners: vec![runner] };
    assert_eq!(ids_of(event(Fact::Race(race))), [1, 2]);
}

/// The simulator produces every kind of fact; none contains a digest after numbering.
#[test]
fn all_ids_of_the_simulator_are_numbered() {
    let ids = PublicIds::default();
    let world = simulator::World::new(1, 1_795_329_600_000_000);
    let mut seen = 0;
    for planned in world.programme(0).into_iter().step_by(40) {
        for mut timed in planned.result(true) {
            ids.number_batch(&mut timed.batch);
            let text = format!("{:?}", timed.batch.events);
            for found in text.split("Id(").skip(1) {
                let digits = found.split(')').next().unwrap_or_default();
                assert!(digits.parse::<i32>().is_ok_and(|id| id > 0), "{digits} is no public id");
                seen += 1;
            }
        }
    }
    assert!(seen > 1_000, "{seen}");
}

#[tokio::test]
async fn numbers_survive_restarts_in_any_order_of_requests() {
    on_each(async |database| {
        let ids = PublicIds::open(&database, 1_000).await.unwrap();
        let (one, other) = rivals();
        let before = [ids.number(one), ids.number(other)];
        assert_ne!(before[0], before[1]);
        ids.flush().await.unwrap();
        let again = PublicIds::open(&database, 1_000).await.unwrap();
        assert_eq!([again.number(other), again.number(one)], [before[1], before[0]]);
        again.flush().await.unwrap();
    })
    .await;
}

#[tokio::test]
async fn numbers_not_flushed_before_a_kill_are_in_the_journal() {
    on_each(async |database| {
        let folder = tempfile::tempdir().unwrap();
        let path = path_beside(&folder.path().join("matchwire.db"));
        let ids = PublicIds::open_with_journal(&database, 1_000, &path).await.unwrap();
        let (one, other) = rivals();
        let before = [ids.number(one), ids.number(other)];
        // Killed: nothing was flushed, and the last entry was cut off.
        drop(ids);
        let mut bytes = std::fs::read(&path).unwrap();
        assert_eq!(bytes.len(), 24);
        bytes.extend([1, 2, 3]);
        std::fs::write(&path, bytes).unwrap();
        let again = PublicIds::open_with_journal(&database, 1_000, &path).await.unwrap();
        assert_eq!([again.number(other), again.number(one)], [before[1], before[0]]);
        assert_eq!(std::fs::metadata(&path).unwrap().len(), 0, "the database has them");
        // Also without the journal.
        let third = PublicIds::open(&database, 1_000).await.unwrap();
        assert_eq!([third.number(other), third.number(one)], [before[1], before[0]]);
    })
    .await;
}

#[tokio::test]
async fn another_program_makes_the_same_choices() {
    on_each(async |database| {
        let hub = PublicIds::open(&database, 1_000).await.unwrap();
        let import = PublicIds::open(&database, 1_000).await.unwrap();
        let keys = ["a", "b", "c"];
        assert_eq!(numbers_of(&hub, &keys), numbers_of(&import, &keys));
        import.flush().await.unwrap();
        hub.flush().await.unwrap();
        // Both assign the same number at the same moment: the second one to write fails.
        let (one, other) = rivals();
        assert_eq!(hub.number(one), import.number(other));
        hub.flush().await.unwrap();
        let error = import.flush().await.unwrap_err();
        assert!(matches!(error, IdsError::Contested { count: 1 }), "{error}");
        let again = PublicIds::open(&database, 1_000).await.unwrap();
        assert_eq!(again.number(one), hub.number(one));
        assert_ne!(again.number(other), again.number(one));
        again.flush().await.unwrap();
    })
    .await;
}

#[test]
fn ids_beyond_the_limit_get_no_number() {
    let inner = Inner { ids_max: 2, ..Inner::default() };
    let ids = PublicIds { inner: Arc::new(inner) };
    let given = numbers_of(&ids, &["a", "b", "c", "a"]);
    assert!(given[0].is_some() && given[1].is_some());
    assert_eq!((given[2], given[3]), (None, given[0]));
    let event = |key| {
        let fact = Fact::Football(FootballFact::Clock { second: 1, running: true });
        Event { sport: Sport::Football, match_id: digest(key), fact }
    };
    let mut batch = Batch { events: vec![event("c"), event("a")], ..Batch::default() };
    ids.number_batch(&mut batch);
    assert_eq!(batch.events.iter().map(|it| Some(it.match_id)).collect::<Vec<_>>(), [given[0]]);
}

use facts::event::{Competition, Fixture, Participant, Sport};
use serde_json::{Value, json};

use super::*;
use crate::cli::OutputArgs;
use database::{Database, DatabaseError, DatabaseName, testing::on_each};
use hub::identity::Identity;
use record::ids::first_choice;

/// The public id of a provider's match, where no other wants the same one.
fn public(provider: &str, key: &str) -> Id {
    Id(first_choice(identity::local_id(provider, key).0))
}

const NOW: Micros = 1_788_280_000_000_000;

/// The heads of what `list` prints, of the orders in it, and of what `doubtful` prints.
const LIST: &str = "ID\tMATCH\tSIDES\tSTART\tCOMPETITION\tSWAPPED\tFOUND_BY\tFOUND_TO_BE\n";
const ORDERS: &str = "ORDER\tKIND\tMATCH\tINTO\tSWAPPED\tSTATE\n";
const DOUBTFUL: &str = "SCORE\tREASON\tSWAPPED\tA\tA_SIDES\tA_START\tA_COMPETITION\t\
                        B\tB_SIDES\tB_START\tB_COMPETITION\n";

async fn answer(command: MatchesCommand) -> Result<String, MatchesCommandError> {
    let mut out = Vec::new();
    run(command, &AccountsConfig::default(), NOW, &mut out).await?;
    Ok(String::from_utf8(out).unwrap())
}

fn fixture(provider: &str, key: &str, sides: [&str; 2]) -> Fixture {
    let competition = Competition { id: Id(1), name: "A\tCup\x1b".into(), season: None };
    Fixture {
        provider: provider.into(),
        provider_key: key.into(),
        competition: Some(competition),
        start: Some(NOW),
        date: None,
        sides: Some(sides.map(|name| Participant { id: Id(1), name: name.into() })),
        ..Fixture::default()
    }
}

/// A hub that runs on this database: what it knows, and what it does about orders.
struct Running {
    store: IdentityStore,
    identity: Identity,
}

impl Running {
    async fn on(db: &DatabaseName) -> Self {
        let store = IdentityStore::new(&Database::open_existing(db).await.unwrap());
        let mut running = Self { identity: Identity::new(store.load().await.unwrap()), store };
        running.identity.use_ids(PublicIds::default());
        for fixture in [
            fixture("a", "1", ["Ajax", "PSV"]),
            fixture("b", "1/x", ["PSV", "Ajax"]),
            fixture("c", "1", ["Ajax", "PSV Eindhoven"]),
        ] {
            let id = public(&fixture.provider, &fixture.provider_key);
            running.identity.resolve(Sport::Football, id, &fixture);
        }
        running.keep().await;
        running
    }

    async fn follow(&mut self) -> usize {
        let mut moves = 0;
        for order in self.store.orders_after(0).await.unwrap() {
            moves += self.identity.follow(&order).len();
        }
        self.keep().await;
        moves
    }

    async fn keep(&mut self) {
        self.store.write(&self.identity.take_decisions(), NOW).await.unwrap();
    }
}

fn join(db: &DatabaseName, one: &str, other: &str) -> MatchesCommand {
    let (db, one, other) = (db.clone(), one.to_owned(), other.to_owned());
    MatchesCommand::Join(MatchesJoinArgs { db, swapped: false, one, other })
}

fn split(db: &DatabaseName, provider: &str, key: &str) -> MatchesCommand {
    let (db, provider, key) = (db.clone(), provider.to_owned(), key.to_owned());
    MatchesCommand::Split(MatchesSplitArgs { db, provider, key })
}

fn args(db: &DatabaseName, json: bool) -> MatchesArgs {
    MatchesArgs { db: db.clone(), output: OutputArgs { json } }
}

fn list(db: &DatabaseName) -> MatchesCommand {
    MatchesCommand::List(args(db, false))
}

fn doubtful(db: &DatabaseName) -> MatchesCommand {
    MatchesCommand::Doubtful(args(db, false))
}

#[tokio::test]
async fn doubtful_matches_are_listed_joined_and_split() {
    on_each(async |database| {
        let db = database.name();
        let mut hub = Running::on(db).await;
        let id = public("a", "1");
        let when = "2026-09-01T16:26:40Z\tA Cup ";

        let joined = answer(list(db)).await.unwrap();
        let row = format!("{id}\tc/1\tAjax v PSV Eindhoven\t{when}\t-\trule\ta/1\n");
        assert_eq!(joined, format!("{LIST}{row}"));
        let shown = answer(doubtful(db)).await.unwrap();
        let why = "0.90\tthe sides are the other way round\tswapped";
        let [a, b] = [format!("a/1\tAjax v PSV\t{when}"), format!("b/1/x\tPSV v Ajax\t{when}")];
        let pairs =
            [format!("{DOUBTFUL}{why}\t{a}\t{b}\n"), format!("{DOUBTFUL}{why}\t{b}\t{a}\n")];
        assert!(pairs.contains(&shown), "{shown}");

        let ordered = answer(join(db, "b/1/x", "c/1")).await.unwrap();
        assert_eq!(ordered, format!("order 1\tjoin\tb/1/x\t{id}\t-\n"), "not known to be swapped");
        assert_eq!(answer(split(db, "b", "1/x")).await.unwrap(), "order 2\tsplit\tb/1/x\n");
        let ordered = answer(join(db, "b/1/x", &id.to_string())).await.unwrap();
        assert_eq!(ordered, format!("order 3\tjoin\tb/1/x\t{id}\tswapped\n"));
        let orders = format!(
            "{ORDERS}1\tjoin\tb/1/x\t{id}\t-\twaits\n2\tsplit\tb/1/x\t-\t-\twaits\n\
             3\tjoin\tb/1/x\t{id}\tswapped\twaits\n"
        );
        assert_eq!(answer(list(db)).await.unwrap(), format!("{LIST}{row}{orders}"));
        assert_eq!(hub.follow().await, 3);
        let joined = answer(list(db)).await.unwrap();
        assert!(
            joined.contains(&format!("{id}\tb/1/x\tPSV v Ajax\t{when}\tswapped\toperator\ta/1\n")),
            "{joined}"
        );
        assert_eq!(joined.lines().count(), 3, "{joined}");
        assert_eq!(answer(doubtful(db)).await.unwrap(), DOUBTFUL);

        answer(split(db, "b", "1/x")).await.unwrap();
        assert_eq!(hub.follow().await, 1);
        assert_eq!(answer(list(db)).await.unwrap().lines().count(), 2);
        assert_eq!(answer(doubtful(db)).await.unwrap(), DOUBTFUL, "it was decided");
    })
    .await;
}

#[tokio::test]
async fn json_has_an_object_for_each_match_and_each_order() {
    on_each(async |database| {
        let db = database.name();
        Running::on(db).await;
        answer(split(db, "b", "1/x")).await.unwrap();
        let id = public("a", "1");
        let listed = answer(MatchesCommand::List(args(db, true))).await.unwrap();
        let objects: Vec<Value> =
            listed.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let joined = json!({
            "id": id.to_string(),
            "match": "c/1",
            "sides": "Ajax v PSV Eindhoven",
            "start": "2026-09-01T16:26:40Z",
            // As the feed sent it: JSON escapes control characters.
            "competition": "A\tCup\u{1b}",
            "swapped": null,
            "found_by": "rule",
            "found_to_be": "a/1",
        });
        let order = json!({
            "order": "1",
            "kind": "split",
            "match": "b/1/x",
            "into": null,
            "swapped": null,
            "state": "waits",
        });
        assert_eq!(objects, [joined, order]);
        let doubts = answer(MatchesCommand::Doubtful(args(db, true))).await.unwrap();
        let doubt: Value = serde_json::from_str(&doubts).unwrap();
        assert_eq!((&doubt["score"], &doubt["swapped"]), (&json!("0.90"), &json!("swapped")));
    })
    .await;
}

#[tokio::test]
async fn own_id_refers_to_a_listed_match() {
    on_each(async |database| {
        let db = database.name();
        Running::on(db).await;
        let [one, other] = [public("b", "1/x"), public("a", "1")];
        let ordered = answer(join(db, &one.to_string(), "a/1")).await.unwrap();
        assert_eq!(ordered, format!("order 1\tjoin\tb/1/x\t{other}\tswapped\n"));
    })
    .await;
}

#[tokio::test]
async fn impossible_order_is_refused_at_once() {
    on_each(async |database| {
        let db = database.name();
        let mut hub = Running::on(db).await;
        for (one, other, expected) in [
            ("a/1", "a/2", "both are matches of a, which lists each match only once".to_owned()),
            ("c/1", "a/1", format!("both are already match {}", public("a", "1"))),
            ("12", "a/1", "unknown match 12: use PROVIDER/KEY instead".to_owned()),
            ("a", "b/1", "`a` is neither PROVIDER/KEY nor an id".to_owned()),
            ("/1", "b/1", "`/1` is neither PROVIDER/KEY nor an id".to_owned()),
            (
                "a/1",
                "4503599627370496",
                "`4503599627370496` is neither PROVIDER/KEY nor an id".to_owned(),
            ),
        ] {
            let error = answer(join(db, one, other)).await.unwrap_err();
            assert_eq!(error.to_string(), expected);
        }
        // That the match has one of c already, only the hub knows.
        answer(join(db, "c/2", "a/1")).await.unwrap();
        hub.follow().await;
        let listed = answer(list(db)).await.unwrap();
        let refused = "refused: two matches of one provider are never the same\n";
        assert!(listed.ends_with(refused), "{listed}");
    })
    .await;
}

#[tokio::test]
async fn mistyped_path_creates_no_database() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.db");
    let db = path.as_path().into();
    for command in [list(&db), doubtful(&db), join(&db, "a/1", "b/1"), split(&db, "a", "1")] {
        let error = answer(command).await.unwrap_err();
        assert!(matches!(
            error,
            MatchesCommandError::Accounts(AccountsError::Database(DatabaseError::Missing { .. }))
        ));
    }
    assert!(!path.exists());
}

//! Each figure of each match that the demo plays and has played: in the stream's documents, and in both versions of REST.

use std::{collections::BTreeMap, sync::Arc};

use accounts::products::{Catalogue, CurrentCatalogue};
use axum::{
    Router,
    body::{Body, to_bytes},
};
use database::{Database, DatabaseName};
use facts::event::Timed;
use fanout::{Epoch, Micros};
use history::{
    archive::Archive, predict::Predictor, query::History, reader::Reader, signal_board::SignalBoard,
};
use hub::{Epochs, Hub, feeds::SourcePolicy, identity::Identity};
use hyper::{Request, StatusCode, service::Service as _};
use hyper_util::service::TowerToHyperService;
use record::{LiveRecords, MatchRecord, ids::PublicIds};
use serde_json::Value;
use simulator::World;
use tempfile::TempDir;
use web::rest::{self, RestParts};

use crate::{
    agreement::{
        Rest, check_document, check_football, number,
        seasons::check_seasons,
        sports::{self, SPORTS, check_sport},
    },
    bench::{SETTINGS, START},
    json::parse,
};

const MINUTE: Micros = 60_000_000;
const DAY: Micros = 24 * 60 * MINUTE;

/// The demo keeps all details of the matches of so long before its start.
const DETAILED: Micros = 3 * DAY;

/// What the hub has of matches.
#[derive(Default)]
struct Matches {
    records: Vec<Arc<MatchRecord>>,
    /// The documents of the stream.
    documents: BTreeMap<u64, Value>,
}

impl Matches {
    /// Plays these batches of one match.
    fn play(&mut self, batches: impl IntoIterator<Item = Timed>, ids: &PublicIds) {
        let epochs = Epochs { matches: Epoch(7), feeds: Epoch(8) };
        let mut hub = Hub::new(SETTINGS, epochs, Identity::default()).with_ids(ids.clone());
        let source = hub.source("simulator".into(), "simulator", SourcePolicy::default());
        for Timed { clock_us, mut batch } in batches {
            ids.number_batch(&mut batch);
            let errors = hub.apply(source, &batch, clock_us, clock_us, &mut Vec::new());
            assert_eq!(errors, []);
        }
        for mut record in LiveRecords::default().apply(hub.take_changed(START)).records {
            let name = format!("{}/{}", record.summary.sport.as_str(), record.summary.id);
            let images = hub.images_of_match(&name);
            let image = images.iter().find(|(channel, _)| channel.as_str() == name);
            let (_, image) = image.unwrap_or_else(|| panic!("{name} has no document"));
            self.documents.insert(record.summary.id, parse(&image.frame)["data"].clone());
            // Prices are not compared here.
            Arc::make_mut(&mut record).prices.clear();
            self.records.push(record);
        }
    }
}

/// The interface over the demo's matches.
struct Demo {
    router: TowerToHyperService<Router>,
    _folder: TempDir,
}

impl Demo {
    async fn new(past: &[Arc<MatchRecord>], current: &[Arc<MatchRecord>]) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let file = DatabaseName::File(folder.path().join("demo.db"));
        let database = Database::open(&file).await.expect("a database");
        let archive = Archive::open(&database).await.expect("an archive");
        archive.put(past, START).await.expect("they are written");
        archive.put(current, START).await.expect("they are written");
        let reader = Reader::default();
        reader.update(current, &[]);
        let catalogue = Catalogue {
            currency: "USD".to_owned(),
            monthly: [5.into(), 3.into(), 5.into()],
            monthly_for_founders: [None; 3],
            odds_free_until: None,
            tax_percent: None,
            countries: BTreeMap::new(),
        };
        let parts = RestParts {
            history: History::new(reader, archive),
            signals: SignalBoard::default(),
            predictor: Predictor::default(),
            public_url: "http://hub.example".into(),
            configured_url: true,
            prices: CurrentCatalogue::new(catalogue),
        };
        let router = TowerToHyperService::new(rest::routes::<()>(parts.into()));
        Self { router, _folder: folder }
    }
}

impl Rest for Demo {
    async fn get(&self, path: &str) -> Value {
        let request = Request::get(path).body(Body::empty()).expect("a request");
        let response = self.router.call(request).await.expect("an answer");
        let status = response.status();
        let body = to_bytes(response.into_body(), usize::MAX).await.expect("a body");
        assert_eq!(status, StatusCode::OK, "{path}: {}", String::from_utf8_lossy(&body));
        serde_json::from_slice(&body).expect("JSON")
    }
}

#[tokio::test]
async fn figures_of_every_demo_match_agree() {
    let (world, ids) = (World::new(1, START), PublicIds::default());
    let (mut past, mut current) = (Matches::default(), Matches::default());
    for planned in world.past(0) {
        past.play(planned.result(planned.start() >= START - DETAILED), &ids);
    }
    // Each match of a day at another moment: before it, in play, after it.
    for (index, planned) in (0..).zip(world.programme(0)) {
        let until = planned.start() + (index * 7 % 150 - 5) * MINUTE;
        let played = planned.played(60 * MINUTE, 1);
        current.play(played.take_while(|timed| timed.clock_us <= until), &ids);
    }
    let demo = Demo::new(&past.records, &current.records).await;
    let mut documents = past.documents;
    documents.append(&mut current.documents);

    let football = check_football(&demo).await;
    for checked in &football {
        check_document(&demo, &documents[&number(&checked.event["id"])], &checked.event).await;
    }
    let detailed = football.iter().filter(|it| it.is_detailed);
    let (over, in_play): (Vec<_>, Vec<_>) =
        detailed.partition(|it| it.event["status"] == "finished");
    assert!(over.len() > 400 && in_play.len() > 5, "{}, {}", over.len(), in_play.len());
    check_seasons(&demo, &football).await;
    for product in SPORTS {
        let rows = check_sport(&demo, product).await;
        assert!(rows.len() > 80, "{} of {product}", rows.len());
        for row in &rows {
            sports::check_document(product, &documents[&number(&row["id"])], row);
        }
    }
}

//! A league of three teams: two matches are over, one is in play, one is scheduled.

use std::{collections::BTreeMap, sync::Arc};

use axum::{Router, body::Body};
use fanout::Micros;
use hyper::{HeaderMap, Request, StatusCode, service::Service};
use hyper_util::service::TowerToHyperService;
use serde_json::Value;

use crate::{
    clock::now,
    predict::Predictor,
    products::{Catalogue, CurrentCatalogue},
    rest::{self, RestParts},
};
use database::{Database, DatabaseName};
use history::{archive::Archive, query::History, reader::Reader, signal_board::SignalBoard};
use record::{
    ClockRecord, FootballRecord, Freshness, IncidentRecord, Key, LineUpPlayerRecord, LineUpRecord,
    MatchRecord, MatchSummary, Names, PlayRecord, Position, Status,
    testing::{self, SEASON, named},
};

pub(super) const LEAGUE: Key = 5;
pub(super) const ALPHA: Key = 100;
pub(super) const BETA: Key = 200;
const GAMMA: Key = 300;
pub(super) const SCORER: Key = 1001;
pub(super) const MANAGER: Key = 700;
pub(super) const REFEREE: Key = 800;
pub(super) const VENUE: Key = 900;

const DAY_US: Micros = 24 * 60 * 60 * 1_000_000;

pub(in crate::rest) struct World {
    router: TowerToHyperService<Router>,
    reader: Reader,
    archive: Archive,
    now: Micros,
    _folder: tempfile::TempDir,
}

#[derive(Debug)]
pub(in crate::rest) struct Answer {
    pub(in crate::rest) status: StatusCode,
    pub(in crate::rest) body: Value,
    headers: HeaderMap,
}

impl Answer {
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).and_then(|value| value.to_str().ok())
    }
}

impl World {
    pub(super) async fn empty() -> Self {
        Self::with_reader(&[], Reader::default()).await
    }

    pub(in crate::rest) async fn new() -> Self {
        let now = now();
        let archived = [
            first(now - 14 * DAY_US),
            MatchRecord {
                summary: MatchSummary {
                    round: Some(2),
                    score: Some([1, 2]),
                    extra_time: Some([0, 1]),
                    ..summary(2, [BETA, ALPHA], now - 7 * DAY_US, Status::Finished)
                }
                .into(),
                ..record(2, [BETA, ALPHA])
            },
            MatchRecord {
                summary: summary(3, [ALPHA, GAMMA], now - DAY_US / 48, Status::NotStarted).into(),
                ..record(3, [ALPHA, GAMMA])
            },
            MatchRecord {
                summary: MatchSummary {
                    round_name: Some("Final".into()),
                    ..summary(4, [BETA, GAMMA], now + 2 * DAY_US, Status::NotStarted)
                }
                .into(),
                ..record(4, [BETA, GAMMA])
            },
        ];
        let reader = Reader::default();
        reader.update(&[Arc::new(live(now, Status::FirstHalf))], &[]);
        Self::with_reader(&archived.map(Arc::new), reader).await
    }

    async fn with_reader(archived: &[Arc<MatchRecord>], reader: Reader) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let file = DatabaseName::File(folder.path().join("test.db"));
        let archive = Archive::open(&Database::open(&file).await.unwrap()).await.unwrap();
        archive.put(archived, now()).await.unwrap();
        let catalogue = Catalogue {
            currency: "USD".to_owned(),
            monthly: [5.into(), 3.into(), 5.into()],
            monthly_for_founders: [None; 3],
            odds_free_until: None,
            tax_percent: None,
            countries: BTreeMap::new(),
        };
        let api = RestParts {
            history: History::new(reader.clone(), archive.clone()),
            signals: SignalBoard::default(),
            predictor: Predictor::default(),
            public_url: "http://hub.example".into(),
            configured_url: true,
            prices: CurrentCatalogue::new(catalogue),
        };
        let router = TowerToHyperService::new(rest::routes::<()>(api.into()));
        Self { router, reader, archive, now: now(), _folder: folder }
    }

    /// The match in play ends before the archive knows.
    pub(super) fn end_live(&self) {
        self.reader.update(&[Arc::new(live(self.now, Status::Finished))], &[]);
    }

    /// From now on, past matches are still being added.
    pub(super) fn begin_past(&self) {
        self.archive.set_partial(true);
    }

    /// Adds matches to the hub.
    pub(in crate::rest) fn show(&self, summaries: impl IntoIterator<Item = MatchSummary>) {
        let live_record = |summary: MatchSummary| MatchRecord {
            summary: summary.into(),
            play: PlayRecord::Football(Box::default()),
            ..record(0, [ALPHA, BETA])
        };
        let records: Vec<_> =
            summaries.into_iter().map(|summary| Arc::new(live_record(summary))).collect();
        self.reader.update(&records, &[]);
    }

    /// Adds a match with all that is known of it to the hub, or changes it.
    pub(in crate::rest) fn put(&self, record: MatchRecord) {
        self.reader.update(&[Arc::new(record)], &[]);
    }

    /// A match that begins in this many minutes.
    pub(in crate::rest) fn in_minutes(
        &self,
        id: Key,
        minutes: Micros,
        status: Status,
    ) -> MatchSummary {
        summary(id, [ALPHA, BETA], self.now + minutes * 60_000_000, status)
    }

    /// The time this many minutes ago.
    pub(super) fn ago(&self, minutes: Micros) -> Micros {
        self.now - minutes * 60_000_000
    }

    /// The day this many days from now.
    pub(super) fn day(&self, days: Micros) -> String {
        super::super::event::day(self.now + days * DAY_US).unwrap()
    }

    pub(super) async fn get(&self, path: &str) -> Answer {
        self.at(&format!("http://hub.example/api/v2/{path}")).await
    }

    pub(in crate::rest) async fn at(&self, address: &str) -> Answer {
        let path = address.strip_prefix("http://hub.example").expect("an address built here");
        let request = Request::get(path).body(Body::empty()).unwrap();
        let response = self.router.call(request).await.unwrap();
        let (head, body) = response.into_parts();
        let body = axum::body::to_bytes(body, usize::MAX).await.unwrap();
        let nothing = serde_json::json!({"error": true, "status": 404, "detail": "Not found"});
        // Unknown paths are answered by the hub's own router.
        // Only calendars are no JSON.
        let text = || String::from_utf8(body.to_vec()).unwrap().into();
        let body = match body.is_empty() {
            true => nothing,
            false => serde_json::from_slice(&body).unwrap_or_else(|_| text()),
        };
        Answer { status: head.status, body, headers: head.headers }
    }
}

pub(in crate::rest::football) fn summary(
    id: Key,
    sides: [Key; 2],
    start: Micros,
    status: Status,
) -> MatchSummary {
    MatchSummary {
        start: Some(start),
        status,
        sides: Some(sides),
        updated: start,
        ..testing::summary(id)
    }
}

fn record(id: Key, sides: [Key; 2]) -> MatchRecord {
    MatchRecord {
        summary: summary(id, sides, 0, Status::NotStarted).into(),
        refs: [("test".into(), id.to_string().into())].into(),
        names: Names {
            competition: Some(named(LEAGUE)),
            season: Some(named(SEASON)),
            sides: Some(sides.map(named)),
            ..Names::default()
        },
        play: PlayRecord::Football(Box::new(FootballRecord {
            followed: true,
            ..FootballRecord::default()
        })),
        prices: Vec::new(),
        freshness: None,
    }
}

fn live(now: Micros, status: Status) -> MatchRecord {
    let football = FootballRecord {
        followed: true,
        clock: Some(ClockRecord { at: now, second: 17 * 60, running: false }),
        ..FootballRecord::default()
    };
    MatchRecord {
        summary: MatchSummary {
            score: Some([1, 0]),
            ended: status.is_over().then_some(now),
            ..summary(3, [ALPHA, GAMMA], now - DAY_US / 48, status)
        }
        .into(),
        play: PlayRecord::Football(Box::new(football)),
        freshness: Some(Freshness {
            position: Position { epoch: 10, seq: 12 },
            feed: "live",
            source_at: None,
            received_at: None,
        }),
        ..record(3, [ALPHA, GAMMA])
    }
}

/// Alpha - Beta 2-1, with everything known.
pub(in crate::rest) fn first(start: Micros) -> MatchRecord {
    let incident = |kind: &str, detail: Option<&str>, minute, side, player| IncidentRecord {
        eid: format!("{kind} {minute}").into(),
        kind: kind.into(),
        detail: detail.map(Into::into),
        minute,
        side: Some(side),
        player: Some(named(player)),
        ..IncidentRecord::default()
    };
    let goal = IncidentRecord {
        assist: Some(named(1002)),
        score: Some([1, 0]),
        ..incident("goal", Some("regular"), 12, 0, SCORER)
    };
    let own_goal =
        IncidentRecord { score: Some([2, 0]), ..incident("goal", Some("own_goal"), 40, 0, 2001) };
    let rescinded = IncidentRecord {
        retracted: Some("mistaken identity".into()),
        ..incident("red", None, 50, 1, 2002)
    };
    let taken_back = IncidentRecord {
        retracted: Some("offside".into()),
        ..incident("goal", Some("regular"), 55, 1, 2002)
    };
    let substitution = IncidentRecord {
        assist: Some(named(1012)),
        ..incident("substitution", None, 60, 0, SCORER)
    };
    let penalty =
        IncidentRecord { score: Some([2, 1]), ..incident("goal", Some("penalty"), 90, 1, 2002) };
    let football = FootballRecord {
        followed: true,
        incidents: vec![
            goal,
            own_goal,
            incident("yellow", None, 45, 1, 2001),
            rescinded,
            taken_back,
            substitution,
            penalty,
        ],
        stats: [
            [("passes".into(), 400), ("accurate_passes".into(), 300), ("attacks".into(), 60)]
                .into(),
            [("passes".into(), 200), ("attacks".into(), 30), ("saves".into(), 2)].into(),
        ],
        line_ups: [Some(line_up("4-4-2", 1000)), None],
        ..FootballRecord::default()
    };
    let names = Names {
        venue: Some(named(VENUE)),
        city: Some("Town".into()),
        referee: Some(named(REFEREE)),
        coaches: [Some(named(MANAGER)), None],
        ..record(1, [ALPHA, BETA]).names
    };
    let summary = MatchSummary {
        venue: Some(VENUE),
        referee: Some(REFEREE),
        coaches: [Some(MANAGER), None],
        attendance: Some(31_000),
        round: Some(1),
        score: Some([2, 1]),
        half_time: Some([2, 0]),
        ..summary(1, [ALPHA, BETA], start, Status::Finished)
    };
    let play = PlayRecord::Football(Box::new(football));
    MatchRecord { summary: summary.into(), names, play, ..record(1, [ALPHA, BETA]) }
}

fn line_up(formation: &str, first: Key) -> LineUpRecord {
    let player = |number: u16| LineUpPlayerRecord {
        player: named(first + Key::from(number)),
        number: Some(number),
        position: Some(if number == 1 { "G" } else { "M" }.into()),
        starter: number <= 11,
        country: None,
        captain: number == 2,
    };
    LineUpRecord { formation: Some(formation.into()), players: (1..=12).map(player).collect() }
}

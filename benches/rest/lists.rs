//! Pages of the list of all matches, from the request to the last byte of the response.

use std::{
    io::{Read, Write},
    net::SocketAddr,
    path::Path,
    sync::Arc,
};

use ::history::archive::Archive;
use accounts::Accounts;
use base::clock::now;
use record::{EntityRef, MatchRecord, Names, PlayRecord};
use serde_json::Value;
use tokio::{runtime::Runtime, time::Instant};

use super::{
    Effort, history, length,
    program::{Program, connected, head, median, say},
};

/// The maximum page size.
const LIMIT: usize = 200;
/// Matches written in one batch.
const TOGETHER: u64 = 2_000;

/// The measured lists: a name, and the query string.
const LISTS: [(&str, &str); 9] = [
    ("all", ""),
    ("finished", "&status=finished"),
    ("a competition", "&league_id=7"),
    ("a season", "&season_id=703"),
    ("a team", "&team_id=703"),
    ("a month", "&date_from=2018-03-01&date_to=2018-03-31"),
    ("since 2012", "&date_from=2012-01-01&status=finished"),
    ("a round", "&round=7"),
    ("part of a name", "&team_name=703"),
];

/// Writes this many matches into the archive of this database.
pub(crate) fn fill(db: &Path, matches: u64) {
    Runtime::new().expect("a runtime").block_on(async {
        let accounts = Accounts::open(db).await.expect("it opens");
        let archive = Archive::open(accounts.database()).await.expect("it opens");
        for first in (0..matches).step_by(TOGETHER as usize) {
            let some = first..matches.min(first + TOGETHER);
            let records: Vec<_> = some.map(|number| record(number, matches)).collect();
            archive.put(&records, now()).await.expect("they are stored");
        }
        accounts.close().await;
    });
}

fn record(number: u64, count: u64) -> Arc<MatchRecord> {
    let summary = history::summary(number, count);
    let named = |what: &str, id: u64| EntityRef { id, name: format!("{what} {id}").into() };
    let names = Names {
        competition: summary.competition.map(|id| named("League", id)),
        season: summary.season.map(|id| named("Season", id)),
        sides: summary.sides.map(|sides| sides.map(|id| named("Team", id))),
        venue: summary.venue.map(|id| named("Ground", id)),
        ..Names::default()
    };
    let (refs, prices) = ([("bench".into(), number.to_string().into())].into(), Vec::new());
    Arc::new(MatchRecord {
        summary: summary.into(),
        refs,
        names,
        play: PlayRecord::None,
        prices,
        freshness: None,
    })
}

/// Measures the first page, one in the middle and the last page of each list, in turn.
pub(crate) fn lists(hub: &Program, key: &str, effort: Effort) {
    let path = |query: &str, offset: usize| {
        format!("/api/v2/events/?limit={LIMIT}&offset={offset}{query}")
    };
    let mut pages = Vec::new();
    for (name, query) in LISTS {
        let count = json(hub.address, &path(query, 0), key)["count"].as_u64().expect("a count");
        let count = usize::try_from(count).expect("few");
        let last = count.saturating_sub(LIMIT);
        for (page, offset) in [("first", 0), ("middle", last / 2), ("last", last)] {
            pages.push((format!("{name} ({count}), {page}"), path(query, offset), Vec::new()));
        }
    }
    let mut stream = connected(hub.address);
    for _ in 0..effort.pages {
        for (_, path, took_ms) in &mut pages {
            let begun = Instant::now();
            let body = get(&mut stream, path, key);
            took_ms.push(begun.elapsed().as_secs_f64() * 1e3);
            assert!(body.starts_with(b"{\"count\""), "{}", String::from_utf8_lossy(&body));
        }
    }
    for (name, _, took_ms) in pages {
        let (took_ms, [least, most]) = median(took_ms);
        say(&format!("{name:36} {took_ms:6.2} ms ({least:.2} to {most:.2})"));
    }
}

/// The response at a path.
pub(crate) fn json(address: SocketAddr, path: &str, key: &str) -> Value {
    serde_json::from_slice(&get(&mut connected(address), path, key)).expect("the answer is JSON")
}

fn get(stream: &mut std::net::TcpStream, path: &str, key: &str) -> Vec<u8> {
    let request =
        format!("GET {path} HTTP/1.1\r\nhost: bench\r\nauthorization: Token {key}\r\n\r\n");
    stream.write_all(request.as_bytes()).expect("it is sent");
    let head = head(stream);
    assert!(head.starts_with("HTTP/1.1 200 "), "{head}");
    let mut body = vec![0; length(&head)];
    stream.read_exact(&mut body).expect("the body");
    body
}

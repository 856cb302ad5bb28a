//! Faults of a feed are counted, quarantined and logged once; the valid part is used.

use std::{
    fs::{self, File},
    io::Write,
    path::Path,
    sync::Arc,
};

use flate2::{Compression, write::GzEncoder};
use serde_json::Value;

use crate::support::{
    Client, Hub, Setting, ended,
    feed::{self, Market},
};

const MARKET: Market = Market { event: 30 };

/// A recording that was played to the end.
struct Playback {
    hub: Hub,
    client: Client,
}

/// Plays the file of this name in the folder and follows it to the end.
async fn play(folder: tempfile::TempDir, name: &str, settings: &[Setting]) -> Playback {
    let path = folder.path().join(name);
    let path = path.to_str().expect("a path of text");
    let arguments = ["replay", "--speed", "max", "--hold", path];
    let hub = Hub::start_in_with(Arc::new(folder), &arguments, settings);
    let mut client = Client::connect(&hub.address, &hub.key(&crate::support::ALL_ADDONS)).await;
    client.subscribe("tennis/*/odds/betfair").await;
    client.subscribe("feeds").await;
    client.until(ended).await;
    Playback { hub, client }
}

/// Plays these lines.
async fn play_lines(lines: &[String]) -> Playback {
    let folder = tempfile::tempdir().expect("a temporary folder");
    feed::write(folder.path(), "feed.json", lines);
    play(folder, "feed.json", &[]).await
}

impl Playback {
    /// The refused lines, as in the quarantine: line and kind of each, in order. The counts of the
    /// `feeds` channel and of `/metrics` agree, and the log names each kind once.
    async fn check(&mut self, name: &str, expected: &[(u64, &str)]) {
        let path = self.hub.folder.path().join("hub.db.quarantine.ndjson");
        let text = fs::read_to_string(path).unwrap_or_default();
        let quarantined: Vec<Value> =
            text.lines().map(|line| serde_json::from_str(line).expect("a JSON line")).collect();
        let location = |line: &u64| {
            let file = self.hub.folder.path().join(name);
            format!("{}:{line}", file.display())
        };
        let found: Vec<_> =
            quarantined.iter().map(|it| (text_of(it, "place"), text_of(it, "kind"))).collect();
        let wanted: Vec<_> =
            expected.iter().map(|(line, kind)| (location(line), (*kind).to_owned())).collect();
        assert_eq!(found, wanted, "{text}");
        for line in &quarantined {
            assert!(!text_of(line, "reason").is_empty(), "{line}");
            assert!(line["at"].is_i64() && line["bytes"].is_string(), "{line}");
        }

        let sources = self.client.channels["feeds"].data["sources"].clone();
        let sources = sources.as_object().expect("an object");
        let (source, health) = sources.iter().next().expect("a source");
        assert_eq!(health["quarantined"], expected.len(), "{health}");
        let mut kinds: Vec<&str> = expected.iter().map(|(_, kind)| *kind).collect();
        kinds.sort_unstable();
        for kinds in kinds.chunk_by(|a, b| a == b) {
            let name =
                format!(r#"matchwire_refused_total{{source="{source}",kind="{}"}}"#, kinds[0]);
            assert_eq!(self.hub.metric(&name).await, kinds.len() as f64, "{name}");
        }
        self.hub.stop();
        kinds.dedup();
        let printed = self.hub.printed();
        let refusals = printed.lines().filter(|line| line.contains("message refused"));
        assert_eq!(refusals.count(), kinds.len(), "{printed}");
    }

    /// The last price of runner 7 of a market.
    fn price(&self, market: Market) -> &Value {
        let id = format!("1.{}", market.event);
        let mut books = self.client.channels.values().map(|book| &book.data["markets"][&id]);
        let market = books.find(|market| market.is_object()).expect("the market is known");
        &market["selections"]["7"]["last"]
    }
}

fn text_of(value: &Value, field: &str) -> String {
    value[field].as_str().unwrap_or_else(|| panic!("no {field}: {value}")).to_owned()
}

#[tokio::test]
async fn good_lines_count_among_bad_ones() {
    let late = Market { event: 31 };
    let long = "9".repeat(30);
    let lines = [
        /* 1 */ MARKET.defined("OPEN", 0),
        /* 2 */ MARKET.traded("2.5", 1),
        /* 3 */ "this is no JSON".to_owned(),
        /* 4 */ MARKET.traded("2.6", 2)[..40].to_owned(),
        /* 5 */ r#"{"op":"mcm","pt":1588396480003,"mc":7}"#.to_owned(),
        /* 6 */ late.traded("7.5", 4),
        /* 7 */
        MARKET.traded("2.7", 5).replace(r#""op""#, r#""new":{"deep":[1,null]},"op""#),
        /* 8 */ MARKET.traded(&format!("1.{long}"), 6),
        /* 9 */ MARKET.traded(&long, 7),
        /* 10 */ MARKET.traded("2.8", 3),
        /* 11 */ "[1,2".to_owned(),
        /* 12 */ late.defined("OPEN", 8),
        /* 13 */ late.traded("7.6", 9),
        /* 14 */ MARKET.traded("2.9", 10),
    ];
    let mut played = play_lines(&lines).await;
    assert_eq!((played.price(MARKET), played.price(late)), (&"2.9".into(), &"7.6".into()));
    let expected = [
        (3, "syntax"),
        (4, "truncated"),
        (5, "value"),
        (6, "unknown"),
        (8, "value"),
        (9, "value"),
        (10, "time_backwards"),
        (11, "syntax"),
    ];
    played.check("feed.json", &expected).await;
}

#[tokio::test]
async fn message_with_an_earlier_time_is_still_used() {
    let lines = [MARKET.defined("OPEN", 100), MARKET.traded("2.5", 101), MARKET.traded("2.4", 1)];
    let mut played = play_lines(&lines).await;
    assert_eq!(played.price(MARKET), "2.4");
    played.check("feed.json", &[(3, "time_backwards")]).await;
}

#[tokio::test]
async fn file_that_ends_inside_a_line_counts_up_to_that_line() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let text = [MARKET.defined("OPEN", 0), MARKET.traded("2.5", 1), MARKET.traded("2.6", 2)];
    let text = text.join("\n");
    fs::write(folder.path().join("feed.json"), &text[..text.len() - 20]).expect("a file");
    let mut played = play(folder, "feed.json", &[]).await;
    assert_eq!(played.price(MARKET), "2.5");
    played.check("feed.json", &[(3, "truncated")]).await;
}

#[tokio::test]
async fn truncated_archive_counts_up_to_the_cut() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let lines = MARKET.busy(5_000, 100);
    let mut archive = GzEncoder::new(Vec::new(), Compression::default());
    archive.write_all(lines.join("\n").as_bytes()).expect("a buffer takes all");
    let bytes = archive.finish().expect("a buffer takes all");
    fs::write(folder.path().join("feed.json.gz"), &bytes[..bytes.len() / 2]).expect("a file");
    let mut played = play(folder, "feed.json.gz", &[]).await;
    let price = played.price(MARKET).as_str().expect("a price").to_owned();
    assert!(price.parse::<f64>().is_ok_and(|price| price > 2.0), "{price}");
    let quarantined = fs::read_to_string(played.hub.folder.path().join("hub.db.quarantine.ndjson"));
    let quarantined: Value =
        serde_json::from_str(&quarantined.expect("a quarantine")).expect("one line");
    let location = text_of(&quarantined, "place");
    let (_, line) = location.rsplit_once(':').expect("a place has a line");
    let line: u64 = line.parse().expect("a number");
    assert!((100..5_000).contains(&line), "the cut is at half the file, not at line {line}");
    played.check("feed.json.gz", &[(line, "truncated")]).await;
}

#[tokio::test]
async fn endless_line_is_skipped_in_bounded_memory() {
    const ENDLESS: usize = 128 << 20;
    let folder = tempfile::tempdir().expect("a temporary folder");
    endless(&folder.path().join("feed.json.gz"), ENDLESS);
    let mut played = play(folder, "feed.json.gz", &[("FEEDS_MESSAGE_BYTES_MAX", "65536")]).await;
    assert_eq!(played.price(MARKET), "2.5");
    let peak = played.hub.memory_peak();
    assert!(peak < 80 << 20, "the hub took {peak} bytes");
    played.check("feed.json.gz", &[(2, "too_long")]).await;
}

/// Good lines with one endless line between them.
fn endless(path: &Path, bytes: usize) {
    let file = File::create(path).expect("a file");
    let mut archive = GzEncoder::new(file, Compression::fast());
    writeln!(archive, "{}", MARKET.defined("OPEN", 0)).expect("it takes a line");
    let part = vec![b'x'; 1 << 20];
    for _ in 0..bytes / part.len() {
        archive.write_all(&part).expect("it takes more");
    }
    write!(archive, "\n{}\n", MARKET.traded("2.5", 1)).expect("it takes a line");
    archive.finish().expect("it ends");
}

#[tokio::test]
async fn quarantine_is_bounded_and_counts_go_on() {
    let mut lines = vec![MARKET.defined("OPEN", 0)];
    lines.extend((0..2_000).map(|number| format!("no message, number {number}")));
    lines.push(MARKET.traded("2.5", 1));
    let folder = tempfile::tempdir().expect("a temporary folder");
    feed::write(folder.path(), "feed.json", &lines);
    let played = play(folder, "feed.json", &[("FEEDS_QUARANTINE_BYTES_MAX", "20000")]).await;
    assert_eq!(played.price(MARKET), "2.5");
    let sources = &played.client.channels["feeds"].data["sources"];
    assert_eq!(sources["betfair-stream:feed"]["quarantined"], 2_000);
    let path = |name: &str| played.hub.folder.path().join(name);
    let newest = fs::read_to_string(path("hub.db.quarantine.ndjson")).expect("the newest");
    let older = fs::read_to_string(path("hub.db.quarantine.ndjson.1")).expect("the older");
    assert!(newest.len() + older.len() <= 20_000, "{} and {}", newest.len(), older.len());
    assert!(newest.contains("number 1999"), "the newest remain: {newest}");
}

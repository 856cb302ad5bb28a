//! The older sockets.

use super::*;

/// A log in which these frames were published, one in each record.
fn published(channel: &str, frames: &[String]) -> LogContent {
    let (mut log, mut report) = (LogContent::default(), Report::default());
    for (number, frame) in (1..).zip(frames) {
        let output = Output::Published {
            channel: ChannelId::new(channel),
            epoch: EPOCH,
            prev: number - 1,
            seq: number,
            urgent: false,
            has_events: false,
            payload: frame.clone().into(),
        };
        log.add(
            &Record { number, at: 1, inputs: Bytes::new(), outputs: vec![output] },
            &mut report,
        );
    }
    assert!(report.is_clean(), "{report}");
    log
}

/// A match on the older sockets with frames 1 to 5.
fn live_script() -> (LogContent, Vec<String>) {
    let frames: Vec<String> = (1..=5)
        .map(|seq| {
            let kind = if seq == 3 { "action" } else { "event" };
            let epoch = EPOCH.to_string();
            let rest = json!({"event_id": 7, "score": seq, "epoch": epoch, "seq": seq}).to_string();
            rest.replacen('{', &format!("{{\"type\":\"{kind}\","), 1)
        })
        .collect();
    (published("~football/7", &frames), frames)
}

fn check_live(log: &LogContent, frames: &[String]) -> Report {
    let begun = json!({"type": "subscribed", "event_id": 7, "event": {}, "resumed": false,
        "epoch": EPOCH.to_string(), "seq": 1});
    let mut entries = vec![Entry::Connected, received(&begun.to_string())];
    entries.extend(frames.iter().map(|frame| received(frame)));
    check(&[History { dialect: Dialect::Live, ..history(entries) }], log, 1)
}

#[test]
fn older_sockets_are_checked() {
    let (log, frames) = live_script();
    assert!(check_live(&log, &frames[1..]).is_clean());
    // A later event supersedes it, but nothing supersedes an action.
    assert!(check_live(&log, &frames[2..]).is_clean());
    let report = check_live(&log, &[&frames[1..2], &frames[3..]].concat());
    assert_eq!(report.rules(), [Rule::Gap], "{report}");
    assert!(report.to_string().contains("4 after 2"), "{report}");
    let report = check_live(&log, &[frames[1].clone(), frames[1].clone()]);
    assert_eq!(report.rules(), [Rule::Back], "{report}");
    let changed = frames[1].replace("\"score\":2", "\"score\":3");
    let report = check_live(&log, &[changed]);
    assert_eq!(report.rules(), [Rule::Bytes], "{report}");
    let unknown = frames[4].replace("\"seq\":5", "\"seq\":6");
    let report = check_live(&log, &[&frames[1..], &[unknown]].concat());
    assert_eq!(report.rules(), [Rule::NotInLog], "{report}");
}

/// A client has no position for the prices of a bookmaker: a node that is behind sends the last ones again.
#[test]
fn prices_come_again_on_older_sockets_only_from_another_node() {
    let frames = [1, 2].map(|seq| {
        let epoch = EPOCH.to_string();
        let book = json!({"type": "odds_book", "event_id": 7, "bookmaker_slug": "alpha",
            "epoch": epoch, "seq": seq});
        book.to_string()
    });
    let mut log = published("~football/7/alpha", &frames);
    let [first, second] = frames.map(|frame| received(&frame));
    let check_live = |log: &LogContent, entries: &[&Entry]| {
        let entries = entries.iter().map(|entry| (*entry).clone()).collect();
        check(&[History { dialect: Dialect::Live, ..history(entries) }], log, 1)
    };
    let again = [&Entry::Connected, &first, &second, &Entry::Connected, &second];
    let report = check_live(&log, &again);
    assert_eq!(report.rules(), [Rule::Back], "one hub knows what it has sent: {report}");
    log.seen.push((1, 1));
    assert!(check_live(&log, &again).is_clean());
    let report = check_live(&log, &[&Entry::Connected, &first, &second, &second]);
    assert_eq!(report.rules(), [Rule::Back], "on one connection: {report}");
}

#[test]
fn older_sockets_get_everything_in_the_end() {
    let (mut log, frames) = live_script();
    log.settled_at = i64::MAX;
    let check_settled = |frames: &[String]| {
        let begun = json!({"type": "subscribed", "event_id": 7, "event": {}, "resumed": false,
            "epoch": EPOCH.to_string(), "seq": 1});
        let mut entries = vec![Entry::Connected, received(&begun.to_string())];
        entries.extend(frames.iter().map(|frame| received(frame)));
        entries.push(Entry::Settled);
        check(&[History { dialect: Dialect::Live, ..history(entries) }], &log, 1)
    };
    let report = check_settled(&frames[1..]);
    assert!(report.is_clean(), "{report}");
    let report = check_settled(&frames[1..4]);
    assert_eq!(report.rules(), [Rule::Incomplete], "{report}");
    assert!(report.to_string().contains("at 4 in the end, and the log at 5"), "{report}");
}

#[test]
fn resumes_on_the_older_sockets_are_checked() {
    let (log, frames) = live_script();
    let again = |answer: Value, rest: &[String]| {
        let from = json!({"action": "subscribe", "event_id": 7,
            "from": {"epoch": EPOCH.to_string(), "seq": 2}});
        let begun = json!({"type": "subscribed", "event_id": 7, "resumed": false,
            "epoch": EPOCH.to_string(), "seq": 1});
        let mut entries =
            vec![Entry::Connected, received(&begun.to_string()), received(&frames[1])];
        entries.extend([Entry::Closed(Closing::default()), Entry::Connected]);
        entries.extend([Entry::Sent(from.to_string().into()), received(&answer.to_string())]);
        entries.extend(rest.iter().map(|frame| received(frame)));
        check(&[History { dialect: Dialect::Live, ..history(entries) }], &log, 1)
    };
    let answer = |resumed: bool, epoch: Epoch| {
        json!({"type": "subscribed", "event_id": 7, "resumed": resumed, "epoch": epoch.to_string(),
            "seq": 5})
    };
    let report = again(answer(true, EPOCH), &frames[2..]);
    assert!(report.is_clean(), "{report}");
    let report = again(answer(true, EPOCH), &frames[3..]);
    assert_eq!(report.rules(), [Rule::Gap], "{report}");
    let report = again(answer(false, EPOCH), &[]);
    assert_eq!(report.rules(), [Rule::Live], "{report}");
    let report = again(answer(false, LATER_EPOCH), &[]);
    assert_eq!(report.rules(), [Rule::Epoch], "{report}");
}

#[test]
fn digest_follows_from_the_patch() {
    let mut document = json!({"a": 1, "b": {"c": "x", "d": {"e": [1, 2]}}, "f": {}});
    let patches = [
        json!({"a": 2, "g": {"h": null, "i": {"j": 0}}}),
        json!({"b": {"d": null, "c": null}}),
        json!({"b": 5, "f": null}),
        json!({"b": {"k": true}, "a": [{"x": null}]}),
        json!({}),
        json!({"nothing": null, "g": {"i": {}}}),
    ];
    for patch in patches {
        let before = document::digest(&document);
        let change = document::merge(&mut document, &patch);
        assert_eq!(before.wrapping_add(change), document::digest(&document), "{patch}");
    }
    assert_eq!(document, json!({"a": [{"x": null}], "b": {"k": true}, "g": {"i": {"j": 0}}}));
}

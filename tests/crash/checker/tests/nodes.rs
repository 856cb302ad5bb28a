//! What nodes of a cluster could do wrong: each of them alone looks right.

use super::*;

/// The log, and the frames and images of a leader that was deposed before its last update was in the log. The log has
/// another update of this number, and one more.
fn with_uncommitted(events: &[Value]) -> (Script, Script) {
    let (mut script, mut deposed) = (Script::played(), Script::played());
    deposed.update(&json!({"clock": {"s": 99}}), events);
    script.update(&json!({"clock": {"s": 11}}), &[]);
    script.update(&json!({"clock": {"s": 12}}), &[]);
    (script, deposed)
}

#[test]
fn update_that_was_not_committed_is_found() {
    let (script, deposed) = with_uncommitted(&[]);
    let mut frames = all(&script);
    frames[8] = deposed.nth(11);
    finds(&script, client(&script, &frames), Rule::Bytes, "update 11 is");

    let (script, deposed) = with_uncommitted(&[json!({"kind": "goal", "eid": "g9"})]);
    let mut frames = all(&script);
    frames[8] = deposed.nth(11);
    finds(&script, client(&script, &frames), Rule::Events, "update 11 is");
}

#[test]
fn documents_with_an_update_that_was_not_committed_are_found() {
    let (script, deposed) = with_uncommitted(&[]);
    let mut frames = all(&script);
    frames.splice(7.., [script.merged(9, 11, &json!({"clock": {"s": 99}}))]);
    frames.push(script.nth(12));
    finds(&script, client(&script, &frames), Rule::Document, "after the update from 9 to 11");

    let mut history = client(&script, &[]);
    history.entries[3] = received(&deposed.images[11]);
    history.entries.insert(4, received(&script.nth(12)));
    finds(&script, history, Rule::Document, "its image at");

    let (log, _) = script.log();
    let mut request = fetched(&script, 12);
    (request.body, request.new_tag) =
        (deposed.images[11].as_str().into(), Some(format!("\"{EPOCH}-11\"").into()));
    let entries = vec![Entry::ImageRequest(Box::new(request))];
    let history = History { entries, ..History::new("client 1", Dialect::Rest) };
    let report = check(&[history], &log, 1);
    assert!(report.rules().contains(&Rule::Document), "{report}");
}

#[test]
fn node_that_skipped_a_record_is_found() {
    let script = Script::played();
    // It numbers as the leader does, and its documents lack the fifth change.
    let lacking = script.images[10].replace("\"home\":1", "\"home\":0");
    assert_ne!(lacking, script.images[10]);
    let mut history = client(&script, &[]);
    history.entries[3] = received(&lacking);
    finds(&script, history, Rule::Document, "at /score/home: the log has 1");

    // Its next update is the one after.
    let mut frames = vec![subscribed(EPOCH, 3, true)];
    frames.push(script.nth(5));
    finds(&script, resumed(&script, &frames), Rule::Gap, "update 4 to 5 at 3");

    // It never sends anything again.
    let frames = [subscribed(EPOCH, 3, true)];
    finds(&script, resumed(&script, &frames), Rule::Incomplete, "at 3 in the end");
}

#[test]
fn node_that_applied_a_record_twice_is_found() {
    let script = Script::played();
    let frames = [subscribed(EPOCH, 3, true), script.nth(4), script.nth(4)];
    finds(&script, resumed(&script, &frames), Rule::Back, "update 4 again, at 4");

    // The one that it resumes at sends what the client has from the one before.
    let mut frames = vec![subscribed(EPOCH, 10, true)];
    frames.extend(script.updates[2..].iter().cloned());
    finds(&script, resumed(&script, &frames), Rule::Back, "update 3 again, at 3");

    // As a second update, with a number of its own, and all after it one further.
    let mut frames = all(&script);
    frames.insert(2, frames[1].replace("\"seq\":4,\"prev\":3", "\"seq\":5,\"prev\":4"));
    frames.truncate(3);
    let (log, _) = script.log();
    let mut history = client(&script, &frames);
    history.entries.pop();
    let report = check(&[history], &log, 1);
    assert_eq!(report.rules(), [Rule::Bytes], "{report}");
}

/// The log has lost the updates from the sixth on, and goes on in another epoch. A node that does not notice keeps what
/// it has.
#[test]
fn node_that_keeps_what_the_log_has_lost_is_found() {
    let (script, log) = damaged();
    let lost = Script::played();
    let rules = |frames: &[String]| check(&[resumed(&lost, frames)], &log, 1).rules();
    let told = [subscribed(LATER_EPOCH, 6, false), script.images[6].clone()];
    assert_eq!(rules(&told), []);
    // It goes on with the updates that were shown before they were lost, and with the next one of the log.
    let mut frames = vec![subscribed(EPOCH, 10, true)];
    frames.extend(lost.updates[3..].iter().cloned());
    frames.push(script.updates.last().expect("one after the loss").clone());
    assert_eq!(rules(&frames), [Rule::Back]);
    frames.pop();
    frames.push(script.images[6].clone().replace(&LATER_EPOCH.to_string(), &EPOCH.to_string()));
    assert!(!rules(&frames).is_empty());
    // It has another image in the new epoch.
    let other = lost.images[6].replace(&EPOCH.to_string(), &LATER_EPOCH.to_string());
    assert_eq!(rules(&[subscribed(LATER_EPOCH, 6, false), other]), [Rule::Document]);
    // It goes from the new epoch back to the lost one.
    let mut frames = told.to_vec();
    frames.push(json!({"type": "resync", "ch": CHANNEL, "why": "epoch"}).to_string());
    frames.push(lost.images[10].clone());
    assert_eq!(rules(&frames), [Rule::Epoch]);
}

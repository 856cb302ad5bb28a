//! Resumes and damaged logs.

use super::*;

/// The client of a pattern after three updates and a restart, which sends its position.
fn resumed_pattern(script: &Script, frames: &[String]) -> History {
    let mut history = resumed(script, frames);
    let from = json!({CHANNEL: {"epoch": EPOCH.to_string(), "seq": 3}});
    let command = json!({"op": "subscribe", "id": 1, "ch": "football/*", "from": from});
    let index = history.entries.iter().rposition(|entry| matches!(entry, Entry::Sent(_)));
    history.entries[index.expect("it subscribed")] = Entry::Sent(command.to_string().into());
    history
}

#[test]
fn pattern_that_is_not_resumed_is_found() {
    let script = Script::played();
    let frames = script.updates[3..].to_vec();
    finds_nothing(&script, resumed_pattern(&script, &[&frames[..], &[beat(10)]].concat()));
    // Nothing comes, but the position is confirmed.
    finds(
        &script,
        resumed_pattern(&script, &[beat(3)]),
        Rule::Incomplete,
        "at 3 in the end, and the log at 10",
    );
    finds(&script, resumed_pattern(&script, &[]), Rule::Incomplete, "nothing came after");
}

#[test]
fn position_that_the_client_does_not_have_is_found() {
    let script = Script::played();
    let mut history = resumed(&script, &[]);
    history.entries.truncate(history.entries.len() - 2);
    history.entries.push(subscribe(Some((EPOCH, 9))));
    finds(&script, history, Rule::Unexpected, "the client sends");
}

#[test]
fn resume_in_the_same_epoch_is_clean() {
    let script = Script::played();
    let mut frames = vec![subscribed(EPOCH, 10, true)];
    frames.extend(script.updates[3..].iter().cloned());
    let report = finds_nothing(&script, resumed(&script, &frames));
    assert_eq!(report.counts.resumes, 1);
}

#[test]
fn image_on_resume_is_found() {
    let script = Script::played();
    let frames = [subscribed(EPOCH, 10, false), script.images[10].clone()];
    finds(&script, resumed(&script, &frames), Rule::Image, "is not resumed");
    // Also if the hub does not say so.
    let frames = [subscribed(EPOCH, 10, true), script.images[10].clone()];
    finds(&script, resumed(&script, &frames), Rule::Image, "in place of the updates since 3");
}

#[test]
fn hole_after_resume_is_found() {
    let script = Script::played();
    let mut frames = vec![subscribed(EPOCH, 10, true)];
    frames.extend(script.updates[4..].iter().cloned());
    finds(&script, resumed(&script, &frames), Rule::Gap, "update 4 to 5 at 3");
}

#[test]
fn resume_behind_the_client_is_found() {
    let script = Script::played();
    let frames = [subscribed(EPOCH, 2, true)];
    let (log, _) = script.log();
    let report = check(&[resumed(&script, &frames)], &log, 1);
    assert_eq!(report.rules(), [Rule::Back], "{report}");
}

#[test]
fn epoch_change_without_a_reason_is_found() {
    let script = Script::played();
    let other = script.images[10].replace(&EPOCH.to_string(), &LATER_EPOCH.to_string());
    let frames = [subscribed(LATER_EPOCH, 10, false), other];
    let (log, _) = script.log();
    let report = check(&[resumed(&script, &frames)], &log, 1);
    assert_eq!(report.rules(), [Rule::NotInLog, Rule::Epoch], "{report}");
    assert!(report.to_string().contains("the log says nothing of an end"), "{report}");
}

#[test]
fn damage_begins_another_epoch() {
    let (script, log) = damaged();
    let frames = [subscribed(LATER_EPOCH, 6, false), script.images[6].clone()];
    let report = check(&[resumed(&script, &frames)], &log, 1);
    assert!(report.is_clean(), "{report}");
    assert_eq!(report.counts.epochs, 1);
}

#[test]
fn channel_that_ends_after_a_damage_is_clean() {
    let script = Script::played();
    let (mut log, mut report) = script.log();
    log.lose_after(6);
    let (number, channel) = (20, ChannelId::new(CHANNEL));
    let closed = |epoch| Output::Closed { channel: channel.clone(), epoch };
    let record =
        |epoch| Record { number, at: i64::MAX, inputs: Bytes::new(), outputs: vec![closed(epoch)] };
    log.add(&record(LATER_EPOCH), &mut report);
    assert!(report.is_clean(), "{report}");
    log.add(&Record { number: 21, ..record(EPOCH) }, &mut report);
    assert!(report.to_string().contains("after records were lost"), "{report}");
}

#[test]
fn epoch_that_survives_a_damage_is_found() {
    let script = Script::played();
    let (mut log, mut report) = script.log();
    log.lose_after(6);
    let mut next = script.records[10].clone();
    next.number += 1;
    log.add(&next, &mut report);
    assert_eq!(report.rules(), [Rule::Log], "{report}");
    assert!(report.to_string().contains("after records were lost"), "{report}");
}

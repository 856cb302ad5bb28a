//! Images over HTTP, against the log.

use std::{collections::BTreeMap, time::Duration};

use fanout::{Micros, Seq};
use serde_json::Value;

use super::{
    published::LogContent,
    report::{Report, Rule, time_of_day},
    stream::check_image,
};
use crate::history::{Entry, History, ImageRequest};

/// Checks one client.
pub(crate) fn check(history: &History, log: &LogContent, report: &mut Report) {
    let mut last_seen: BTreeMap<&str, (String, u64)> = BTreeMap::new();
    for entry in &history.entries {
        let Entry::ImageRequest(fetched) = entry else { continue };
        report.counts.frames += 1;
        let mut find = |what: String| {
            let at = time_of_day(fetched.sent_at);
            let (channel, waited) = (&fetched.channel, fetched.waited);
            let what = format_args!("{channel}, sent at {at}, after {waited:.1?}: {what}");
            report.add(Rule::Rest, &history.client, what);
        };
        match fetched.status {
            200 => {
                let frame: Value = serde_json::from_str(&fetched.body).unwrap_or_default();
                for problem in problems(fetched, &frame, log) {
                    find(problem);
                }
                let epoch = frame["epoch"].as_str().unwrap_or_default().to_owned();
                let seq = frame["seq"].as_u64().unwrap_or_default();
                let before = last_seen.insert(&fetched.channel, (epoch.clone(), seq));
                match before {
                    Some((was, from)) if was == epoch && seq < from => {
                        find(format!("at {seq} after {from}"));
                    }
                    Some((was, _)) if was != epoch => {
                        report.counts.epochs += 1;
                        if !log.has_ended(&fetched.channel, &was) {
                            let what = format!(
                                "from {was} to {epoch}, and the log says nothing of an end"
                            );
                            report.add(
                                Rule::Epoch,
                                &history.client,
                                format_args!("{}: {what}", fetched.channel),
                            );
                        }
                    }
                    _ => {}
                }
                report.counts.images += 1;
                report.counts.rest_images += 1;
                if let Some((rule, what)) = check_image(log, &fetched.channel, &frame) {
                    report.add(rule, &history.client, format_args!("{}: {what}", fetched.channel));
                }
            }
            304 if fetched.tag.is_some() => {
                report.counts.not_modified += 1;
                if let Some(what) = not_modified(fetched, log) {
                    report.add(
                        Rule::Rest,
                        &history.client,
                        format_args!("{}: {what}", fetched.channel),
                    );
                }
            }
            404 => {
                if let Some((epoch, _)) = last_seen.remove(&*fetched.channel)
                    && !log.has_ended(&fetched.channel, &epoch)
                {
                    find(format!("404, and the log says nothing of an end of {epoch}"));
                }
            }
            // The hub is starting, stopping, or waits for room in its log.
            503 => {}
            status => find(format!("{status}: {}", fetched.body)),
        }
    }
}

/// How old the answer to a request may be. The hub makes a record some time before it publishes it, and a
/// busy machine can stop it in between.
const STALENESS_MAX_US: Micros = 2_000_000;

/// What is wrong with the confirmation of a tag.
fn not_modified(fetched: &ImageRequest, log: &LogContent) -> Option<String> {
    let tag = fetched.tag.as_deref()?;
    if fetched.new_tag.as_deref().is_some_and(|new| new != tag) {
        return Some(format!("304 with {:?} for {tag}", fetched.new_tag));
    }
    let (epoch, seq) = tag.trim_matches('"').rsplit_once('-')?;
    let seq: Seq = seq.parse().ok()?;
    is_stale(fetched, log, epoch, seq).map(|what| format!("304 for {tag}, {what}"))
}

/// The log was further when the request was sent.
fn is_stale(fetched: &ImageRequest, log: &LogContent, epoch: &str, seq: Seq) -> Option<String> {
    if fetched.is_behind {
        return None;
    }
    let numbering = log.find(&fetched.channel, epoch)?;
    let head = numbering.head_at(log.published_at(fetched.sent_at - STALENESS_MAX_US));
    (seq < head).then(|| format!("and the log was at {head} before the request was sent"))
}

fn problems(fetched: &ImageRequest, frame: &Value, log: &LogContent) -> Vec<String> {
    let mut problems = Vec::new();
    let tag = format!("\"{}-{}\"", frame["epoch"].as_str().unwrap_or_default(), frame["seq"]);
    if fetched.new_tag.as_deref() != Some(&tag) {
        problems.push(format!("the tag {:?} of an image at {tag}", fetched.new_tag));
    }
    if fetched.tag.as_deref() == Some(&tag) {
        problems.push(format!("200 for the tag {tag} that the client has"));
    }
    // Then it waits for five seconds, and returns what there is.
    if let Some(least) = fetched.at_least
        && frame["seq"].as_u64() < Some(least)
        && fetched.waited < Duration::from_millis(4_900)
    {
        problems.push(format!(
            "an image at {}, before the {least} that it was to wait for",
            frame["seq"]
        ));
    }
    let epoch = frame["epoch"].as_str().unwrap_or_default();
    let seq = frame["seq"].as_u64().unwrap_or_default();
    if let Some(what) = is_stale(fetched, log, epoch, seq) {
        problems.push(format!("an image at {seq}, {what}"));
    }
    // It waited in vain, although the log was there in time. The client may have seen the answer later than it came.
    let waited = fetched.waited.min(Duration::from_secs(5));
    let waited = Micros::try_from(waited.as_micros()).unwrap_or_default();
    let in_time = fetched.sent_at + waited - STALENESS_MAX_US;
    if let Some(least) = fetched.at_least
        && seq < least
        && !fetched.is_behind
        && let Some(numbering) = log.find(&fetched.channel, epoch)
        && numbering.head_at(log.published_at(in_time)) >= least
    {
        problems.push(format!("an image at {seq}, and the log had reached {least} in time"));
    }
    if frame["ch"] != *fetched.channel {
        problems.push(format!("the image of {}", frame["ch"]));
    }
    problems
}

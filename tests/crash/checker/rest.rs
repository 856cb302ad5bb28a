//! Images over HTTP, against the log.

use std::{collections::BTreeMap, time::Duration};

use serde_json::Value;

use super::{
    published::LogContent,
    report::{Report, Rule},
    stream::check_image,
};
use crate::history::{Entry, History, ImageRequest};

/// Checks one client.
pub(crate) fn check(history: &History, log: &LogContent, report: &mut Report) {
    let mut known: BTreeMap<&str, (String, u64)> = BTreeMap::new();
    for entry in &history.entries {
        let Entry::ImageRequest(fetched) = entry else { continue };
        report.counts.frames += 1;
        let mut find = |what: String| {
            report.add(Rule::Rest, &history.client, format_args!("{}: {what}", fetched.channel));
        };
        match fetched.status {
            200 => {
                let frame: Value = serde_json::from_str(&fetched.body).unwrap_or_default();
                for problem in problems(fetched, &frame) {
                    find(problem);
                }
                let epoch = frame["epoch"].as_str().unwrap_or_default().to_owned();
                let seq = frame["seq"].as_u64().unwrap_or_default();
                let before = known.insert(&fetched.channel, (epoch.clone(), seq));
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
                if let Some((rule, what)) = check_image(log, &fetched.channel, &frame) {
                    report.add(rule, &history.client, format_args!("{}: {what}", fetched.channel));
                }
            }
            304 if fetched.tag.is_some() => {}
            404 => {
                if let Some((epoch, _)) = known.remove(&*fetched.channel)
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

fn problems(fetched: &ImageRequest, frame: &Value) -> Vec<String> {
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
    if frame["ch"] != *fetched.channel {
        problems.push(format!("the image of {}", frame["ch"]));
    }
    problems
}

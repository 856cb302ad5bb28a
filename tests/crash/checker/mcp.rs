//! Waiting calls over MCP, against the log: each answer has the events between its positions.

use serde_json::Value;

use super::{
    published::LogContent,
    report::{Report, Rule},
};
use crate::history::{Entry, History, WaitCall};

/// Checks one client.
pub(crate) fn check(history: &History, log: &LogContent, report: &mut Report) {
    for entry in &history.entries {
        let Entry::WaitCall(waited) = entry else { continue };
        report.counts.frames += 1;
        report.counts.mcp_answers += u64::from(waited.answer.is_ok());
        for (rule, what) in problems(waited, log) {
            let id = waited.match_id;
            report.add(
                rule,
                &history.client,
                format_args!("match {id} since {}: {what}", waited.since),
            );
        }
    }
}

fn problems(waited: &WaitCall, log: &LogContent) -> Vec<(Rule, String)> {
    let mut problems = Vec::new();
    let answer = match &waited.answer {
        Ok(answer) => answer,
        Err(error) => {
            // The match has been evicted, or the hub is starting or stopping.
            let is_unknown =
                ["not_found", "not_live", "ended"].iter().any(|code| error.contains(code));
            let is_gone = is_unknown && log.was_ever_over(&waited.channel());
            if !is_gone && !error.contains("unavailable") {
                problems.push((Rule::Unexpected, error.clone()));
            }
            return problems;
        }
    };
    let data = &answer["data"];
    for (channel, position) in waited.since.as_object().into_iter().flatten() {
        let epoch = position["epoch"].as_str().unwrap_or_default();
        if data["positions"][channel].is_null() && !log.has_ended(channel, epoch) {
            let what = format!("{channel}: no position, and the log says nothing of an end");
            problems.push((Rule::Incomplete, what));
        }
    }
    let positions = data["positions"].as_object().into_iter().flatten();
    let mut lost = false;
    for (channel, position) in positions {
        let since = &waited.since[channel];
        let (Some(epoch), Some(seq)) = (position["epoch"].as_str(), position["seq"].as_u64())
        else {
            problems.push((Rule::Unexpected, format!("{channel}: the position {position}")));
            continue;
        };
        let Some(numbering) = log.find(channel, epoch) else {
            if !log.was_damaged() {
                problems.push((Rule::NotInLog, format!("{channel}: the epoch {epoch}")));
            }
            lost = true;
            continue;
        };
        if seq > numbering.head() {
            let head = numbering.head();
            problems
                .push((Rule::NotInLog, format!("{channel}: {seq}, and the log ends at {head}")));
            continue;
        }
        let (Some(was), Some(from)) = (since["epoch"].as_str(), since["seq"].as_u64()) else {
            continue;
        };
        if was != epoch {
            lost = true;
            if !log.has_ended(channel, was) {
                let what =
                    format!("{channel}: from {was} to {epoch}, and the log says nothing of an end");
                problems.push((Rule::Epoch, what));
            }
            continue;
        }
        if log.has_short_tails && !data["missed"][channel].is_null() {
            continue;
        }
        if seq < from {
            problems.push((Rule::Back, format!("{channel}: {seq} after {from}")));
            continue;
        }
        let logged: Vec<String> = numbering
            .updates(from, seq)
            .iter()
            .filter(|update| update.events > 0)
            .flat_map(|update| {
                let frame: Value =
                    serde_json::from_slice(&update.payload).expect("checked when added");
                frame["events"].as_array().cloned().unwrap_or_default()
            })
            .map(|event| event["eid"].as_str().unwrap_or_default().to_owned())
            .collect();
        let seen = data["events"].as_array().into_iter().flatten();
        let seen = seen.filter(|event| event["channel"] == **channel);
        let seen: Vec<&str> = seen.filter_map(|event| event["eid"].as_str()).collect();
        if seen != logged {
            let what = format!(
                "{channel}: the events {seen:?} from {from} to {seq}, in the log {logged:?}"
            );
            problems.push((Rule::Events, what));
        }
    }
    if !lost && !log.has_short_tails && !data["missed"].is_null() {
        problems.push((Rule::Resync, format!("missed {}", data["missed"])));
    }
    problems
}

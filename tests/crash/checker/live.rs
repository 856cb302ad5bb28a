//! What a client of the older sockets saw, against the log.

use std::{collections::BTreeMap, sync::Arc};

use fanout::Seq;
use serde_json::Value;

use super::{
    published::{LogContent, live_channel},
    report::{Report, Rule},
};
use crate::history::{Entry, History};

/// How many frames of a match the hub keeps for resumes.
const TAIL_FRAMES: u64 = 256;

/// A match, or the prices of a bookmaker, as a client has it.
#[derive(Debug, Clone)]
struct ClientChannel {
    epoch: String,
    seq: Seq,
    /// The last frame of each kind that later ones supersede, or what includes it.
    superseding: [Seq; SUPERSEDED.len()],
    /// The client has subscribed on this connection.
    is_subscribed: bool,
    /// A frame of it has come on this connection.
    has_come: bool,
}

impl ClientChannel {
    fn at(epoch: &str, seq: Seq) -> Self {
        let superseding = [seq; SUPERSEDED.len()];
        Self { epoch: epoch.to_owned(), seq, superseding, is_subscribed: false, has_come: true }
    }
}

/// The beginnings of frames that a later one of their kind supersedes.
const SUPERSEDED: [&str; 3] =
    [r#"{"type":"event","#, r#"{"type":"livedata","#, r#"{"type":"odds","#];

/// Checks one client.
pub(crate) fn check(history: &History, log: &LogContent, report: &mut Report) {
    let mut followed = BTreeMap::new();
    let mut resuming: BTreeMap<u64, (String, Seq)> = BTreeMap::new();
    for entry in &history.entries {
        match entry {
            Entry::Connected => {
                resuming.clear();
                for state in followed.values_mut() {
                    let state: &mut ClientChannel = state;
                    (state.is_subscribed, state.has_come) = (false, false);
                }
            }
            Entry::Sent(text) => {
                let command: Value = serde_json::from_str(text).unwrap_or_default();
                let from = &command["from"];
                if let (Some(id), Some(epoch), Some(seq)) =
                    (command["event_id"].as_u64(), from["epoch"].as_str(), from["seq"].as_u64())
                {
                    resuming.insert(id, (epoch.to_owned(), seq));
                }
            }
            Entry::Received(text) => {
                report.counts.frames += 1;
                let frame: Value = serde_json::from_str(text).unwrap_or_default();
                if let Some((rule, what)) =
                    received(history, log, &mut followed, &mut resuming, &frame, text, report)
                {
                    report.add(rule, &history.client, what);
                }
            }
            Entry::Settled => settled(history, log, &followed, report),
            Entry::Closed(_) | Entry::ImageRequest(_) | Entry::WaitCall(_) => {}
        }
    }
}

/// The client has had time to read everything.
fn settled(
    history: &History,
    log: &LogContent,
    followed: &BTreeMap<String, ClientChannel>,
    report: &mut Report,
) {
    for (channel, state) in followed.iter().filter(|(_, state)| state.is_subscribed) {
        // A match that went on in another epoch meanwhile counts as reached: the client cannot tell which is newer, and may
        // have read neither to its end.
        if log.has_ended(channel, &state.epoch) {
            continue;
        }
        let Some(numbering) = log.find(channel, &state.epoch) else { continue };
        let head = numbering.head_at(log.settled_at);
        if state.seq < head {
            let what =
                format_args!("{channel}: at {} in the end, and the log at {head}", state.seq);
            report.add(Rule::Incomplete, &history.client, what);
            continue;
        }
        for (kind, has) in SUPERSEDED.iter().zip(state.superseding) {
            let missing = numbering.updates(has, head).iter().enumerate();
            let last = missing.filter(|(_, it)| it.payload.starts_with(kind.as_bytes())).last();
            if let Some((index, last)) = last {
                let seq = has + 1 + index as Seq;
                let last = String::from_utf8_lossy(&last.payload);
                let what = format_args!("{channel}: without {seq}, the last of its kind: {last}");
                report.add(Rule::Incomplete, &history.client, what);
            }
        }
    }
}

fn received(
    history: &History,
    log: &LogContent,
    followed: &mut BTreeMap<String, ClientChannel>,
    resuming: &mut BTreeMap<u64, (String, Seq)>,
    frame: &Value,
    text: &Arc<str>,
    report: &mut Report,
) -> Option<(Rule, String)> {
    let kind = frame["type"].as_str().unwrap_or_default();
    let id = frame["event_id"].as_u64();
    let (epoch, seq) = (frame["epoch"].as_str().unwrap_or_default(), frame["seq"].as_u64());
    let sport =
        frame["sport"].as_str().or_else(|| frame["event"]["sport"].as_str()).unwrap_or("football");
    let unexpected = || Some((Rule::Unexpected, text.to_string()));
    match kind {
        "pong" => None,
        "error" if frame["code"] == "not_tracked" || frame["code"] == "unknown_bookmaker" => None,
        "unsubscribed" => {
            let gone = live_channel(sport, id?, None);
            let state = followed.remove(&gone);
            let books = format!("{gone}/");
            followed.retain(|name, _| !name.starts_with(&books));
            let ended = state.is_none_or(|state| log.has_ended(&gone, &state.epoch));
            if ended { None } else { unexpected() }
        }
        "subscribed" => {
            let (id, Some(seq)) = (id?, seq) else { return unexpected() };
            let channel = live_channel(sport, id, None);
            let asked = resuming.remove(&id);
            report.counts.resumes += u64::from(asked.is_some());
            if frame["resumed"] != true {
                report.counts.images += 1;
                let now = ClientChannel { is_subscribed: true, ..ClientChannel::at(epoch, seq) };
                followed.insert(channel.clone(), now);
                let (was, from) = asked?;
                return if was == epoch {
                    let is_long_ago = frame["why"] == "window"
                        && (seq > from + TAIL_FRAMES || log.has_short_tails);
                    (!history.may_skip && !is_long_ago).then(|| {
                        let why = &frame["why"];
                        (
                            Rule::Live,
                            format!("{channel}: {was} {from} is not resumed at {seq}: {why}"),
                        )
                    })
                } else {
                    report.counts.epochs += 1;
                    let what = || {
                        format!(
                            "{channel}: from {was} to {epoch}, and the log says nothing of an end"
                        )
                    };
                    (!log.has_ended(&channel, &was)).then(|| (Rule::Epoch, what()))
                };
            }
            match asked {
                Some((was, _)) if was != epoch => {
                    Some((Rule::Epoch, format!("{channel}: resumed in {epoch} from {was}")))
                }
                Some(_) => {
                    if let Some(state) = followed.get_mut(&channel) {
                        state.is_subscribed = true;
                    }
                    None
                }
                None if history.may_skip => None,
                None => unexpected(),
            }
        }
        _ => {
            let (id, Some(seq)) = (id?, seq) else { return unexpected() };
            let book = (kind == "odds_book").then(|| frame["bookmaker_slug"].as_str()).flatten();
            let channel = live_channel(sport, id, book);
            let Some(state) = followed.get_mut(&channel) else {
                // The prices of a bookmaker have numbers of their own, which begin with the first frame.
                followed.insert(channel.clone(), ClientChannel::at(epoch, seq));
                return in_log(log, &channel, epoch, seq, text);
            };
            if state.epoch != epoch {
                let is_subscribed = state.is_subscribed;
                let now = ClientChannel { is_subscribed, ..ClientChannel::at(epoch, seq) };
                let was = std::mem::replace(state, now);
                return (book.is_none() && !log.has_ended(&channel, &was.epoch)).then(|| {
                    let was = was.epoch;
                    (Rule::Epoch, format!("{channel}: from {was} to {epoch} without a snapshot"))
                });
            }
            let before = std::mem::replace(&mut state.seq, seq);
            let is_first = !std::mem::replace(&mut state.has_come, true);
            // A client has no position for the prices of a bookmaker, so a node that is behind the one before sends
            // the last ones again.
            let is_of_node_behind = is_first && book.is_some() && !log.seen.is_empty();
            if seq <= before && !is_of_node_behind {
                return Some((Rule::Back, format!("{channel}: {seq} after {before}: {text}")));
            }
            if let Some(kind) = SUPERSEDED.iter().position(|kind| text.starts_with(kind)) {
                state.superseding[kind] = seq;
            }
            if seq != before + 1 && book.is_none() {
                let Some(numbering) = log.find(&channel, epoch) else {
                    return in_log(log, &channel, epoch, seq, text);
                };
                let later = numbering.updates(seq - 1, numbering.head());
                // A client that is slow for a moment, or for which a suspension goes before other frames, is
                // not sent what later frames supersede.
                let is_superseded = |frame: &[u8]| {
                    let kind = SUPERSEDED.iter().find(|kind| frame.starts_with(kind.as_bytes()));
                    kind.is_some_and(|kind| {
                        later.iter().any(|it| it.payload.starts_with(kind.as_bytes()))
                    })
                };
                let mut missing = numbering.updates(before, seq - 1).iter();
                if let Some(wrong) = missing.find(|it| !is_superseded(&it.payload)) {
                    let wrong = String::from_utf8_lossy(&wrong.payload);
                    let what = format!("{channel}: {seq} after {before}: {text}, without {wrong}");
                    return Some((Rule::Gap, what));
                }
            }
            in_log(log, &channel, epoch, seq, text)
        }
    }
}

fn in_log(
    log: &LogContent,
    channel: &str,
    epoch: &str,
    seq: Seq,
    text: &str,
) -> Option<(Rule, String)> {
    let Some(logged) = log.find(channel, epoch).and_then(|it| it.update(seq)) else {
        return Some((Rule::NotInLog, format!("{channel}: {text}")));
    };
    (logged.payload != text.as_bytes()).then(|| {
        let logged = String::from_utf8_lossy(&logged.payload);
        (Rule::Bytes, format!("{channel}: {text}, in the log {logged}"))
    })
}

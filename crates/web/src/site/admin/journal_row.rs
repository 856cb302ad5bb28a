//! An entry of a socket's journal, in words: what happened, and why.

use fanout::inspect::{Behind, JournalEntry, JournalEvent};

use super::units::{bytes, count, count_of, span};
use crate::site::Moment;

#[derive(Debug, PartialEq, Eq)]
pub(super) struct JournalRow {
    pub(super) at: Moment,
    pub(super) channel: String,
    pub(super) what: &'static str,
    /// The class of the chip around `what`.
    pub(super) tone: &'static str,
    pub(super) why: String,
}

impl JournalRow {
    pub(super) fn new(entry: &JournalEntry) -> Self {
        let (what, tone, why) = describe(&entry.event);
        let channel = entry.channel.as_ref().map(ToString::to_string).unwrap_or_default();
        Self { at: Moment::millisecond(entry.at), channel, what, tone, why }
    }
}

fn describe(event: &JournalEvent) -> (&'static str, &'static str, String) {
    match event {
        JournalEvent::Subscribed { rate, head, from } => {
            let rate = match rate.every_ms() {
                0 => "each change".to_owned(),
                ms => format!("at most one update every {ms} ms"),
            };
            let (tone, start) = match from {
                None => ("", "starts with the image".to_owned()),
                Some((seq, Ok(()))) => {
                    let missed = count(head.saturating_sub(*seq), "change");
                    ("", format!("resumes from {seq}, {missed} back"))
                }
                Some((seq, Err(why))) => (
                    "warn",
                    format!("cannot resume from {seq}: {}; starts with the image", gap(why)),
                ),
            };
            ("Subscribed", tone, format!("{rate}; {start}; the channel is at {head}"))
        }
        JournalEvent::SubscribedAll { pattern, channels } => {
            ("Subscribed", "", format!("{pattern} covers {}", count_of(*channels, "channel")))
        }
        JournalEvent::Image { seq, bytes: size, why } => {
            let why = match *why {
                "slow" => "the client was too slow, and gets images in that case, as it requested",
                "rate" => "its options changed",
                "new" => "the channel has opened",
                _ => "it had no position from which it could resume",
            };
            ("Image queued", "", format!("{} at {seq}: {why}", bytes(*size)))
        }
        JournalEvent::CaughtUp { from, to, frames, bytes: size, why } => {
            let changes = count(to.saturating_sub(*from), "change");
            let (frames, size) = (count_of(*frames, "frame"), bytes(*size));
            let (what, tone, why) = match *why {
                "slow" => {
                    ("Merged", "warn", "there was no room for them while the client was slow")
                }
                "rate" => ("Caught up", "", "its options changed"),
                _ => ("Resumed", "", "they were published while it was away or joined"),
            };
            let led = format!("{changes} from {from} to {to} in {frames}, {size}: {why}");
            (what, tone, led)
        }
        JournalEvent::Sent { prev, seq, rate, bytes: size, delay_us } => {
            let changes = seq.saturating_sub(*prev);
            let merged = match rate.every_ms() {
                0 if changes > 1 => format!("; {changes} changes that the hub published as one"),
                ms if ms > 0 && changes > 1 => {
                    format!("; {changes} changes merged, because it takes one update every {ms} ms")
                }
                _ => String::new(),
            };
            let delay = delay_us.map(|us| format!(", {} after it was published", span(us)));
            let what = if changes > 1 { "Update sent, merged" } else { "Update sent" };
            let delay = delay.unwrap_or_default();
            (what, "", format!("{seq}, {}{delay}{merged}", bytes(*size)))
        }
        JournalEvent::Queued { seq, bytes: size, waiting_bytes, waiting_us } => {
            let before = match waiting_bytes {
                0 => "nothing waits before it".to_owned(),
                waiting => {
                    format!("{} wait before it, for up to {}", bytes(*waiting), span(*waiting_us))
                }
            };
            ("Update queued", "warn", format!("{seq}, {}: {before}", bytes(*size)))
        }
        JournalEvent::FellBehind { at, why } => {
            let at = at.map(|seq| format!(" at {seq}")).unwrap_or_default();
            let (tone, why) = behind(*why);
            ("Fell behind", tone, format!("stands{at} until the hub leads it on: {why}"))
        }
        JournalEvent::Flushed { bytes: size, left, waited_us } => {
            let size = bytes(*size);
            let why = format!(
                "{size} that had waited for up to {}; {} left",
                span(*waited_us),
                bytes(*left)
            );
            ("Queue written", "", why)
        }
        JournalEvent::SocketFull { waiting_bytes } => {
            let waiting = bytes(*waiting_bytes);
            ("Socket full", "bad", format!("the client does not read fast enough: {waiting} wait"))
        }
        JournalEvent::KeepsUp { after_us, merged } => {
            let (after, merged) = (span(*after_us), count(*merged, "change"));
            ("Keeps up again", "live", format!("after {after}; {merged} reached it merged"))
        }
        JournalEvent::Resync { why, from, to } => {
            let why = match *why {
                "slow" => "it was too slow, and gets images in that case, as it requested",
                "epoch" => "the channel has begun a new epoch",
                _ => "its position is older than the hub's memory",
            };
            (
                "Resync",
                "bad",
                format!("changes from {from} to {to} are replaced by the image: {why}"),
            )
        }
        JournalEvent::Lag { waiting_bytes, waiting_us } => {
            let (waiting, age) = (bytes(*waiting_bytes), span(*waiting_us));
            (
                "Lag reported",
                "",
                format!("the client was told that {waiting} wait, for up to {age}"),
            )
        }
        JournalEvent::Stale => {
            ("Stale", "bad", "nothing new can be known: the log takes no records".to_owned())
        }
        JournalEvent::BeatSkipped => {
            ("Beat left out", "warn", "more than half of its room is in use".to_owned())
        }
        JournalEvent::Unsubscribed => ("Unsubscribed", "", "by the client".to_owned()),
        JournalEvent::Ended => ("Channel ended", "", "the hub has closed it".to_owned()),
        JournalEvent::Refused { code, message } => {
            ("Command refused", "warn", format!("{code}: {message}"))
        }
        JournalEvent::Overflow => {
            let why = "the shard was too busy: updates for all its sockets were dropped, and are caught up merged";
            ("Shard overrun", "bad", why.to_owned())
        }
        JournalEvent::Closed { code, reason, by_client } => {
            let by = if *by_client { "the client" } else { "the hub" };
            let tone = if *by_client { "" } else { "bad" };
            ("Closed", tone, format!("by {by}: {code} {reason}"))
        }
        JournalEvent::Disconnected { waiting_bytes } => {
            let waiting = bytes(*waiting_bytes);
            (
                "Disconnected",
                "bad",
                format!("the connection ended without a close; {waiting} waited"),
            )
        }
    }
}

fn gap(why: &str) -> &'static str {
    match why {
        "window" => "the position is older than the hub's memory",
        "epoch" => "the channel has begun a new epoch",
        _ => "the position is ahead of the channel",
    }
}

fn behind(why: Behind) -> (&'static str, String) {
    match why {
        Behind::Bytes { waiting_bytes } => {
            ("bad", format!("the socket is full, and {} wait already", bytes(waiting_bytes)))
        }
        Behind::Age { waiting_us } => {
            ("bad", format!("the oldest frame has waited for {} already", span(waiting_us)))
        }
        Behind::Gap => ("", "it joined while changes were published".to_owned()),
        Behind::Suspended => {
            ("warn", "a suspension goes first, merged with what was queued".to_owned())
        }
        Behind::After => ("warn", "it comes after the other channels, which are behind".to_owned()),
        Behind::Options => ("", "the client changed its rate or its pick".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use fanout::{ChannelId, channel::Rate};

    use super::*;

    fn check(event: JournalEvent, what: &str, tone: &str, why: &str) {
        let channel = Some(ChannelId::new("football/1"));
        let row = JournalRow::new(&JournalEntry { at: 1_795_356_300_123_456, channel, event });
        assert_eq!((row.what, row.tone, &*row.why), (what, tone, why));
        assert_eq!(row.at.text, "14:05:00.123");
    }

    #[test]
    fn each_merge_stall_and_resume_has_its_reason() {
        let sent =
            |prev, rate| JournalEvent::Sent { prev, seq: 9, rate, bytes: 100, delay_us: Some(900) };
        check(sent(8, Rate::Each), "Update sent", "", "9, 100 B, 900 µs after it was published");
        check(
            sent(4, Rate::Ms500),
            "Update sent, merged",
            "",
            "9, 100 B, 900 µs after it was published; 5 changes merged, because it takes one update every 500 ms",
        );
        check(
            JournalEvent::CaughtUp { from: 3, to: 90, frames: 2, bytes: 2_048, why: "slow" },
            "Merged",
            "warn",
            "87 changes from 3 to 90 in 2 frames, 2.0 KiB: there was no room for them while the client was slow",
        );
        check(
            JournalEvent::FellBehind { at: Some(3), why: Behind::Bytes { waiting_bytes: 65_536 } },
            "Fell behind",
            "bad",
            "stands at 3 until the hub leads it on: the socket is full, and 64.0 KiB wait already",
        );
        check(
            JournalEvent::Subscribed { rate: Rate::Each, head: 20, from: Some((8, Ok(()))) },
            "Subscribed",
            "",
            "each change; resumes from 8, 12 changes back; the channel is at 20",
        );
        check(
            JournalEvent::Subscribed { rate: Rate::Each, head: 20, from: Some((8, Err("epoch"))) },
            "Subscribed",
            "warn",
            "each change; cannot resume from 8: the channel has begun a new epoch; starts with the image; the channel is at 20",
        );
        check(
            JournalEvent::Closed { code: 4508, reason: "slow", by_client: false },
            "Closed",
            "bad",
            "by the hub: 4508 slow",
        );
    }
}

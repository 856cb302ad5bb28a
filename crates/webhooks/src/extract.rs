//! Finds the events of records that webhooks can be about.
//!
//! Most are events of the stream. Three kinds are not: that a match has ended, which its document says, that a source is down
//! or live again, which the document of `feeds` says, and that a price meets a condition, for which prices are found here.

use std::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet, HashMap},
    str,
};

use base::Micros;
use fanout::{ChannelId, Epoch, channel::is_test};
use log::record::{Output, Record};
use rust_decimal::Decimal;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;

use crate::{BookPrices, Event, EventKind, PriceUpdate, SelectionPrice};

const FEEDS: &str = "feeds";
/// How long before the record behind which reading began a state of a source may have begun, to be found as a new one. A state
/// that began later is in a record behind that one, because no input is older than the records before it; the rest is for
/// clocks. What is found twice within this time is stored once.
const FEEDS_MARGIN_US: Micros = 5_000_000;
/// What the patch contains when a match ends.
const ENDED: &str = r#""life":"ended""#;

/// Finds events in records that come in order.
#[derive(Debug)]
pub struct Extractor {
    /// When the record was made behind which it began.
    from: Micros,
    /// Since when each source has been in its state, as of the last event about it: every change of its document repeats the
    /// state.
    feeds: HashMap<String, Micros>,
}

/// An update, as far as it matters here.
#[derive(Debug, Deserialize)]
struct Update<'a> {
    #[serde(borrow, default)]
    events: Vec<&'a RawValue>,
    #[serde(borrow)]
    patch: Option<&'a RawValue>,
}

#[derive(Debug, Deserialize)]
struct EventHead<'a> {
    #[serde(borrow)]
    kind: Cow<'a, str>,
    #[serde(borrow)]
    eid: Cow<'a, str>,
}

/// The patch of a match.
#[derive(Debug, Deserialize)]
struct MatchPatch<'a> {
    #[serde(borrow)]
    life: Option<Cow<'a, str>>,
    #[serde(borrow)]
    status: Option<Cow<'a, str>>,
}

/// An image or an update of a channel with odds.
#[derive(Debug, Deserialize)]
struct BookFrame<'a> {
    #[serde(borrow)]
    data: Option<BookPatch<'a>>,
    #[serde(borrow)]
    patch: Option<BookPatch<'a>>,
}

/// What changes of a book, or all of it.
#[derive(Debug, Deserialize)]
struct BookPatch<'a> {
    /// `None` for a market that is gone.
    #[serde(borrow, default)]
    markets: BTreeMap<Cow<'a, str>, Option<MarketPatch<'a>>>,
}

#[derive(Debug, Deserialize)]
struct MarketPatch<'a> {
    #[serde(borrow, default)]
    selections: BTreeMap<Cow<'a, str>, Option<SelectionPatch<'a>>>,
}

#[derive(Debug, Deserialize)]
struct SelectionPatch<'a> {
    /// The outer `None`: unchanged.
    #[serde(default, deserialize_with = "some")]
    price: Option<Option<Decimal>>,
    /// Whose price it is, in the consensus.
    #[serde(borrow)]
    best: Option<Cow<'a, str>>,
}

/// Distinguishes null from nothing.
fn some<'de, D: Deserializer<'de>>(value: D) -> Result<Option<Option<Decimal>>, D::Error> {
    Option::deserialize(value).map(Some)
}

/// The patch of `feeds`.
#[derive(Debug, Deserialize)]
struct FeedsPatch<'a> {
    /// `None` for a source that is gone.
    #[serde(borrow, default)]
    sources: BTreeMap<Cow<'a, str>, Option<SourcePatch<'a>>>,
}

#[derive(Debug, Deserialize)]
struct SourcePatch<'a> {
    #[serde(borrow)]
    state: Option<Cow<'a, str>>,
    #[serde(borrow)]
    why: Option<Cow<'a, str>>,
    since: Option<Micros>,
    #[serde(default)]
    ended: bool,
}

/// That a match has ended, in the form of an event.
#[derive(Debug, Serialize)]
struct MatchEnd<'a> {
    kind: EventKindName,
    eid: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<&'a str>,
}

/// That a source has another state.
#[derive(Debug, Serialize)]
struct FeedChange<'a> {
    kind: EventKindName,
    eid: &'a str,
    source: &'a str,
    state: &'a str,
    since: Micros,
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<&'a str>,
}

/// Serialised as its name.
#[derive(Debug, Clone, Copy)]
struct EventKindName(EventKind);

impl Serialize for EventKindName {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.0.as_str())
    }
}

impl Extractor {
    /// `from`: when the record was made behind which it begins.
    pub fn new(from: Micros) -> Self {
        Self { from, feeds: HashMap::new() }
    }

    /// Adds the prices of channels with odds, for those that are followed.
    pub fn extract_prices(
        record: &Record,
        follows: impl Fn(&ChannelId) -> bool,
        updates: &mut Vec<PriceUpdate>,
    ) {
        for output in &record.outputs {
            let channel = output.channel();
            if !is_odds(channel) || is_test(channel.as_str()) || !follows(channel) {
                continue;
            }
            let (epoch, seq, book) = match output {
                Output::Opened { epoch, seq, payload, .. }
                | Output::Published { epoch, seq, payload, .. } => {
                    let Some(book) = prices(payload) else { continue };
                    (*epoch, *seq, Some(book))
                }
                Output::Closed { epoch, .. } => (*epoch, 0, None),
            };
            if matches!(output, Output::Opened { .. }) {
                // A book that another source takes over closes and opens at once.
                updates.retain(|update| update.book.is_some() || update.channel != *channel);
            }
            updates.push(PriceUpdate { channel: channel.clone(), epoch, seq, at: record.at, book });
        }
    }

    /// Adds the events of these kinds in a record.
    pub fn extract(
        &mut self,
        record: &Record,
        kinds: &BTreeSet<EventKind>,
        events: &mut Vec<Event>,
    ) {
        let wants_ends = kinds.contains(&EventKind::MatchEnd);
        let wants_feeds =
            kinds.contains(&EventKind::FeedDown) || kinds.contains(&EventKind::FeedUp);
        for output in &record.outputs {
            let Output::Published { channel, epoch, seq, has_events, payload, .. } = output else {
                continue;
            };
            let may_end = wants_ends && is_match(channel);
            let is_feeds = wants_feeds && channel.as_str() == FEEDS;
            if !(*has_events || may_end || is_feeds) || is_test(channel.as_str()) {
                continue;
            }
            let Ok(text) = str::from_utf8(payload) else { continue };
            let update = UpdateText { channel, epoch: *epoch, seq: *seq, at: record.at, text };
            if *has_events {
                update.add_events(kinds, events);
            }
            if may_end && text.contains(ENDED) {
                events.extend(update.end());
            }
            if is_feeds {
                self.add_feed_changes(&update, kinds, events);
            }
        }
    }

    fn add_feed_changes(
        &mut self,
        update: &UpdateText<'_>,
        kinds: &BTreeSet<EventKind>,
        events: &mut Vec<Event>,
    ) {
        let Some(patch) = update.patch::<FeedsPatch<'_>>() else { return };
        for (name, source) in patch.sources {
            let Some(SourcePatch { state: Some(state), why, since: Some(since), ended }) = source
            else {
                continue;
            };
            let kind = match &*state {
                "live" => EventKind::FeedUp,
                // The end of a recording is no fault.
                "late" | "down" if !ended => EventKind::FeedDown,
                _ => continue,
            };
            let is_known = self.feeds.insert(name.to_string(), since) == Some(since);
            // It was found by an earlier reading, or at a time when no webhook was about it.
            let is_old = since < self.from.saturating_sub(FEEDS_MARGIN_US);
            if is_known || is_old || !kinds.contains(&kind) {
                continue;
            }
            let eid = format!("{name}:{since}");
            let change = FeedChange {
                kind: EventKindName(kind),
                eid: &eid,
                source: &name,
                state: &state,
                since,
                why: why.as_deref(),
            };
            events.push(Event { at: since, ..update.event(kind, &eid, &change) });
        }
    }
}

/// A published update.
struct UpdateText<'a> {
    channel: &'a ChannelId,
    epoch: Epoch,
    seq: u64,
    at: Micros,
    text: &'a str,
}

impl UpdateText<'_> {
    /// The events of the stream.
    fn add_events(&self, kinds: &BTreeSet<EventKind>, events: &mut Vec<Event>) {
        let Ok(update) = serde_json::from_str::<Update<'_>>(self.text) else { return };
        for json in update.events {
            let Ok(EventHead { kind, eid }) = serde_json::from_str(json.get()) else { continue };
            let Some(kind) = kind.parse().ok().filter(|kind| kinds.contains(kind)) else {
                continue;
            };
            events.push(Event {
                kind,
                channel: self.channel.clone(),
                epoch: self.epoch,
                eid: eid.into_owned(),
                at: self.at,
                json: json.to_owned(),
            });
        }
    }

    /// The end of a match, if this is it.
    fn end(&self) -> Option<Event> {
        let patch = self.patch::<MatchPatch<'_>>()?;
        let (kind, eid) = (EventKind::MatchEnd, format!("end-{}", self.seq));
        let (name, status) = (EventKindName(kind), patch.status.as_deref());
        let end = MatchEnd { kind: name, eid: &eid, status };
        (patch.life.as_deref() == Some("ended")).then(|| self.event(kind, &eid, &end))
    }

    fn patch<'a, T: Deserialize<'a>>(&'a self) -> Option<T> {
        let update: Update<'a> = serde_json::from_str(self.text).ok()?;
        serde_json::from_str(update.patch?.get()).ok()
    }

    fn event(&self, kind: EventKind, eid: &str, json: &impl Serialize) -> Event {
        let json = serde_json::value::to_raw_value(json).expect("words and numbers can be written");
        Event {
            kind,
            channel: self.channel.clone(),
            epoch: self.epoch,
            eid: eid.to_owned(),
            at: self.at,
            json,
        }
    }
}

/// What an image or an update says about prices; `None` if nothing.
fn prices(payload: &[u8]) -> Option<BookPrices> {
    let text = str::from_utf8(payload).ok()?;
    if !text.contains(r#""price":"#) && !text.contains(":null") && !text.contains(r#""data":"#) {
        return None;
    }
    let BookFrame { data, patch } = serde_json::from_str(text).ok()?;
    let mut book = BookPrices { is_whole: data.is_some(), ..BookPrices::default() };
    for (market, changed) in data.or(patch)?.markets {
        let Some(changed) = changed else {
            book.removed.push((market.into_owned(), None));
            continue;
        };
        for (selection, changed) in changed.selections {
            let (market, selection) = (market.clone().into_owned(), selection.into_owned());
            match changed {
                None => book.removed.push((market, Some(selection))),
                Some(SelectionPatch { price, best }) if price.is_some() || book.is_whole => {
                    let (price, bookmaker) = (price.flatten(), best.map(Cow::into_owned));
                    book.selections.push(SelectionPrice { market, selection, price, bookmaker });
                }
                Some(_) => {}
            }
        }
    }
    let BookPrices { is_whole, selections, removed } = &book;
    (*is_whole || !selections.is_empty() || !removed.is_empty()).then_some(book)
}

/// Whether it is the consensus of a match, or the book of a bookmaker.
fn is_odds(channel: &ChannelId) -> bool {
    channel.as_str().split('/').nth(2) == Some("odds")
}

/// Whether it is the channel of a match: those of its books have more segments, boards fewer.
fn is_match(channel: &ChannelId) -> bool {
    channel.as_str().split('/').count() == 2
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;

    fn record(at: Micros, updates: &[(&str, bool, &str)]) -> Record {
        let outputs = updates.iter().map(|(channel, has_events, payload)| Output::Published {
            channel: ChannelId::new(*channel),
            epoch: Epoch(1),
            prev: 6,
            seq: 7,
            urgent: false,
            has_events: *has_events,
            payload: Bytes::copy_from_slice(payload.as_bytes()),
        });
        Record { number: 1, at, inputs: Bytes::new(), outputs: outputs.collect() }
    }

    /// The events in an update, each as its channel, its `eid` and its JSON.
    fn check(kinds: &[EventKind], update: (&str, bool, &str), expected: &[(&str, &str)]) {
        let (mut events, kinds) = (Vec::new(), kinds.iter().copied().collect());
        Extractor::new(0).extract(&record(10, &[update]), &kinds, &mut events);
        let found: Vec<_> = events.iter().map(|it| (&*it.eid, it.json.get())).collect();
        assert_eq!(found, expected, "{update:?}");
        assert!(events.iter().all(|event| event.channel.as_str() == update.0));
    }

    #[test]
    fn events_of_the_wanted_kinds_are_found() {
        let update = r#"{"type":"update","patch":{"score":{"home":1}},"events":[{"kind":"goal","eid":"g1","minute":1},{"kind":"card","eid":"c1"}]}"#;
        let of_match = ("football/7", true, update);
        check(&[EventKind::Goal], of_match, &[("g1", r#"{"kind":"goal","eid":"g1","minute":1}"#)]);
        check(&[EventKind::Suspend, EventKind::MatchEnd], of_match, &[]);
        check(&[EventKind::Goal], ("test/football", true, update), &[]);
        let suspended =
            r#"{"type":"update","events":[{"kind":"suspend","eid":"m1:3","market":"m1"}]}"#;
        check(
            &[EventKind::Suspend],
            ("football/7/odds/acme", true, suspended),
            &[("m1:3", r#"{"kind":"suspend","eid":"m1:3","market":"m1"}"#)],
        );
    }

    #[test]
    fn end_of_a_match_is_found_in_its_own_channel() {
        let ended = r#"{"type":"update","patch":{"life":"ended","status":"finished"}}"#;
        let event = r#"{"kind":"match_end","eid":"end-7","status":"finished"}"#;
        check(&[EventKind::MatchEnd], ("football/7", false, ended), &[("end-7", event)]);
        check(&[EventKind::MatchEnd], ("football/7/odds/acme", false, ended), &[]);
        check(&[EventKind::Goal], ("football/7", false, ended), &[]);
        let elsewhere = r#"{"type":"update","patch":{"other":{"life":"ended"}}}"#;
        check(&[EventKind::MatchEnd], ("football/7", false, elsewhere), &[]);
    }

    #[test]
    fn prices_are_found_in_images_and_updates_of_odds() {
        let prices = |channel: &str, payload: &str| {
            let mut updates = Vec::new();
            let record = record(10, &[(channel, false, payload)]);
            Extractor::extract_prices(&record, |_| true, &mut updates);
            let mut books = updates.into_iter().filter_map(|update| update.book);
            let book = books.next()?;
            let row = |selection: SelectionPrice| {
                let price = selection.price.map(|price| price.to_string());
                (selection.market, selection.selection, price, selection.bookmaker)
            };
            Some((book.selections.into_iter().map(row).collect::<Vec<_>>(), book.removed))
        };
        let owned = |text: &str| Some(text.to_owned());
        let row = |selection: &str, price: &str, best| {
            let price = owned(price).filter(|price| !price.is_empty());
            ("match_winner".to_owned(), selection.to_owned(), price, best)
        };
        let update = r#"{"type":"update","patch":{"match_seq":4,"markets":{"match_winner":{"status":"open","selections":{"home":{"price":"2.60","best":"acme","median":"2.5"},"draw":{"price":null},"away":{"bookmakers":3},"other":null}},"gone":null}}}"#;
        let changed = vec![row("draw", "", None), row("home", "2.60", owned("acme"))];
        let removed = vec![("gone".to_owned(), None), ("match_winner".to_owned(), owned("other"))];
        assert_eq!(prices("football/7/odds", update), Some((changed.clone(), removed)));
        assert_eq!(prices("football/7", update), None);
        assert_eq!(prices("test/odds/odds", update), None);
        let image = r#"{"type":"image","data":{"markets":{"match_winner":{"status":"open","selections":{"home":{"price":"2.60","best":"acme"},"draw":{"price":null},"away":{}}}}}}"#;
        let whole = vec![row("away", "", None), changed[0].clone(), changed[1].clone()];
        assert_eq!(prices("football/7/odds/acme", image), Some((whole, Vec::new())));
        let other = r#"{"type":"update","patch":{"suspended":true}}"#;
        assert_eq!(prices("football/7/odds", other), None);
        let odd =
            r#"{"type":"update","patch":{"markets":{"m":{"selections":{"s":{"price":"?"}}}}}}"#;
        assert_eq!(prices("football/7/odds", odd), None, "what cannot be read is no price");

        let channel = ChannelId::new("football/7/odds");
        let (mut updates, epoch) = (Vec::new(), Epoch(1));
        let closed = Output::Closed { channel: channel.clone(), epoch };
        let mut record = Record { number: 1, at: 10, inputs: Bytes::new(), outputs: vec![closed] };
        Extractor::extract_prices(&record, |_| true, &mut updates);
        assert!(matches!(updates[..], [PriceUpdate { book: None, .. }]), "{updates:?}");
        let payload = Bytes::from_static(image.as_bytes());
        record.outputs.push(Output::Opened { channel, epoch: Epoch(2), seq: 0, payload });
        updates.clear();
        Extractor::extract_prices(&record, |_| true, &mut updates);
        assert!(matches!(updates[..], [PriceUpdate { book: Some(_), .. }]), "{updates:?}");
    }

    fn feeds(state: &str, since: Micros, more: &str) -> String {
        format!(
            r#"{{"type":"update","patch":{{"sources":{{"acme":{{"state":"{state}","since":{since}{more}}}}}}}}}"#
        )
    }

    #[test]
    fn state_of_a_source_is_an_event_once() {
        let kinds = BTreeSet::from([EventKind::FeedDown, EventKind::FeedUp]);
        let mut extractor = Extractor::new(0);
        let mut check = |update: &str, expected: &[&str]| {
            let mut events = Vec::new();
            extractor.extract(&record(99, &[("feeds", false, update)]), &kinds, &mut events);
            let found: Vec<_> = events.iter().map(|event| event.json.get()).collect();
            assert_eq!(found, expected, "{update}");
            assert!(events.iter().all(|event| event.at < 99), "when the state began");
        };
        let down = r#"{"kind":"feed_down","eid":"acme:5","source":"acme","state":"down","since":5,"why":"cut"}"#;
        check(&feeds("down", 5, r#","why":"cut""#), &[down]);
        check(&feeds("down", 5, r#","why":"cut","messages":8"#), &[]);
        check(&feeds("recovering", 6, r#","why":null"#), &[]);
        let up = r#"{"kind":"feed_up","eid":"acme:7","source":"acme","state":"live","since":7}"#;
        check(&feeds("live", 7, ""), &[up]);
        check(&feeds("down", 8, r#","ended":true"#), &[]);
        check(r#"{"type":"update","patch":{"sources":{"acme":null}}}"#, &[]);
    }

    /// Reading begins again after each change of a webhook. Each update about a source repeats its state.
    #[test]
    fn state_from_before_reading_began_is_no_event() {
        const HOUR_US: Micros = 3_600_000_000;
        let kinds = BTreeSet::from([EventKind::FeedDown]);
        let check = |since: Micros, expected: usize| {
            let mut events = Vec::new();
            let update = feeds("down", since, r#","messages":8"#);
            let record = record(HOUR_US + 1, &[("feeds", false, &update)]);
            Extractor::new(HOUR_US).extract(&record, &kinds, &mut events);
            assert_eq!(events.len(), expected, "{since}");
        };
        check(0, 0);
        check(HOUR_US - FEEDS_MARGIN_US - 1, 0);
        check(HOUR_US - 1, 1);
        check(HOUR_US, 1);
        check(HOUR_US + 1, 1);
    }
}

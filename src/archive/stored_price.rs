//! What was last written of a price, and what of a record is news beside it.

use std::collections::{HashMap, hash_map::Entry};

use fanout::Micros;

use super::odds::{OddsRow, Tick};
use crate::record::{Key, MatchRecord, PriceRecord};

/// A row as it was last written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Line {
    pub(super) row: OddsRow,
    /// Whether there is a price at all.
    pub(super) is_offered: bool,
    pub(super) ticked_us: Micros,
}

/// What a record tells that is not written yet.
#[derive(Debug, Default)]
pub(super) struct News {
    pub(super) lines: Vec<Line>,
    pub(super) ticks: Vec<Tick>,
}

impl News {
    /// `known`: all that was written of this match.
    pub(super) fn of(known: &HashMap<Key, Line>, record: &MatchRecord, now: Micros) -> Self {
        let match_id = record.brief.id;
        let received = record.brief.updated;
        let told = told(record);
        let mut news = Self::default();
        for (id, price) in &told {
            let next = match known.get(id) {
                Some(line) => line.moved(price, received),
                None => Line::opened(*id, match_id, price, received),
            };
            news.add(known.get(id), next, now);
        }
        for (id, line) in known {
            if !told.contains_key(id) {
                news.add(Some(line), Some((line.untold(), None)), now);
            }
        }
        // In one order whoever writes: two that write the same rows never wait for each other.
        news.lines.sort_unstable_by_key(|line| line.row.id);
        news.ticks.sort_unstable_by_key(|tick| tick.odds);
        news
    }

    fn add(&mut self, known: Option<&Line>, next: Option<(Line, Option<Tick>)>, now: Micros) {
        let Some((mut line, tick)) = next else { return };
        self.ticks.extend(tick);
        if known != Some(&line) {
            line.row.updated_us = now;
            self.lines.push(line);
        }
    }
}

/// By the ids of their rows. Where a bookmaker tells one outcome twice, what is on offer counts, and
/// then what came later.
fn told(record: &MatchRecord) -> HashMap<Key, &PriceRecord> {
    let mut told = HashMap::with_capacity(record.prices.len());
    for price in &record.prices {
        match told.entry(price.id(record.brief.id)) {
            Entry::Vacant(entry) => {
                entry.insert(price);
            }
            Entry::Occupied(mut entry) => {
                let other: &&PriceRecord = entry.get();
                if (other.price.is_some(), other.at) < (price.price.is_some(), price.at) {
                    entry.insert(price);
                }
            }
        }
    }
    told
}

impl Line {
    /// A row begins with its first price.
    fn opened(
        id: Key,
        match_id: Key,
        told: &PriceRecord,
        received: Micros,
    ) -> Option<(Self, Option<Tick>)> {
        let price = told.price?;
        let row = OddsRow {
            id,
            public_id: None,
            match_id,
            bookmaker: told.bookmaker.clone(),
            market: told.market.clone(),
            period: told.period.clone(),
            line: told.line.map(|line| line.normalize()),
            outcome: told.outcome.clone(),
            opening: price,
            opening_us: told.at,
            previous: None,
            price,
            price_us: told.at,
            received_us: received,
            is_open: told.open,
            in_play: told.in_play,
            updated_us: 0,
        };
        let tick = Tick { odds: id, at_us: told.at, received_us: received, price: Some(price) };
        Some((Self { row, is_offered: true, ticked_us: told.at }, Some(tick)))
    }

    fn moved(&self, told: &PriceRecord, received: Micros) -> Option<(Self, Option<Tick>)> {
        let mut next = self.clone();
        let at_us = self.after_last(told.at, received);
        let is_other = match told.price {
            Some(price) => !self.is_offered || price != self.row.price,
            None => self.is_offered,
        };
        if let Some(price) = told.price
            && price != self.row.price
        {
            next.row.previous = Some(self.row.price);
            next.row.price = price;
            next.row.price_us = at_us;
            next.row.received_us = received;
        }
        next.is_offered = told.price.is_some();
        next.row.is_open = told.open && next.is_offered;
        next.row.in_play = told.in_play;
        if !is_other {
            return Some((next, None));
        }
        next.ticked_us = at_us;
        let tick = Tick { odds: self.row.id, at_us, received_us: received, price: told.price };
        Some((next, Some(tick)))
    }

    /// Nobody tells it any more, or not yet since the hub was started: it cannot be taken.
    fn untold(&self) -> Self {
        let mut next = self.clone();
        next.row.is_open = false;
        next
    }

    /// When a price is from that comes after the last one. Sources tell the same moment for several,
    /// and the consensus is as old as the oldest price that it is made of.
    fn after_last(&self, told: Micros, received: Micros) -> Micros {
        if told > self.ticked_us { told } else { received.max(self.ticked_us + 1) }
    }
}

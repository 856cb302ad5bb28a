//! Converts a market of the API: one market for each line.
//!
//! - `h2h` is `match_winner`, with a draw where the sport has one; `h2h_3_way` is the same in
//!   football, and elsewhere `regular_time_winner`, because overtime does not count.
//! - `totals` is `over_under`, `spreads` is `asian_handicap` with the line of the home side, and
//!   `alternate_` keys are more lines of the same. `btts` is `both_teams_to_score`.
//! - A key's ending is the part of the match: `_h1` is `1h`, `_q3` is `q3`, `_p1` is `p1`.
//! - `h2h_lay` is `match_winner_lay`: prices to lay come without sizes, so they are no ladder, and
//!   none of its selections is part of the consensus.
//! - Everything else (players' markets, outrights) is one market under its own key, with a
//!   selection for each description, name and point.

use std::{
    collections::{BTreeMap, HashSet},
    sync::Arc,
};

use facts::event::{
    MarketDefinition, MarketStatus, Outcome, SelectionDefinition, SelectionStatus, Sport,
};
use rust_decimal::Decimal;

use super::price::PriceFormat;
use crate::{
    decode::the_odds_api::{self as decode, OddsApiEvent, OddsApiOutcome},
    error::{DecodeError, RefusalKind},
};

/// A market as it is offered now.
#[derive(Debug)]
pub(super) struct MarketOffer {
    pub(super) id: Arc<str>,
    pub(super) definition: MarketDefinition,
    pub(super) prices: Vec<(Arc<str>, Decimal)>,
}

/// What applies to all markets of one event.
#[derive(Debug, Clone, Copy)]
pub(super) struct EventContext<'a> {
    pub(super) event: &'a OddsApiEvent,
    pub(super) sport: Sport,
    pub(super) in_play: bool,
    pub(super) format: PriceFormat,
}

/// How the outcomes of a market are distinguished.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Rule {
    Result,
    Total,
    Spread,
    YesNo,
    Own,
}

struct MarketKind {
    rule: Rule,
    name: Arc<str>,
    period: Option<Arc<str>>,
}

impl MarketKind {
    fn from_key(key: &str, sport: Sport) -> Self {
        let (base, period) = part(key);
        let base = base.strip_prefix("alternate_").unwrap_or(base);
        let (rule, name) = match (base, sport) {
            ("h2h", _) | ("h2h_3_way", Sport::Football) => (Rule::Result, "match_winner"),
            ("h2h_3_way", _) => (Rule::Result, "regular_time_winner"),
            ("draw_no_bet", _) => (Rule::Result, "draw_no_bet"),
            ("h2h_lay", _) => (Rule::Own, "match_winner_lay"),
            ("totals", _) => (Rule::Total, "over_under"),
            ("spreads", _) => (Rule::Spread, "asian_handicap"),
            ("btts", _) => (Rule::YesNo, "both_teams_to_score"),
            _ => return Self::unknown(key),
        };
        Self { rule, name: name.into(), period }
    }

    fn unknown(key: &str) -> Self {
        Self { rule: Rule::Own, name: key.to_lowercase().into(), period: None }
    }
}

/// A key without its ending, and the part of the match that the ending says.
fn part(key: &str) -> (&str, Option<Arc<str>>) {
    let Some((base, ending)) = key.rsplit_once('_') else { return (key, None) };
    let part = match ending.as_bytes() {
        [b'h', half @ b'1'..=b'2'] => format!("{}h", char::from(*half)),
        [b'q', b'1'..=b'4'] | [b'p', b'1'..=b'3'] => ending.to_owned(),
        [b's', set @ b'1'..=b'5'] => format!("set{}", char::from(*set)),
        _ => return (key, None),
    };
    (base, Some(part.into()))
}

/// The markets of one market of the API, in the order of their lines.
pub(super) fn offers(
    market: &decode::Market,
    context: EventContext<'_>,
    notices: &mut Vec<DecodeError>,
) -> Vec<MarketOffer> {
    let kind = MarketKind::from_key(&market.key, context.sport);
    let mut lines: BTreeMap<Option<Decimal>, Vec<&OddsApiOutcome>> = BTreeMap::new();
    for outcome in &market.outcomes {
        lines.entry(kind.line(outcome, context.event)).or_default().push(outcome);
    }
    let offer = |(line, outcomes): (Option<Decimal>, Vec<_>)| {
        kind.offer(&market.key, line, &outcomes, context, notices)
    };
    lines.into_iter().map(offer).collect()
}

impl MarketKind {
    /// The line of the market that an outcome belongs to: for a spread that of the home side.
    fn line(&self, outcome: &OddsApiOutcome, event: &OddsApiEvent) -> Option<Decimal> {
        match self.rule {
            Rule::Total => outcome.point,
            Rule::Spread if event.away.as_ref() == Some(&outcome.name) => {
                outcome.point.map(|point| (Decimal::ZERO - point).normalize())
            }
            Rule::Spread => outcome.point,
            Rule::Result | Rule::YesNo | Rule::Own => None,
        }
    }

    fn offer(
        &self,
        key: &str,
        line: Option<Decimal>,
        outcomes: &[&OddsApiOutcome],
        context: EventContext<'_>,
        notices: &mut Vec<DecodeError>,
    ) -> MarketOffer {
        let mut seen_ids = HashSet::new();
        let (mut selections, mut prices) = (Vec::new(), Vec::new());
        for outcome in outcomes {
            let id = self.selection_id(outcome);
            if !seen_ids.insert(id.clone()) {
                continue;
            }
            let price = price(outcome, context.format, notices);
            selections.push(SelectionDefinition {
                id: id.clone(),
                name: Some(outcome.name.as_str().into()),
                status: price.map_or(SelectionStatus::Removed, |_| SelectionStatus::Active),
                outcome: self.outcome(outcome, context),
                terms: None,
            });
            prices.extend(price.map(|price| (id, price)));
        }
        let definition = MarketDefinition {
            kind: self.name.clone(),
            name: None,
            line,
            period: self.period.clone(),
            status: MarketStatus::Open,
            in_play: context.in_play,
            selections,
            terms: None,
        };
        let id = line.map_or_else(|| key.into(), |line| format!("{key}@{line}").into());
        MarketOffer { id, definition, prices }
    }

    /// By name, which is all that the provider has; in a market of our own with what else tells it
    /// apart.
    fn selection_id(&self, outcome: &OddsApiOutcome) -> Arc<str> {
        let name = &outcome.name;
        match (self.rule, outcome.description.as_deref(), outcome.point) {
            (Rule::Own, Some(about), Some(point)) => format!("{about}/{name}@{point}").into(),
            (Rule::Own, Some(about), None) => format!("{about}/{name}").into(),
            (Rule::Own, None, Some(point)) => format!("{name}@{point}").into(),
            _ => name.as_str().into(),
        }
    }

    fn outcome(&self, outcome: &OddsApiOutcome, context: EventContext<'_>) -> Option<Outcome> {
        let name = outcome.name.as_str();
        let is = |word: &str| name.eq_ignore_ascii_case(word);
        match self.rule {
            Rule::Result if is("draw") => Some(Outcome::Draw),
            Rule::Result | Rule::Spread => side(name, context),
            Rule::Total if is("over") => Some(Outcome::Over),
            Rule::Total if is("under") => Some(Outcome::Under),
            Rule::YesNo if is("yes") => Some(Outcome::Yes),
            Rule::YesNo if is("no") => Some(Outcome::No),
            Rule::Total | Rule::YesNo | Rule::Own => None,
        }
    }
}

fn side(name: &str, context: EventContext<'_>) -> Option<Outcome> {
    let [first, second] = match context.sport {
        Sport::Tennis => [Outcome::Player1, Outcome::Player2],
        _ => [Outcome::Home, Outcome::Away],
    };
    let is = |side: &Option<String>| side.as_deref() == Some(name);
    if is(&context.event.home) { Some(first) } else { is(&context.event.away).then_some(second) }
}

fn price(
    outcome: &OddsApiOutcome,
    format: PriceFormat,
    notices: &mut Vec<DecodeError>,
) -> Option<Decimal> {
    let listed = outcome.price?;
    let price = format.decimal(listed);
    if price.is_none() && notices.len() < decode::NOTICES_MAX {
        let reason = format!("{listed} is no price");
        notices.push(DecodeError::new(RefusalKind::Value, reason));
    }
    price
}

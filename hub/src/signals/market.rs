//! What the quotes of one market say at one moment.

use std::{collections::BTreeMap, sync::Arc};

use facts::event::Outcome;
use rust_decimal::{Decimal, RoundingStrategy};

use super::{
    Finding, Leg, MarketKey, Quote, QuoteState, Signal, SignalKind, SignalSettings, Topic,
    basis_points, strength,
};

/// An open price and whose it is.
type OpenPrice<'a> = (Decimal, &'a Arc<str>);

/// Open prices by outcome, the best first; of each bookmaker its best one.
struct OpenPrices<'a> {
    prices: Vec<(Outcome, OpenPrice<'a>)>,
}

/// All signals of the market but those that need a past.
pub(super) fn evaluate(
    market: &MarketKey,
    quotes: &[Quote],
    settings: &SignalSettings,
) -> Vec<Signal> {
    let offers = OpenPrices::of(quotes);
    let mut signals = Vec::new();
    if offers.is_whole(quotes) {
        signals.extend(offers.arbitrage(market));
        signals.extend(offers.values(market, settings));
    }
    signals.extend(offers.gaps(market, settings));
    signals.extend(suspended(market, quotes, settings));
    signals
}

impl<'a> OpenPrices<'a> {
    fn of(quotes: &'a [Quote]) -> Self {
        let open = quotes.iter().filter(|quote| quote.state == QuoteState::Open);
        let priced = open.filter_map(|quote| {
            // A price of 1 or less is no price: it pays no profit.
            let price = quote.price.filter(|price| *price > Decimal::ONE)?;
            Some((quote.outcome, (price, &quote.bookmaker)))
        });
        let mut prices: Vec<_> = priced.collect();
        prices.sort_by(|(a_outcome, a), (b_outcome, b)| {
            (a_outcome, a.1, b.0).cmp(&(b_outcome, b.1, a.0))
        });
        prices.dedup_by(|next, previous| (next.0, next.1.1) == (previous.0, previous.1.1));
        prices.sort_by(|(a_outcome, a), (b_outcome, b)| {
            (a_outcome, b.0, a.1).cmp(&(b_outcome, a.0, b.1))
        });
        Self { prices }
    }

    /// The prices of each outcome; no group is empty.
    fn outcomes(&self) -> impl Iterator<Item = (Outcome, &[(Outcome, OpenPrice<'a>)])> {
        self.prices.chunk_by(|one, next| one.0 == next.0).map(|prices| (prices[0].0, prices))
    }

    /// Whether exactly one of the outcomes comes true, and all of them have a price.
    fn is_whole(&self, quotes: &[Quote]) -> bool {
        let is_priced = |whole: &&&[Outcome]| {
            self.outcomes().map(|(outcome, _)| outcome).eq(whole.iter().copied())
        };
        let whole = Outcome::COMPLETE_SETS.iter().find(is_priced);
        whole.is_some_and(|whole| quotes.iter().all(|quote| whole.contains(&quote.outcome)))
    }

    fn best(&self) -> impl Iterator<Item = (Outcome, OpenPrice<'a>)> {
        self.outcomes().map(|(_, prices)| prices[0])
    }

    /// The sum of 1/price is below 1 exactly where the sum of the products of all other prices is
    /// below the product of all: no division, no rounding.
    fn arbitrage(&self, market: &MarketKey) -> Option<Signal> {
        let best: Vec<_> = self.best().collect();
        let others = |skip: usize| -> Option<Decimal> {
            let others = best.iter().enumerate().filter(|(place, _)| *place != skip);
            others.map(|(_, (_, offer))| offer.0).try_fold(Decimal::ONE, Decimal::checked_mul)
        };
        let shares: Vec<_> = (0..best.len()).map(others).collect::<Option<_>>()?;
        let sum: Decimal = shares.iter().sum();
        let product = shares.first()?.checked_mul(best.first()?.1.0)?;
        if sum >= product {
            return None;
        }
        let profit = floor(product.checked_div(sum)? - Decimal::ONE);
        let prices: Vec<_> = best.iter().map(|(_, (price, _))| *price).collect();
        let stakes = stakes(&shares, sum, &prices)?;
        let legs = best.iter().zip(stakes);
        let legs = legs.map(|((outcome, (price, bookmaker)), stake)| Leg {
            outcome: *outcome,
            bookmaker: Arc::clone(bookmaker),
            price: *price,
            stake,
        });
        Some(Signal {
            topic: Topic::of_market(SignalKind::Arbitrage, market),
            strength: strength(profit, Decimal::new(10, 2)).max(1),
            finding: Finding::Arbitrage { profit, legs: legs.collect() },
        })
    }

    fn gaps(&self, market: &MarketKey, settings: &SignalSettings) -> Vec<Signal> {
        let gap = |(outcome, offers): (Outcome, &[(Outcome, OpenPrice<'a>)])| {
            let [(_, (price, bookmaker)), (_, (next, next_bookmaker)), ..] = offers else {
                return None;
            };
            if offers.len() < settings.bookmakers_min {
                return None;
            }
            let gap = price.checked_div(*next)? - Decimal::ONE;
            (basis_points(gap) >= settings.gap.into()).then(|| Signal {
                topic: Topic::of_price(SignalKind::PriceGap, market, outcome, bookmaker),
                strength: strength(gap, Decimal::new(25, 2)),
                finding: Finding::PriceGap {
                    price: *price,
                    next: *next,
                    next_bookmaker: Arc::clone(next_bookmaker),
                    gap: floor(gap),
                },
            })
        };
        self.outcomes().filter_map(gap).collect()
    }

    fn values(&self, market: &MarketKey, settings: &SignalSettings) -> Vec<Signal> {
        if self.outcomes().any(|(_, offers)| offers.len() < settings.bookmakers_min) {
            return Vec::new();
        }
        let implied = self.outcomes().map(|(_, offers)| Decimal::ONE.checked_div(median(offers)));
        let Some(implied) = implied.collect::<Option<Vec<_>>>() else { return Vec::new() };
        let sum: Decimal = implied.iter().sum();
        let value = |((outcome, offers), implied): ((_, &[(Outcome, OpenPrice<'a>)]), Decimal)| {
            let (_, (price, bookmaker)) = offers[0];
            let probability = implied.checked_div(sum)?;
            let value = price.checked_mul(probability)? - Decimal::ONE;
            (basis_points(value) >= settings.value.into()).then(|| Signal {
                topic: Topic::of_price(SignalKind::Value, market, outcome, bookmaker),
                strength: strength(value, Decimal::new(25, 2)),
                finding: Finding::Value {
                    price,
                    fair_price: nearest(Decimal::ONE / probability),
                    probability: nearest(probability),
                    value: floor(value),
                    bookmakers: u32::try_from(offers.len()).unwrap_or(u32::MAX),
                },
            })
        };
        self.outcomes().zip(implied).filter_map(value).collect()
    }
}

/// Each bookmaker that has suspended the market while enough others trade.
fn suspended(market: &MarketKey, quotes: &[Quote], settings: &SignalSettings) -> Vec<Signal> {
    // A bookmaker's quotes follow each other, so there are no more bookmakers than runs of them.
    let runs = quotes.chunk_by(|one, next| one.bookmaker == next.bookmaker).count();
    if runs < settings.bookmakers_min {
        return Vec::new();
    }
    let mut states: BTreeMap<&Arc<str>, (bool, bool)> = BTreeMap::new();
    for quote in quotes {
        let (open, suspended) = states.entry(&quote.bookmaker).or_default();
        *open |= quote.state == QuoteState::Open;
        *suspended |= quote.state == QuoteState::Suspended;
    }
    let open = states.values().filter(|(open, _)| *open).count();
    let is_suspended = |(_, (open, suspended)): &(&&Arc<str>, &(bool, bool))| !open && *suspended;
    let suspended: Vec<_> = states.iter().filter(is_suspended).collect();
    if open < settings.bookmakers_min {
        return Vec::new();
    }
    let share = Decimal::from(open) / Decimal::from(open + suspended.len());
    let signal = |(bookmaker, _): &(&&Arc<str>, _)| Signal {
        topic: Topic {
            bookmaker: Some(Arc::clone(bookmaker)),
            ..Topic::of_market(SignalKind::Suspended, market)
        },
        strength: strength(share, Decimal::ONE),
        finding: Finding::Suspended {
            open: u32::try_from(open).unwrap_or(u32::MAX),
            suspended: u32::try_from(suspended.len()).unwrap_or(u32::MAX),
        },
    };
    suspended.iter().map(signal).collect()
}

/// Of prices in order; there is at least one.
fn median(offers: &[(Outcome, OpenPrice<'_>)]) -> Decimal {
    let (middle, price) = (offers.len() / 2, |place: usize| offers[place].1.0);
    if offers.len() % 2 == 1 {
        return price(middle);
    }
    (price(middle - 1) + price(middle)) / Decimal::TWO
}

/// Places of a stake; more where by so few one of the bets would lose what rounding takes.
const STAKE_PLACES: [u32; 3] = [6, 9, 12];

/// Shares of a whole in proportion, so that every price pays as much; what rounding leaves goes to the
/// largest.
fn stakes(parts: &[Decimal], sum: Decimal, prices: &[Decimal]) -> Option<Vec<Decimal>> {
    let mut stakes = Vec::new();
    for places in STAKE_PLACES {
        let share = |part: &Decimal| Some(part.checked_div(sum)?.trunc_with_scale(places));
        stakes = parts.iter().map(share).collect::<Option<Vec<_>>>()?;
        let rest = Decimal::ONE - stakes.iter().sum::<Decimal>();
        *stakes.iter_mut().max()? += rest;
        let mut payouts = stakes.iter().zip(prices).map(|(stake, price)| stake * price);
        if payouts.all(|payout| payout >= Decimal::ONE) {
            break;
        }
    }
    Some(stakes)
}

fn floor(share: Decimal) -> Decimal {
    share.trunc_with_scale(4)
}

fn nearest(number: Decimal) -> Decimal {
    number.round_dp_with_strategy(4, RoundingStrategy::MidpointNearestEven)
}

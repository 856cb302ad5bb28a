//! What the quotes of one market say at one moment.

use std::{collections::BTreeMap, sync::Arc};

use facts::event::Outcome;
use rust_decimal::{Decimal, RoundingStrategy};

use super::{
    Finding, Leg, MarketKey, Quote, QuoteState, Signal, SignalKind, SignalSettings, Topic,
    basis_points, strength,
};

/// An open price.
struct Offer<'a> {
    outcome: Outcome,
    bookmaker: &'a Arc<str>,
    price: Decimal,
    commission: Decimal,
    /// What a stake of 1 gets back if it wins, after commission.
    pays: Decimal,
}

/// Open prices by outcome, the one that pays most first; of each bookmaker its best one.
struct OpenPrices<'a> {
    offers: Vec<Offer<'a>>,
}

/// All signals of the market but those that need a past.
pub(super) fn evaluate(
    market: &MarketKey,
    quotes: &[Quote],
    settings: &SignalSettings,
) -> Vec<Signal> {
    let offers = OpenPrices::new(quotes);
    let mut signals = Vec::new();
    if offers.is_whole(quotes) {
        signals.extend(offers.arbitrage(market, settings));
        signals.extend(offers.values(market, settings));
    }
    signals.extend(offers.gaps(market, settings));
    signals.extend(suspended(market, quotes, settings));
    signals
}

impl<'a> OpenPrices<'a> {
    fn new(quotes: &'a [Quote]) -> Self {
        let open = quotes.iter().filter(|quote| quote.state == QuoteState::Open);
        let offers = open.filter_map(|quote| {
            // A price of 1 or less is no price: it pays no profit.
            let price = quote.price.filter(|price| *price > Decimal::ONE)?;
            let (bookmaker, commission) = (&quote.bookmaker, quote.commission);
            let pays =
                if commission.is_zero() { price } else { after_commission(price, commission)? };
            Some(Offer { outcome: quote.outcome, bookmaker, price, commission, pays })
        });
        let mut offers: Vec<_> = offers.collect();
        offers.sort_by(|a, b| {
            (a.outcome, a.bookmaker, b.pays).cmp(&(b.outcome, b.bookmaker, a.pays))
        });
        offers.dedup_by(|next, previous| {
            (next.outcome, next.bookmaker) == (previous.outcome, previous.bookmaker)
        });
        offers.sort_by(|a, b| {
            (a.outcome, b.pays, a.bookmaker).cmp(&(b.outcome, a.pays, b.bookmaker))
        });
        Self { offers }
    }

    /// The prices of each outcome; no group is empty.
    fn outcomes(&self) -> impl Iterator<Item = &[Offer<'a>]> {
        self.offers.chunk_by(|one, next| one.outcome == next.outcome)
    }

    /// Whether exactly one of the outcomes comes true, and all of them have a price.
    fn is_whole(&self, quotes: &[Quote]) -> bool {
        let is_priced = |whole: &&&[Outcome]| {
            self.outcomes().map(|offers| offers[0].outcome).eq(whole.iter().copied())
        };
        let whole = Outcome::COMPLETE_SETS.iter().find(is_priced);
        whole.is_some_and(|whole| quotes.iter().all(|quote| whole.contains(&quote.outcome)))
    }

    /// By whole numbers, without rounding: with all prices in units of `1/SCALE`, the sum of 1/price is `SCALE` times the sum
    /// of the products of all other prices, divided by the product of all.
    fn arbitrage(&self, market: &MarketKey, settings: &SignalSettings) -> Option<Signal> {
        let best: Vec<_> = self.outcomes().map(|offers| &offers[0]).collect();
        let pays: Vec<_> = best.iter().map(|offer| scaled(offer)).collect::<Option<_>>()?;
        let others = |skip: usize| -> Option<i128> {
            let others = pays.iter().enumerate().filter(|(index, _)| *index != skip);
            others.map(|(_, pays)| *pays).try_fold(1, i128::checked_mul)
        };
        let shares: Vec<_> = (0..pays.len()).map(others).collect::<Option<_>>()?;
        let sum = shares.iter().copied().try_fold(0, i128::checked_add)?;
        let (product, staked) =
            (shares.first()?.checked_mul(*pays.first()?)?, sum.checked_mul(SCALE)?);
        let profit = product.checked_sub(staked)?.checked_mul(10_000)?.checked_div(staked)?;
        if profit < settings.profit_min.max(1).into() {
            return None;
        }
        let profit = Decimal::new(i64::try_from(profit).ok()?, 4);
        let legs = best.iter().zip(stakes(&shares, sum, &pays)?).map(|(offer, stake)| Leg {
            outcome: offer.outcome,
            bookmaker: Arc::clone(offer.bookmaker),
            price: offer.price,
            commission: offer.commission,
            stake,
        });
        Some(Signal {
            topic: Topic::of_market(SignalKind::Arbitrage, market),
            strength: strength(profit, Decimal::new(10, 2)).max(1),
            finding: Finding::Arbitrage { profit, legs: legs.collect() },
        })
    }

    fn gaps(&self, market: &MarketKey, settings: &SignalSettings) -> Vec<Signal> {
        let gap = |offers: &[Offer<'a>]| {
            let [best, next, ..] = offers else { return None };
            if offers.len() < settings.bookmakers_min {
                return None;
            }
            let gap = best.pays.checked_div(next.pays)? - Decimal::ONE;
            (basis_points(gap) >= settings.gap.into()).then(|| Signal {
                topic: best.topic(SignalKind::PriceGap, market),
                strength: strength(gap, Decimal::new(25, 2)),
                finding: Finding::PriceGap {
                    price: best.price,
                    next: next.price,
                    next_bookmaker: Arc::clone(next.bookmaker),
                    gap: floor(gap),
                    commission: best.commission,
                    next_commission: next.commission,
                },
            })
        };
        self.outcomes().filter_map(gap).collect()
    }

    fn values(&self, market: &MarketKey, settings: &SignalSettings) -> Vec<Signal> {
        if self.outcomes().any(|offers| offers.len() < settings.bookmakers_min) {
            return Vec::new();
        }
        let implied = self.outcomes().map(|offers| Decimal::ONE.checked_div(median(offers)));
        let Some(implied) = implied.collect::<Option<Vec<_>>>() else { return Vec::new() };
        let sum: Decimal = implied.iter().sum();
        let value = |(offers, implied): (&[Offer<'a>], Decimal)| {
            let best = &offers[0];
            let probability = implied.checked_div(sum)?;
            let value = best.pays.checked_mul(probability)? - Decimal::ONE;
            (basis_points(value) >= settings.value.into()).then(|| Signal {
                topic: best.topic(SignalKind::Value, market),
                strength: strength(value, Decimal::new(25, 2)),
                finding: Finding::Value {
                    price: best.price,
                    fair_price: nearest(Decimal::ONE / probability),
                    probability: nearest(probability),
                    value: floor(value),
                    commission: best.commission,
                    bookmakers: u32::try_from(offers.len()).unwrap_or(u32::MAX),
                },
            })
        };
        self.outcomes().zip(implied).filter_map(value).collect()
    }
}

impl Offer<'_> {
    fn topic(&self, kind: SignalKind, market: &MarketKey) -> Topic {
        Topic::of_price(kind, market, self.outcome, self.bookmaker)
    }
}

fn after_commission(price: Decimal, commission: Decimal) -> Option<Decimal> {
    let win = (price - Decimal::ONE).checked_mul(Decimal::ONE - commission)?;
    win.checked_add(Decimal::ONE).map(|pays| pays.normalize())
}

/// Units of a price in whole numbers.
const SCALE: i128 = 100_000_000;

/// What an offer pays in units of `1/SCALE`, never more than it does. A price with more than four places may have been rounded
/// up from another notation, such as an American price, so it counts one unit less.
fn scaled(offer: &Offer<'_>) -> Option<i128> {
    let ten = |places: u32| 10_i128.checked_pow(places);
    let (mantissa, scale) = (offer.pays.mantissa(), offer.pays.scale());
    let units = match 8_u32.checked_sub(scale) {
        Some(places) => mantissa.checked_mul(ten(places)?)?,
        None => mantissa / ten(scale - 8)?,
    };
    Some(units - i128::from(offer.price.scale() > 4))
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

/// Of what the prices of an outcome pay, in order; there is at least one.
fn median(offers: &[Offer<'_>]) -> Decimal {
    let (middle, pays) = (offers.len() / 2, |index: usize| offers[index].pays);
    if offers.len() % 2 == 1 {
        return pays(middle);
    }
    (pays(middle - 1) + pays(middle)) / Decimal::TWO
}

/// Places of a stake; more where by so few one of the bets would lose what rounding takes.
const STAKE_PLACES: [u32; 3] = [6, 9, 12];

/// Shares of a whole in proportion, so that every price pays as much; what rounding leaves goes to the
/// largest.
fn stakes(shares: &[i128], sum: i128, pays: &[i128]) -> Option<Vec<Decimal>> {
    let mut rounded = Vec::new();
    for places in STAKE_PLACES {
        let whole = 10_i128.pow(places);
        let stake = |share: &i128| Some(share.checked_mul(whole)? / sum);
        let mut stakes = shares.iter().map(stake).collect::<Option<Vec<_>>>()?;
        let rest = whole - stakes.iter().sum::<i128>();
        *stakes.iter_mut().max()? += rest;
        let decimal = |stake: &i128| Decimal::try_from_i128_with_scale(*stake, places).ok();
        rounded = stakes.iter().map(decimal).collect::<Option<Vec<_>>>()?;
        let mut payouts = stakes.iter().zip(pays);
        if payouts
            .all(|(stake, pays)| stake.checked_mul(*pays).is_some_and(|it| it >= whole * SCALE))
        {
            break;
        }
    }
    Some(rounded)
}

fn floor(share: Decimal) -> Decimal {
    share.trunc_with_scale(4)
}

fn nearest(number: Decimal) -> Decimal {
    number.round_dp_with_strategy(4, RoundingStrategy::MidpointNearestEven)
}

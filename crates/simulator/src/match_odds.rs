//! The odds of all bookmakers on one match: markets are opened, priced, suspended and settled.
//!
//! A suspension affects every market of every bookmaker in the batch that causes it; each reopens at
//! its own time with new prices. A price is reported only while its market is open, and only when its
//! probability changed enough. A bookmaker that revises its prices revises the main market and one
//! other.

use std::sync::Arc;

use facts::event::{MarketChange, MarketStatus, Micros, OddsFact, SelectionChange};

use super::{
    bookmaker::{BOOKMAKERS, Bookmaker, decimal},
    dice::Dice,
    market::Market,
    play::{Chance, Probabilities, SELECTIONS_MAX, Trading},
};

/// Milliseconds between two price revisions before the match, when money comes slowly.
const PREMATCH_PACE_MS: (i64, i64) = (150_000, 600_000);
/// Milliseconds from the first notice of a match until a bookmaker offers prices.
const FIRST_PRICES_MS: (i64, i64) = (2_000, 25_000);
/// Milliseconds from the end until a bookmaker settles.
const SETTLES_MS: (i64, i64) = (15_000, 180_000);

/// How far a bookmaker's view wanders at each look, and how much of it is left at the next: it
/// settles within about two in a hundred of the true probability.
const WANDER: f64 = 0.015;
const WANDER_KEPT: f64 = 0.93;

/// How far a bookmaker's first view is off at most.
const OPINION: f64 = 0.04;

#[derive(Debug)]
pub(super) struct MatchOdds {
    dice: Dice,
    in_play: bool,
    markets: Vec<Market>,
    books: Vec<Book>,
}

/// One bookmaker's offer on the match.
#[derive(Debug)]
struct Book {
    bookmaker: &'static Bookmaker,
    slug: Arc<str>,
    phase: Phase,
    /// When it acts next; `None` while it can only wait.
    due: Option<Micros>,
    /// How often it has revised its prices.
    looks: usize,
    quotes: Vec<Quote>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// Waits for the all-clear, or for its own time to open after it.
    Waiting,
    Quoting,
    Settling,
}

/// One market at one bookmaker.
#[derive(Debug, Clone, Default)]
struct Quote {
    /// `None` until it is reported for the first time.
    status: Option<MarketStatus>,
    /// The bookmaker's own view: how much likelier it thinks the first selection is.
    lean: f64,
    /// The probabilities as the bookmaker saw them when it last set prices.
    seen: Probabilities,
    /// Prices shown, in hundredths; 0 is none.
    prices: [u32; SELECTIONS_MAX],
}

impl MatchOdds {
    /// Bookmakers take note of the match at `now`.
    pub(super) fn open(markets: Vec<Market>, mut dice: Dice, now: Micros) -> Self {
        let books = BOOKMAKERS.iter().map(|bookmaker| Book {
            bookmaker,
            slug: bookmaker.slug.into(),
            phase: Phase::Waiting,
            due: Some(now + dice.millis(FIRST_PRICES_MS)),
            looks: 0,
            quotes: markets.iter().map(|_| Quote::with_opinion(&mut dice)).collect(),
        });
        let books = books.collect();
        Self { dice, in_play: false, markets, books }
    }

    /// When a bookmaker acts next.
    pub(super) fn due(&self) -> Option<Micros> {
        self.books.iter().filter_map(|book| book.due).min()
    }

    /// Runs the bookmaker that is due at `now`.
    pub(super) fn act(&mut self, now: Micros, chances: &[Chance]) -> Vec<OddsFact> {
        let Some(book) = self.books.iter_mut().find(|book| book.due == Some(now)) else {
            return Vec::new();
        };
        let mut facts = Vec::new();
        let side_market = book.next_side_market();
        let quotes = self.markets.iter().zip(&mut book.quotes).zip(chances);
        for (index, ((market, quote), chance)) in quotes.enumerate() {
            let mut writer = OddsWriter { book: &book.slug, market, facts: &mut facts };
            match book.phase {
                Phase::Waiting => quote.open(*chance, book.bookmaker, self.in_play, &mut writer),
                Phase::Quoting => {
                    if index == 0 || index == side_market {
                        quote.reprice(*chance, book.bookmaker, &mut self.dice, &mut writer);
                    }
                    quote.close_decided(*chance, self.in_play, &mut writer);
                }
                Phase::Settling => quote.settle(*chance, self.in_play, &mut writer),
            }
        }
        book.turn_over(now, self.in_play, &mut self.dice);
        facts
    }

    /// Applies a step of the play.
    pub(super) fn follow(&mut self, trading: Trading, now: Micros) -> Vec<OddsFact> {
        match trading {
            Trading::AsBefore => Vec::new(),
            Trading::Begin => {
                self.in_play = true;
                self.suspend()
            }
            Trading::Halt => self.suspend(),
            Trading::Resume => {
                self.resume(now);
                Vec::new()
            }
            Trading::End => {
                let facts = self.suspend();
                self.wind_up(now);
                facts
            }
        }
    }

    /// Every bookmaker looks at its prices now.
    pub(super) fn look(&mut self, chances: &[Chance]) -> Vec<OddsFact> {
        let mut facts = Vec::new();
        for book in &mut self.books {
            for ((market, quote), chance) in self.markets.iter().zip(&mut book.quotes).zip(chances)
            {
                let mut writer = OddsWriter { book: &book.slug, market, facts: &mut facts };
                quote.reprice(*chance, book.bookmaker, &mut self.dice, &mut writer);
            }
        }
        facts
    }

    /// Every bookmaker settles now.
    pub(super) fn settle(&mut self, chances: &[Chance]) -> Vec<OddsFact> {
        let mut facts = Vec::new();
        for book in &mut self.books {
            book.due = None;
            for ((market, quote), chance) in self.markets.iter().zip(&mut book.quotes).zip(chances)
            {
                let mut writer = OddsWriter { book: &book.slug, market, facts: &mut facts };
                quote.settle(*chance, self.in_play, &mut writer);
            }
        }
        facts
    }

    fn suspend(&mut self) -> Vec<OddsFact> {
        let mut facts = Vec::new();
        for book in &mut self.books {
            (book.phase, book.due) = (Phase::Waiting, None);
            for (market, quote) in self.markets.iter().zip(&mut book.quotes) {
                let mut writer = OddsWriter { book: &book.slug, market, facts: &mut facts };
                quote.suspend(self.in_play, &mut writer);
            }
        }
        facts
    }

    fn resume(&mut self, now: Micros) {
        for book in self.books.iter_mut().filter(|book| book.phase == Phase::Waiting) {
            book.due = Some(now + self.dice.millis(book.bookmaker.reopens_ms));
        }
    }

    fn wind_up(&mut self, now: Micros) {
        for book in &mut self.books {
            (book.phase, book.due) = (Phase::Settling, Some(now + self.dice.millis(SETTLES_MS)));
        }
    }
}

impl Book {
    /// The main market is priced at each look, the others in turn.
    fn next_side_market(&mut self) -> usize {
        self.looks += 1;
        1 + self.looks % self.quotes.len().saturating_sub(1).max(1)
    }

    /// Its turn is done: it quotes from now on, and looks again after its pace.
    fn turn_over(&mut self, now: Micros, in_play: bool, dice: &mut Dice) {
        if self.phase == Phase::Settling {
            self.due = None;
            return;
        }
        let pace_ms = if in_play { self.bookmaker.pace_ms } else { PREMATCH_PACE_MS };
        (self.phase, self.due) = (Phase::Quoting, Some(now + dice.millis(pace_ms)));
    }
}

impl Quote {
    fn with_opinion(dice: &mut Dice) -> Self {
        Self { lean: dice.swing() * OPINION, ..Self::default() }
    }

    fn open(
        &mut self,
        chance: Chance,
        bookmaker: &Bookmaker,
        in_play: bool,
        writer: &mut OddsWriter<'_>,
    ) {
        match chance {
            Chance::Open(probabilities) => {
                self.status = Some(MarketStatus::Open);
                writer.defined(MarketStatus::Open, in_play, probabilities.removed);
                self.prices = [0; SELECTIONS_MAX];
                self.show(leaning(probabilities, self.lean), bookmaker, writer);
            }
            Chance::Won(_) | Chance::Shared(_) | Chance::Void => {
                self.settle(chance, in_play, writer);
            }
        }
    }

    fn reprice(
        &mut self,
        chance: Chance,
        bookmaker: &Bookmaker,
        dice: &mut Dice,
        writer: &mut OddsWriter<'_>,
    ) {
        let (Some(MarketStatus::Open), Chance::Open(probabilities)) = (self.status, chance) else {
            return;
        };
        self.lean = self.lean * WANDER_KEPT + dice.swing() * WANDER;
        let viewed = leaning(probabilities, self.lean);
        if moved(viewed, self.seen) >= bookmaker.sensitivity {
            self.show(viewed, bookmaker, writer);
        }
    }

    /// Closes a market whose outcome is decided although the match goes on.
    fn close_decided(&mut self, chance: Chance, in_play: bool, writer: &mut OddsWriter<'_>) {
        if matches!(chance, Chance::Won(_) | Chance::Shared(_)) {
            self.settle(chance, in_play, writer);
        }
    }

    fn show(&mut self, viewed: Probabilities, bookmaker: &Bookmaker, writer: &mut OddsWriter<'_>) {
        self.seen = viewed;
        let before = self.prices;
        let count = writer.market.selections().len();
        let active = count - viewed.removed.count_ones() as usize;
        let prices = self.prices.iter_mut().zip(viewed.chances).take(count).enumerate();
        for (_, (price, probability)) in prices.filter(|(index, _)| !viewed.is_removed(*index)) {
            *price = bookmaker.price(probability, active);
        }
        writer.prices(before, self.prices);
    }

    fn suspend(&mut self, in_play: bool, writer: &mut OddsWriter<'_>) {
        if self.status == Some(MarketStatus::Open) {
            self.status = Some(MarketStatus::Suspended);
            writer.defined(MarketStatus::Suspended, in_play, self.seen.removed);
        }
    }

    fn settle(&mut self, chance: Chance, in_play: bool, writer: &mut OddsWriter<'_>) {
        if !matches!(self.status, None | Some(MarketStatus::Closed)) {
            self.status = Some(MarketStatus::Closed);
            writer.settled(chance, in_play, self.seen.removed);
        }
    }
}

/// The probabilities, biased towards the first selection.
fn leaning(true_ones: Probabilities, lean: f64) -> Probabilities {
    let mut chances = true_ones.chances;
    chances[0] *= 1.0 + lean;
    // 1, and 2 where two selections win.
    let all: f64 = true_ones.chances.iter().sum();
    let sum: f64 = chances.iter().sum();
    let scaled = |probability: f64| (probability * all / sum).min(1.0);
    Probabilities { chances: chances.map(scaled), ..true_ones }
}

/// The largest difference between two sets of probabilities.
fn moved(now: Probabilities, before: Probabilities) -> f64 {
    let pairs = now.chances.iter().zip(before.chances);
    pairs.fold(0.0, |most, (now, before)| f64::max(most, (now - before).abs()))
}

/// Writes the facts of one market of one bookmaker.
struct OddsWriter<'a> {
    book: &'a Arc<str>,
    market: &'a Market,
    facts: &'a mut Vec<OddsFact>,
}

impl OddsWriter<'_> {
    fn defined(&mut self, status: MarketStatus, in_play: bool, removed: u16) {
        self.push(MarketChange::Define(self.market.defined(status, in_play, removed)));
    }

    fn settled(&mut self, chance: Chance, in_play: bool, removed: u16) {
        self.push(MarketChange::Define(self.market.settled(chance, in_play, removed)));
    }

    /// Writes the prices that differ; nothing if a move was too small for the ladder.
    fn prices(&mut self, before: [u32; SELECTIONS_MAX], now: [u32; SELECTIONS_MAX]) {
        let changes = self.market.selections().iter().zip(before.into_iter().zip(now));
        let selections: Vec<_> = changes
            .filter(|(_, (before, now))| before != now)
            .map(|(selection, (_, now))| SelectionChange {
                id: selection.id.clone(),
                price: Some(decimal(now)),
                ..SelectionChange::default()
            })
            .collect();
        if !selections.is_empty() {
            self.push(MarketChange::Prices { selections, volume: None });
        }
    }

    fn push(&mut self, change: MarketChange) {
        let (book, market) = (self.book.clone(), self.market.id.clone());
        self.facts.push(OddsFact { book, market, change });
    }
}

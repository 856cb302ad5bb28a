//! The state of a match as facts, which give the same state when they are applied to a new match.

use std::sync::Arc;

use facts::event::{
    Fact, MarketChange, MarketDefinition, MarketStatus, OddsFact, SelectionChange,
    SelectionDefinition,
};

use super::{Book, LadderKind, Market, Match, Moment, Selection};
use crate::hub::feeds::{FactKind, SourceNumber};

impl Match {
    /// What is known of the match, as facts of this moment.
    #[must_use]
    pub fn facts(&self, moment: Moment) -> Vec<Fact> {
        let mut facts = vec![Fact::Fixture(self.fixture.clone())];
        facts.push(Fact::About(Box::new(self.about.clone())));
        let kinds = [FactKind::Score, FactKind::Incidents, FactKind::Stats, FactKind::Ball];
        facts.extend(kinds.into_iter().flat_map(|kind| self.play.facts(kind, moment)));
        facts.extend(self.books.iter().flat_map(Book::facts));
        facts
    }
}

impl Match {
    /// The markets of a source that are not closed.
    pub(in crate::hub) fn open_markets(
        &self,
        source: SourceNumber,
    ) -> impl Iterator<Item = (Arc<str>, MarketDefinition)> {
        let books = self.books.iter().chain(&self.standby_books);
        let markets = books.filter(move |book| book.source == source).flat_map(|it| &it.markets);
        let open = markets.filter(|market| market.status != MarketStatus::Closed);
        open.map(|market| (Arc::clone(&market.id), market.definition()))
    }
}

impl Book {
    fn facts(&self) -> impl Iterator<Item = Fact> {
        self.markets.iter().flat_map(|market| {
            let fact = |change| {
                let (book, market) = (Arc::clone(&self.slug), Arc::clone(&market.id));
                Fact::Odds(OddsFact { book, market, change })
            };
            [fact(MarketChange::Define(market.definition())), fact(market.prices())]
        })
    }
}

impl Market {
    fn definition(&self) -> MarketDefinition {
        let selections = self.selections.iter().map(|it| SelectionDefinition {
            id: Arc::clone(&it.id),
            name: it.name.clone(),
            status: it.status,
            outcome: it.outcome,
            terms: it.extras().map(|extras| Box::new(extras.terms.clone())),
        });
        MarketDefinition {
            kind: Arc::clone(&self.kind),
            name: self.name.clone(),
            line: self.line,
            period: self.period.clone(),
            status: self.status,
            in_play: self.in_play,
            selections: selections.collect(),
            terms: self.terms.clone(),
        }
    }

    fn prices(&self) -> MarketChange {
        let selections = self.selections.iter().map(Selection::change).collect();
        MarketChange::Prices { selections, volume: self.volume }
    }
}

impl Selection {
    fn change(&self) -> SelectionChange {
        let levels = |kind| self.ladder(kind).levels().to_vec();
        SelectionChange {
            id: Arc::clone(&self.id),
            price: self.price,
            last: self.last,
            volume: self.volume,
            near_price: self.extras().and_then(|extras| extras.near_price),
            far_price: self.extras().and_then(|extras| extras.far_price),
            back: levels(LadderKind::Back),
            lay: levels(LadderKind::Lay),
            traded: levels(LadderKind::Traded),
        }
    }
}

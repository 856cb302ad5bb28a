//! The members of a match, and the contribution of one of them, which can move to another match.

use std::{mem, sync::Arc};

use borsh::{BorshDeserialize, BorshSerialize};
use facts::event::{Fact, Fixture, Id, Outcome};

use super::{
    Book, Match, MatchDelta, Moment,
    merge::{Origin, PLAY},
};
use crate::hub::feeds::{Source, SourceNumber};

/// A provider's match, reported by one source.
#[derive(Debug, Clone, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub struct MatchMember {
    /// The id derived from the provider's key.
    pub id: Id,
    pub source: SourceNumber,
    pub provider: Arc<str>,
    pub key: Arc<str>,
}

/// All facts of one provider about a match.
#[derive(Debug)]
pub struct ProviderContribution {
    pub fixture: Fixture,
    /// Indexes of its books, which are now empty.
    pub books_left: Vec<usize>,
    members: Vec<MatchMember>,
    books: Vec<Book>,
    /// Facts of the play, by source.
    facts: Vec<(SourceNumber, Fact)>,
}

impl MatchMember {
    pub(super) fn new(id: Id, fixture: &Fixture, source: SourceNumber) -> Self {
        let (provider, key) = (Arc::clone(&fixture.provider), Arc::clone(&fixture.provider_key));
        Self { id, source, provider, key }
    }
}

impl Match {
    /// Removes and returns one provider's contribution. `None` if it has none.
    pub fn take_contribution(&mut self, local_id: Id) -> Option<ProviderContribution> {
        let (members, stay) =
            mem::take(&mut self.members).into_iter().partition(|it| it.id == local_id);
        let members: Vec<MatchMember> = members;
        self.members = stay;
        let first = members.first()?;
        let mut fixture = self.fixture.clone();
        (fixture.provider, fixture.provider_key) = (first.provider.clone(), first.key.clone());
        let mut contribution = ProviderContribution {
            fixture,
            members,
            books: vec![],
            books_left: vec![],
            facts: vec![],
        };
        for source in contribution.sources() {
            self.take_play(source, &mut contribution);
            self.take_books(source, &mut contribution);
            self.forget_source(source);
        }
        Some(contribution)
    }

    /// Whether no provider contributes any more.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    /// Merges a provider's contribution that turns out to be of this match.
    pub fn merge_contribution(
        &mut self,
        contribution: ProviderContribution,
        swapped: bool,
        moment: Moment,
        sources: &[Source],
        delta: &mut MatchDelta,
    ) {
        let local_id = contribution.members[0].id;
        let fixture = Fact::Fixture(contribution.fixture.clone());
        let fixture = if swapped { fixture.swapped() } else { fixture };
        for source in contribution.sources() {
            self.apply(&fixture, Origin { source, local_id, moment, sources }, delta);
        }
        for (source, fact) in contribution.facts {
            let fact = if swapped { fact.swapped() } else { fact };
            self.apply(&fact, Origin { source, local_id, moment, sources }, delta);
        }
        for mut book in contribution.books {
            if swapped {
                book.swap();
            }
            self.take_book(book, sources, delta);
        }
    }

    fn take_play(&self, source: SourceNumber, contribution: &mut ProviderContribution) {
        let view = self.views.iter().find(|view| view.source == source);
        let is_primary = PLAY.iter().any(|kind| self.primaries.get(*kind) == Some(source));
        let play = match view {
            Some(view) => &view.play,
            None if is_primary => &self.play,
            None => return,
        };
        let now = Moment { source: None, received: 0 };
        for kind in PLAY {
            let facts = play.facts(kind, now);
            contribution.facts.extend(facts.into_iter().map(|fact| (source, fact)));
        }
    }

    fn take_books(&mut self, source: SourceNumber, contribution: &mut ProviderContribution) {
        for (index, book) in self.books.iter_mut().enumerate() {
            if book.source == source {
                let empty = Book::new(Arc::clone(&book.slug), source);
                contribution.books.push(mem::replace(book, empty));
                contribution.books_left.push(index);
            }
        }
        let standby_books = mem::take(&mut self.standby_books);
        let (taken, stay) = standby_books.into_iter().partition(|book| book.source == source);
        self.standby_books = stay;
        contribution.books.extend::<Vec<Book>>(taken);
    }

    fn take_book(&mut self, book: Book, sources: &[Source], delta: &mut MatchDelta) {
        let same = |other: &Book| other.slug == book.slug;
        match self.books.iter().position(same) {
            Some(index) if self.books[index].markets.is_empty() => {
                self.books[index] = book;
                self.settle_book(index, delta);
            }
            Some(index) => {
                self.standby_books.push(book);
                self.succeed_in_book(index, sources, delta);
            }
            None => {
                self.books.push(book);
                self.settle_book(self.books.len() - 1, delta);
            }
        }
    }

    fn settle_book(&mut self, book_index: usize, delta: &mut MatchDelta) {
        self.touched.all = true;
        for (market_index, market) in self.books[book_index].markets.iter().enumerate() {
            self.consensus.note(market, book_index, market_index);
        }
        delta.replaced.push(book_index);
        delta.book(book_index);
    }
}

impl ProviderContribution {
    /// The contributing providers.
    #[must_use]
    pub fn providers(&self) -> Vec<Arc<str>> {
        self.members.iter().map(|it| Arc::clone(&it.provider)).collect()
    }

    fn sources(&self) -> Vec<SourceNumber> {
        let mut sources: Vec<SourceNumber> = self.members.iter().map(|it| it.source).collect();
        sources.sort_unstable_by_key(|source| source.0);
        sources.dedup();
        sources
    }
}

impl Book {
    /// Swaps the sides.
    fn swap(&mut self) {
        for market in &mut self.markets {
            let mut of_sides = false;
            for selection in &mut market.selections {
                let outcome = selection.outcome.map(Outcome::swapped);
                of_sides |= outcome != selection.outcome;
                selection.outcome = outcome;
            }
            if of_sides {
                market.line = market.line.map(|line| -line);
            }
        }
    }
}

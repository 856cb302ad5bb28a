//! A match's members, and what one of them has told: it can go over to another match.

use std::{mem, sync::Arc};

use ingest::event::{Fact, Fixture, Id, Outcome};

use super::{
    Book, Match, Moment, Touched,
    merge::{Origin, PLAY},
};
use crate::hub::feeds::{Source, SourceNumber};

/// A provider's match, told by one source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member {
    /// The id that follows from the provider's key.
    pub own: Id,
    pub source: SourceNumber,
    pub provider: Arc<str>,
    pub key: Arc<str>,
}

/// What one provider has told of a match.
#[derive(Debug)]
pub struct Part {
    pub fixture: Fixture,
    /// Where books of it were, which are empty now.
    pub books_left: Vec<usize>,
    members: Vec<Member>,
    books: Vec<Book>,
    /// What is known of the play, by who tells it.
    facts: Vec<(SourceNumber, Fact)>,
}

impl Member {
    pub(super) fn new(own: Id, fixture: &Fixture, source: SourceNumber) -> Self {
        let (provider, key) = (Arc::clone(&fixture.provider), Arc::clone(&fixture.provider_key));
        Self { own, source, provider, key }
    }
}

impl Match {
    /// Takes out what one provider has told. `None` if it tells nothing of this match.
    pub fn part(&mut self, own: Id) -> Option<Part> {
        let (members, stay) =
            mem::take(&mut self.members).into_iter().partition(|it| it.own == own);
        let members: Vec<Member> = members;
        self.members = stay;
        let first = members.first()?;
        let mut fixture = self.fixture.clone();
        (fixture.provider, fixture.provider_key) = (first.provider.clone(), first.key.clone());
        let mut part = Part { fixture, members, books: vec![], books_left: vec![], facts: vec![] };
        for source in part.sources() {
            self.take_play(source, &mut part);
            self.take_books(source, &mut part);
            self.forget_source(source);
        }
        Some(part)
    }

    /// Whether nobody tells of it any more.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    /// Takes in what one provider has told of what turns out to be this match.
    pub fn take_in(
        &mut self,
        part: Part,
        swapped: bool,
        moment: Moment,
        sources: &[Source],
        touched: &mut Touched,
    ) {
        let own = part.fixture_own();
        let fixture = Fact::Fixture(part.fixture.clone());
        let fixture = if swapped { fixture.swapped() } else { fixture };
        for source in part.sources() {
            self.apply(&fixture, Origin { source, own, moment, sources }, touched);
        }
        for (source, fact) in part.facts {
            let fact = if swapped { fact.swapped() } else { fact };
            self.apply(&fact, Origin { source, own, moment, sources }, touched);
        }
        for mut book in part.books {
            if swapped {
                book.swap();
            }
            self.take_book(book, sources, touched);
        }
    }

    fn take_play(&self, source: SourceNumber, part: &mut Part) {
        let view = self.views.iter().find(|view| view.source == source);
        let leads = PLAY.iter().any(|kind| self.leads.of(*kind) == Some(source));
        let play = match view {
            Some(view) => &view.play,
            None if leads => &self.play,
            None => return,
        };
        let now = Moment { source: None, received: 0 };
        for kind in PLAY {
            let told = play.told(kind, now);
            part.facts.extend(told.into_iter().map(|fact| (source, fact)));
        }
    }

    fn take_books(&mut self, source: SourceNumber, part: &mut Part) {
        for (place, book) in self.books.iter_mut().enumerate() {
            if book.source == source {
                let empty = Book::new(Arc::clone(&book.slug), source);
                part.books.push(mem::replace(book, empty));
                part.books_left.push(place);
            }
        }
        let reserves = mem::take(&mut self.reserves);
        let (taken, stay) = reserves.into_iter().partition(|book| book.source == source);
        self.reserves = stay;
        part.books.extend::<Vec<Book>>(taken);
    }

    fn take_book(&mut self, book: Book, sources: &[Source], touched: &mut Touched) {
        let same = |own: &Book| own.slug == book.slug;
        match self.books.iter().position(same) {
            Some(place) if self.books[place].markets.is_empty() => {
                self.books[place] = book;
                self.settle_book(place, touched);
            }
            Some(place) => {
                self.reserves.push(book);
                self.succeed_in_book(place, sources, touched);
            }
            None => {
                self.books.push(book);
                self.settle_book(self.books.len() - 1, touched);
            }
        }
    }

    fn settle_book(&mut self, place: usize, touched: &mut Touched) {
        for (market, own) in self.books[place].markets.iter().enumerate() {
            self.consensus.note(own, place, market);
        }
        touched.replaced.push(place);
        touched.book(place);
    }
}

impl Part {
    /// Who told it.
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

    fn fixture_own(&self) -> Id {
        self.members[0].own
    }
}

impl Book {
    /// Tells the sides the other way round.
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

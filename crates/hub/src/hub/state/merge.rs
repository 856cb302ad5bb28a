//! Merges the facts of several sources into one match.
//!
//! - Each kind of fact has a primary source: the live one of the highest rank, among equals the
//!   first. Facts of other sources are stored separately and do not change the public state.
//! - When another source takes over, its state becomes public, but a takeover never lowers a score,
//!   since the source may only be behind. Its later facts count in full.
//! - The same incident has one public id for all sources: that of the first. Two sources report the
//!   same incident if kind and side are equal and the minutes are close.
//! - A goal is published once the primary score includes it, even if another source is primary for
//!   incidents: see [`super::goals`].
//! - A bookmaker's book comes from one source at a time; those of other sources are standbys.

use std::{collections::HashMap, sync::Arc};

use facts::event::{
    About, Eid, Fact, Fixture, FootballFact, Id, Incident, IncidentKind, MarketChange, OddsFact,
};

use super::{
    Book, BookDelta, BookEvent, Life, Match, MatchDelta, MatchMember, Moment, Play,
    primary::{SourceView, best},
};
use crate::{
    hub::feeds::{FactKind, Source, SourceNumber},
    push::PushDuty,
};

/// The source and time of a fact, and the state of all sources.
#[derive(Debug, Clone, Copy)]
pub struct Origin<'a> {
    pub source: SourceNumber,
    /// The id derived from the provider's key of the match.
    pub local_id: Id,
    pub moment: Moment,
    pub sources: &'a [Source],
}

impl Match {
    /// Applies one fact. A fact of another sport than the match's is not applied.
    pub fn apply(&mut self, fact: &Fact, origin: Origin<'_>, delta: &mut MatchDelta) -> bool {
        match (fact, &self.play) {
            (Fact::Fixture(fixture), _) => self.apply_fixture(fixture, origin, delta),
            (Fact::Odds(fact), _) => self.apply_odds(fact, origin, delta),
            (Fact::About(about), _) => self.apply_about(about, origin, delta),
            (Fact::Football(_), Play::Football(_))
            | (Fact::Tennis(_), Play::Tennis(_))
            | (Fact::Scoreboard(_), Play::Scoreboard(_))
            | (Fact::Race(_), Play::Race(_)) => {
                self.apply_play(fact, origin, delta);
            }
            _ => return false,
        }
        true
    }

    /// A source of lower rank fills in missing fields; no known field is lost.
    fn apply_fixture(&mut self, fixture: &Fixture, origin: Origin<'_>, delta: &mut MatchDelta) {
        let member = MatchMember::new(origin.local_id, fixture, origin.source);
        if !self.members.contains(&member) {
            self.members.push(member);
            delta.fixture = true;
        }
        let rank =
            |source: SourceNumber| origin.sources[source.0].policy.ranks.get(FactKind::Fixture);
        let primary = self.primaries.get(FactKind::Fixture).unwrap_or(origin.source);
        let is_primary = primary == origin.source || rank(origin.source) > rank(primary);
        let mut merged = if is_primary { fixture.clone() } else { self.fixture.clone() };
        if is_primary {
            self.primaries.set(FactKind::Fixture, origin.source);
        }
        // A stream of a provider may carry only ids where its scores have names.
        let other = if is_primary { &self.fixture } else { fixture };
        merged.competition = merged.competition.or_else(|| other.competition.clone());
        merged.start = merged.start.or(other.start);
        merged.date = merged.date.or(other.date);
        merged.sides = merged.sides.or_else(|| other.sides.clone());
        if self.fixture != merged {
            self.fixture = merged;
            delta.fixture = true;
        }
    }

    /// The primary source of the fixture overwrites fields, others fill in missing ones. In the
    /// stream this only changes documents of races, which show their title.
    fn apply_about(&mut self, about: &About, origin: Origin<'_>, delta: &mut MatchDelta) {
        let title = |about: &About| {
            let About { round_name, venue, country, distance, .. } = about;
            (round_name.clone(), venue.clone(), country.clone(), distance.clone())
        };
        let titled = title(&self.about);
        if self.primaries.get(FactKind::Fixture) == Some(origin.source) {
            let before = std::mem::replace(&mut self.about, about.clone());
            self.about.fill_from(&before);
        } else {
            self.about.fill_from(about);
        }
        if matches!(self.play, Play::Race(_)) && title(&self.about) != titled {
            delta.fixture = true;
        }
    }

    fn apply_play(&mut self, fact: &Fact, origin: Origin<'_>, delta: &mut MatchDelta) {
        if let Some(start) = self.new_period_start(fact, origin) {
            self.apply_play(&start, origin, delta);
        }
        let kind = kind(fact);
        self.touched.play = true;
        if self.views.is_empty() {
            if self.is_alone(origin.source) {
                self.primaries.claim(kind, origin.source);
                return self.play.apply(fact, true, origin.moment, delta);
            }
            self.begin_views();
        }
        let view = self.view(origin.source);
        view.mark_reported(kind);
        view.play.apply(fact, true, origin.moment, &mut MatchDelta::default());
        if self.primaries.claim(kind, origin.source) {
            let scores = self.primaries.claim(FactKind::Score, origin.source);
            if self.is_unconfirmed(fact, origin.source) {
                return;
            }
            let fact = self.in_public_names(fact, origin.source);
            self.play.apply(&fact, scores, origin.moment, delta);
            if kind == FactKind::Score {
                self.confirm_goals(origin.moment, delta);
            }
        } else {
            self.succeed(kind, origin.moment, origin.sources, delta);
        }
    }

    /// The start of a period that a source reports by a status, if it states the time.
    fn new_period_start(
        &self,
        fact: &Fact,
        Origin { source, moment, .. }: Origin<'_>,
    ) -> Option<Fact> {
        let Fact::Football(FootballFact::Status(status)) = fact else { return None };
        let view = self.views.iter().find(|view| view.source == source).map(|view| &view.play);
        let is_only = self.views.is_empty() && self.is_alone(source);
        let Play::Football(football) = view.or_else(|| is_only.then_some(&self.play))? else {
            return None;
        };
        football.new_period_start(*status, moment.source?).map(Fact::Football)
    }

    /// Whether no other source has reported the play.
    fn is_alone(&self, source: SourceNumber) -> bool {
        let others =
            |kind: &FactKind| self.primaries.get(*kind).is_some_and(|primary| primary != source);
        !PLAY.iter().any(others)
    }

    /// Starts views for a second source: the public state so far is the first one's view.
    fn begin_views(&mut self) {
        let first = PLAY.iter().find_map(|kind| self.primaries.get(*kind));
        let Some(first) = first else { return };
        if let Play::Football(football) = &self.play {
            let names = football.incidents.iter().map(|entry| &entry.incident.eid);
            self.names.extend(names.map(|eid| ((first, Arc::clone(eid)), Arc::clone(eid))));
        }
        self.views.push(SourceView::new(
            first,
            self.play.clone(),
            self.primaries.kinds_led_by(first),
        ));
    }

    fn view(&mut self, source: SourceNumber) -> &mut SourceView {
        let index = self.views.iter().position(|view| view.source == source);
        let index = index.unwrap_or_else(|| {
            let play = Play::new(self.sport);
            self.views.push(SourceView::new(source, play, [false; FactKind::COUNT]));
            self.views.len() - 1
        });
        &mut self.views[index]
    }

    /// Chooses the primary sources again after sources went down or came back.
    pub fn reconsider(&mut self, moment: Moment, sources: &[Source], delta: &mut MatchDelta) {
        for kind in PLAY {
            self.succeed(kind, moment, sources, delta);
        }
        for index in 0..self.books.len() {
            self.succeed_in_book(index, sources, delta);
        }
    }

    fn succeed(
        &mut self,
        kind: FactKind,
        moment: Moment,
        sources: &[Source],
        delta: &mut MatchDelta,
    ) {
        let Some(next) = self.primaries.successor(kind, &self.views, sources) else { return };
        self.primaries.set(kind, next);
        self.touched.play = true;
        let Some(view) = self.views.iter().find(|view| view.source == next) else { return };
        for fact in view.play.facts(kind, moment) {
            if self.is_unconfirmed(&fact, next) {
                continue;
            }
            let fact = self.in_public_names(&fact, next);
            // The source may only be behind: only its later facts lower a score.
            if !self.play.is_ahead_of(&fact) {
                self.play.apply(&fact, true, moment, delta);
            }
        }
        if kind == FactKind::Score {
            self.confirm_goals(moment, delta);
        }
    }

    /// Replaces the ids of incidents in a fact by their public ids.
    pub(super) fn in_public_names(&mut self, fact: &Fact, source: SourceNumber) -> Fact {
        let mut fact = fact.clone();
        if self.views.is_empty() {
            return fact;
        }
        if let Fact::Football(football) = &mut fact {
            match football {
                FootballFact::Incident(it) | FootballFact::Correct(it) => {
                    it.eid = self.public_name(source, it);
                }
                FootballFact::Retract { eid, .. } => {
                    if let Some(name) = self.names.get(&(source, Arc::clone(eid))) {
                        *eid = Arc::clone(name);
                    }
                }
                FootballFact::Status(_)
                | FootballFact::Clock { .. }
                | FootballFact::Score(_)
                | FootballFact::Stats { .. }
                | FootballFact::Ball(_)
                | FootballFact::LineUp { .. }
                | FootballFact::PlayerStats { .. }
                | FootballFact::Analysis(_)
                | FootballFact::PeriodStart { .. } => {}
            }
        }
        fact
    }

    fn public_name(&mut self, source: SourceNumber, incident: &Incident) -> Eid {
        let key = (source, Arc::clone(&incident.eid));
        if let Some(name) = self.names.get(&key) {
            return Arc::clone(name);
        }
        let Play::Football(football) = &self.play else { return Arc::clone(&incident.eid) };
        let taken = |eid: &Eid| self.names.iter().any(|((by, _), it)| *by == source && it == eid);
        let mut public = football.incidents.iter().filter(|it| it.retracted.is_none());
        let same = public.find(|it| is_same(&it.incident, incident) && !taken(&it.incident.eid));
        let name = same.map(|it| Arc::clone(&it.incident.eid));
        let name = name.unwrap_or_else(|| football.free_name(&incident.eid, source));
        self.names.insert(key, Arc::clone(&name));
        name
    }

    fn apply_odds(&mut self, fact: &OddsFact, origin: Origin<'_>, delta: &mut MatchDelta) {
        let index = self.books.iter().position(|book| book.slug == fact.book);
        let index = index.unwrap_or_else(|| {
            self.books.push(Book::new(Arc::clone(&fact.book), origin.source));
            self.books.len() - 1
        });
        if self.books[index].source != origin.source {
            self.keep_standby(fact, origin);
            return self.succeed_in_book(index, origin.sources, delta);
        }
        let sick = origin.sources[origin.source.0].is_sick();
        let delta = delta.book(index);
        let book = &mut self.books[index];
        let guarded = book.guard.set_feed_sick(sick);
        self.touched.all |= guarded.is_some();
        delta.events.extend(guarded.map(BookEvent::Guard));
        let Some(market) = book.apply(fact, origin.moment, delta) else { return };
        self.touched.markets.insert((index, market));
        if let MarketChange::Define(_) = &fact.change {
            self.consensus.note(&book.markets[market], index, market);
        }
    }

    /// Stores a fact about a book whose primary source is another one.
    fn keep_standby(&mut self, fact: &OddsFact, origin: Origin<'_>) {
        let is_same = |book: &Book| (&book.slug, book.source) == (&fact.book, origin.source);
        let index = self.standby_books.iter().position(is_same).unwrap_or_else(|| {
            self.standby_books.push(Book::new(Arc::clone(&fact.book), origin.source));
            self.standby_books.len() - 1
        });
        self.standby_books[index].apply(fact, origin.moment, &mut BookDelta::default());
    }

    pub(super) fn succeed_in_book(
        &mut self,
        book_index: usize,
        sources: &[Source],
        delta: &mut MatchDelta,
    ) {
        let book = &self.books[book_index];
        let same = |standby: &&Book| standby.slug == book.slug && !standby.markets.is_empty();
        let candidates = self.standby_books.iter().filter(same).map(|standby| standby.source);
        let Some(next) = best(FactKind::Odds, Some(book.source), candidates, sources) else {
            return;
        };
        let slug = Arc::clone(&book.slug);
        let standby = self.standby_books.iter().position(|it| it.source == next && it.slug == slug);
        let Some(standby) = standby else { return };
        self.touched.all = true;
        std::mem::swap(&mut self.books[book_index], &mut self.standby_books[standby]);
        self.consensus.forget_book(book_index);
        for (market_index, market) in self.books[book_index].markets.iter().enumerate() {
            self.consensus.note(market, book_index, market_index);
        }
        delta.replaced.push(book_index);
        let book = delta.book(book_index);
        book.parts.clear();
        book.events.clear();
    }

    /// Drops all facts of a source that restarts. Returns the indexes of its books, which are now
    /// empty.
    pub fn forget_source(&mut self, source: SourceNumber) -> Vec<usize> {
        self.touched.all = true;
        self.primaries.vacate(source);
        self.views.retain(|view| view.source != source);
        self.standby_books.retain(|book| book.source != source);
        self.names.retain(|(other, _), _| *other != source);
        let is_of_source = |index: &usize| self.books[*index].source == source;
        let books: Vec<usize> = (0..self.books.len()).filter(is_of_source).collect();
        for index in &books {
            let slug = Arc::clone(&self.books[*index].slug);
            self.books[*index] = Book::new(slug, source);
            self.consensus.forget_book(*index);
        }
        books
    }

    /// Whether any other source contributes to the match.
    #[must_use]
    pub fn has_other_source(&self, source: SourceNumber) -> bool {
        let primary =
            |kind: FactKind| self.primaries.get(kind).is_some_and(|primary| primary != source);
        FactKind::ALL.into_iter().any(primary)
            || self.views.iter().any(|view| view.source != source)
            || self.books.iter().any(|book| book.source != source)
    }

    /// Whether a source contributes to the match.
    #[must_use]
    pub fn has_source(&self, source: SourceNumber) -> bool {
        self.sources().any(|it| it == source)
    }

    /// The sources that contribute to the match, some several times.
    fn sources(&self) -> impl Iterator<Item = SourceNumber> {
        let primaries = FactKind::ALL.iter().filter_map(|kind| self.primaries.get(*kind));
        let views = self.views.iter().map(|view| view.source);
        primaries.chain(views).chain(self.sources_of_books(|_| true))
    }

    fn sources_of_books(&self, is_meant: fn(&Book) -> bool) -> impl Iterator<Item = SourceNumber> {
        let books = self.books.iter().chain(&self.standby_books);
        books.filter(move |book| is_meant(book)).map(|book| book.source)
    }

    /// What of the facts of its sources somebody may rely on now, some sources several times.
    pub(in crate::hub) fn duties(&self) -> impl Iterator<Item = (SourceNumber, PushDuty)> {
        let life = self.life();
        let in_play = (life == Life::Live).then(|| self.sources()).into_iter().flatten();
        let is_open: fn(&Book) -> bool = |book| book.life() != Life::Ended;
        let prices = (life != Life::Ended).then(|| self.sources_of_books(is_open));
        let prices = prices.into_iter().flatten();
        let prices = prices.map(|source| (source, PushDuty::Prices));
        in_play.map(|source| (source, PushDuty::InPlay)).chain(prices)
    }
}

/// The kinds of fact that have [`SourceView`]s.
pub(super) const PLAY: [FactKind; 4] =
    [FactKind::Score, FactKind::Incidents, FactKind::Stats, FactKind::Ball];

/// Public ids of incidents, by source and the source's id.
pub(super) type IncidentNames = HashMap<(SourceNumber, Eid), Eid>;

fn kind(fact: &Fact) -> FactKind {
    match fact {
        Fact::Fixture(_) | Fact::About(_) => FactKind::Fixture,
        Fact::Odds(_) => FactKind::Odds,
        Fact::Tennis(_) | Fact::Scoreboard(_) | Fact::Race(_) => FactKind::Score,
        Fact::Football(fact) => match fact {
            FootballFact::Status(_)
            | FootballFact::Clock { .. }
            | FootballFact::Score(_)
            | FootballFact::PeriodStart { .. } => FactKind::Score,
            FootballFact::Incident(_) | FootballFact::Correct(_) | FootballFact::Retract { .. } => {
                FactKind::Incidents
            }
            FootballFact::Stats { .. }
            | FootballFact::LineUp { .. }
            | FootballFact::PlayerStats { .. }
            | FootballFact::Analysis(_) => FactKind::Stats,
            FootballFact::Ball(_) => FactKind::Ball,
        },
    }
}

/// Minutes by which two sources may differ about the same incident: one counts from 0, another from
/// 1, and one records when it was reviewed.
const MINUTES_APART: u16 = 3;

fn is_same(one: &Incident, other: &Incident) -> bool {
    let same_kind = match (one.kind, other.kind) {
        (IncidentKind::Goal(_), IncidentKind::Goal(_))
        | (IncidentKind::Var(_), IncidentKind::Var(_)) => true,
        (one, other) => one == other,
    };
    let minute = |it: &Incident| it.minute + it.added.unwrap_or(0);
    let close = minute(one).abs_diff(minute(other)) <= MINUTES_APART;
    let is_period = matches!(one.kind, IncidentKind::Period(_));
    same_kind && one.side == other.side && (close || is_period)
}

//! Seasons of football-data.co.uk to facts: each match in three batches.
//!
//! An hour before the kick-off come the fixture and the prices, a minute before it the closing
//! prices, two hours after it the result, with which the markets close. Where the time of the kick-off is
//! unknown it is taken to be noon in London, for the clock alone: the fixture then has a date and
//! no start. The file does not say when prices or results were so, so batches say nothing of it
//! either. Matches are emitted in the order of this clock, not in the order of the file.
//!
//! The provider has no keys: a match is its division, date and teams.

mod bookmaker;
mod competition;
mod market;

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

use facts::event::{
    About, Class, Fact, Fixture, FootballFact, FootballScore, FootballStatus, Id, Micros,
    Participant, Side, Sport, Stat, Timed,
};
use jiff::civil::{Date, Time};

use self::market::Market;
use super::{
    Interpret, Interpretation, Signal, batch,
    reported_market::{MarketRef, MarketState},
};
use crate::{
    decode::football_data_couk::{self as decode, Price, Row, london},
    error::{DecodeError, RefusalKind, Result},
};

const PROVIDER: &str = "football-data-couk";
const HOUR_US: Micros = 3_600_000_000;
const MINUTE_US: Micros = 60_000_000;

/// Takes whole files. It remembers nothing between them.
#[derive(Debug, Default)]
pub struct Interpreter {}

impl Interpret for Interpreter {
    fn message(&mut self, bytes: &[u8], _received: Micros, out: &mut Interpretation) -> Result<()> {
        let mut season = decode::decode(bytes)?;
        if season.rows.is_empty() {
            let none = || DecodeError::new(RefusalKind::Value, "no matches");
            return Err(season.notices.into_iter().next().unwrap_or_else(none));
        }
        let mut batches = Vec::with_capacity(season.rows.len() * 3);
        let mut first: HashMap<&str, Date> = HashMap::new();
        for row in &season.rows {
            let first = first.entry(&row.division).or_insert(row.date);
            *first = row.date.min(*first);
        }
        for row in &season.rows {
            Match::new(row, first[row.division.as_str()]).play(&mut batches, &mut season.notices);
        }
        batches.sort_by_key(|timed| timed.clock_us);
        out.batches.append(&mut batches);
        season.notices.truncate(decode::NOTICES_MAX);
        out.notices.append(&mut season.notices);
        out.signals.push(Signal::Fresh);
        Ok(())
    }
}

/// A bookmaker and its market.
type Key = (&'static str, Arc<str>);

/// A match with the reported state of its markets.
struct Match<'a> {
    row: &'a Row,
    /// The day of the first match of its division in the file.
    first: Date,
    id: Id,
    key: String,
    kick_off: Micros,
    books: BTreeMap<Key, (Market, MarketState)>,
}

impl<'a> Match<'a> {
    fn new(row: &'a Row, first: Date) -> Self {
        let [home, away] = &row.teams;
        let key = format!("{}/{}/{home}/{away}", row.division, row.date);
        let noon = || london(row.date, Time::constant(12, 0, 0, 0));
        let kick_off = row.start.or_else(noon).unwrap_or_default();
        let id = Id::derive(PROVIDER, "match", &key);
        Self { row, first, id, key, kick_off, books: BTreeMap::new() }
    }

    fn play(mut self, batches: &mut Vec<Timed>, notices: &mut Vec<DecodeError>) {
        let not_started = Fact::Football(FootballFact::Status(FootballStatus::NotStarted));
        let mut facts = vec![Fact::Fixture(self.fixture())];
        facts.extend(self.about().map(|about| Fact::About(Box::new(about))));
        facts.push(not_started);
        let prices = self.prices(false, &mut facts);
        batches.push(self.batch(self.kick_off - HOUR_US, prices, facts));
        let mut facts = Vec::new();
        let prices = self.prices(true, &mut facts);
        if !facts.is_empty() {
            batches.push(self.batch(self.kick_off - MINUTE_US, prices, facts));
        }
        let facts = self.result(notices);
        if !facts.is_empty() {
            batches.push(self.batch(self.kick_off + 2 * HOUR_US, 0, facts));
        }
    }

    fn batch(&self, clock_us: Micros, price_changes: u32, facts: Vec<Fact>) -> Timed {
        let mut batch = batch(Sport::Football, self.id, facts);
        batch.price_changes = price_changes;
        Timed { clock_us, batch }
    }

    fn fixture(&self) -> Fixture {
        let (division, season) = (&self.row.division, self.row.season.as_deref());
        let participant = |name: &String| Participant {
            id: Id::derive(PROVIDER, "team", name),
            name: name.as_str().into(),
        };
        Fixture {
            provider: PROVIDER.into(),
            provider_key: self.key.as_str().into(),
            competition: (!division.is_empty())
                .then(|| competition::from_division(division, season, self.row.date, self.first)),
            start: self.row.start,
            date: Some(self.row.date),
            sides: Some(self.row.teams.each_ref().map(participant)),
            class: Class::in_country(self.country()),
        }
    }

    fn country(&self) -> Option<&str> {
        self.row.country.as_deref().or_else(|| competition::country(&self.row.division))
    }

    fn about(&self) -> Option<About> {
        let referee = self.row.referee.as_deref().map(|name| Participant {
            id: Id::derive(PROVIDER, "referee", name),
            name: name.into(),
        });
        let country = self.country().map(Into::into);
        let attendance = self.row.attendance;
        let about = About { country, referee, attendance, ..About::default() };
        (about != About::default()).then_some(about)
    }

    /// The prices before the kick-off, or the last ones. Returns how many there are.
    fn prices(&mut self, closing: bool, facts: &mut Vec<Fact>) -> u32 {
        let mut of_market: BTreeMap<Key, (Market, Vec<&Price>)> = BTreeMap::new();
        for price in self.row.prices.iter().filter(|price| price.closing == closing) {
            let market = Market::new(price);
            let key = (bookmaker::slug(price.book), market.id());
            of_market.entry(key).or_insert_with(|| (market, Vec::new())).1.push(price);
        }
        self.move_lines(&of_market, facts);
        let mut count = 0;
        for (key, (market, prices)) in of_market {
            let market_ref = MarketRef { book: key.0.into(), market: key.1.clone() };
            let state =
                &mut self.books.entry(key).or_insert_with(|| (market, MarketState::default())).1;
            let definition = market.open(&self.row.teams);
            let prices = prices.into_iter().map(|it| (market::selection_id(it.bet), it.price));
            count += state.update(&market_ref, definition, prices, facts);
        }
        count
    }

    /// Suspends a handicap whose bookmaker offers another line now.
    fn move_lines<T>(&mut self, now: &BTreeMap<Key, (Market, T)>, facts: &mut Vec<Fact>) {
        let offers = |book| now.iter().any(|(key, (it, _))| key.0 == book && it.is_handicap());
        for (key, (market, state)) in &mut self.books {
            if market.is_handicap() && !now.contains_key(key) && offers(key.0) {
                state.suspend(&MarketRef { book: key.0.into(), market: key.1.clone() }, facts);
            }
        }
    }

    fn result(&mut self, notices: &mut Vec<DecodeError>) -> Vec<Fact> {
        let Some(goals) = self.row.full_time else { return Vec::new() };
        self.compare(goals, notices);
        let half_time = self.row.half_time;
        let score = FootballScore { goals, half_time, ..FootballScore::default() };
        let status = FootballFact::Status(FootballStatus::Finished);
        let stats = Side::BOTH.into_iter().filter_map(|side| self.stats(side));
        let mut facts: Vec<_> = [FootballFact::Score(score)].into_iter().chain(stats).collect();
        facts.push(status);
        let mut facts: Vec<_> = facts.into_iter().map(Fact::Football).collect();
        for ((book, id), (market, state)) in &mut self.books {
            let market_ref = MarketRef { book: (*book).into(), market: id.clone() };
            state.define(&market_ref, market.closed(&self.row.teams, goals), &mut facts);
        }
        facts
    }

    /// The letter of the result is only a check on the goals.
    fn compare(&self, [home, away]: [u16; 2], notices: &mut Vec<DecodeError>) {
        let letter = match home.cmp(&away) {
            std::cmp::Ordering::Greater => 'H',
            std::cmp::Ordering::Equal => 'D',
            std::cmp::Ordering::Less => 'A',
        };
        if self.row.result.is_some_and(|result| result != letter) {
            let line = self.row.line;
            let reason = format!("row {line}: the result is not that of the goals {home}-{away}");
            notices.push(DecodeError::new(RefusalKind::Value, reason));
        }
    }

    fn stats(&self, side: Side) -> Option<FootballFact> {
        let row = self.row;
        let counts = [
            (Stat::TotalShots, row.shots),
            (Stat::ShotsOnTarget, row.shots_on_target),
            (Stat::CornerKicks, row.corners),
            (Stat::Fouls, row.fouls),
            (Stat::YellowCards, row.yellow),
            (Stat::RedCards, row.red),
            (Stat::Offsides, row.offsides),
        ];
        let counted =
            counts.into_iter().filter_map(|(stat, counts)| Some((stat, counts[side.index()]?)));
        let values: Vec<_> = counted.collect();
        (!values.is_empty()).then_some(FootballFact::Stats { side, values })
    }
}

#[cfg(test)]
mod tests {
    use facts::event::{MarketChange, OddsFact};

    use super::*;

    const HEADER: &str = "Div,Date,HomeTeam,AwayTeam,FTHG,FTAG,FTR,HTHG,HTAG,HS,AS,B365H,B365D,\
        B365A,P>2.5,P<2.5,AHh,PAHH,PAHA,PSCH,PSCD,PSCA,AHCh,PCAHH,PCAHA";

    fn played(rows: &str) -> Interpretation {
        let mut played = Interpretation::default();
        let text = format!("{HEADER}\n{rows}\n");
        Interpreter::default().message(text.as_bytes(), 0, &mut played).unwrap();
        assert!(played.batches.is_sorted_by_key(|it| it.clock_us));
        played
    }

    /// The odds of each batch as `book market status selection=price-or-result`.
    fn odds(played: &Interpretation) -> Vec<Vec<String>> {
        let text = |fact: &Fact| {
            let Fact::Odds(OddsFact { book, market, change }) = fact else { return None };
            let text = match change {
                MarketChange::Define(it) => {
                    let statuses: Vec<_> =
                        it.selections.iter().map(|it| it.status.as_str()).collect();
                    format!("{} {}", it.status.as_str(), statuses.join(" "))
                }
                MarketChange::Prices { selections, .. } => {
                    let prices = selections.iter().map(|it| it.price.unwrap().to_string());
                    prices.collect::<Vec<_>>().join(" ")
                }
                MarketChange::Clear => "clear".to_owned(),
            };
            Some(format!("{book} {market} {text}"))
        };
        let of_batch = |timed: &Timed| {
            timed.batch.events.iter().filter_map(|event| text(&event.fact)).collect()
        };
        played.batches.iter().map(of_batch).collect()
    }

    #[test]
    fn row_without_a_division_is_of_no_competition() {
        let played = played(",17/08/2024,Ann,Bea,2,1,H,1,0,,,,,,,,,,,,,,,,");
        let Fact::Fixture(fixture) = &played.batches[0].batch.events[0].fact else { panic!() };
        assert_eq!(fixture.competition, None);
    }

    #[test]
    fn match_is_emitted_in_three_batches() {
        let row = "E0,13/08/16,A,B,2,1,H,1,0,9,8,2.4,3.3,3.25,1.9,1.8,-1,2,1.8,2.5,3,3,-1,2.1,1.7";
        let played = played(row);
        assert_eq!(played.notices, []);
        let expected: [&[&str]; 3] = [
            &[
                "bet365 match_winner open active active active",
                "bet365 match_winner 2.4 3.3 3.25",
                "pinnacle asian_handicap@-1 open active active",
                "pinnacle asian_handicap@-1 2 1.8",
                "pinnacle over_under@2.5 open active active",
                "pinnacle over_under@2.5 1.9 1.8",
            ],
            &[
                "pinnacle asian_handicap@-1 2.1 1.7",
                "pinnacle match_winner open active active active",
                "pinnacle match_winner 2.5 3 3",
            ],
            &[
                "bet365 match_winner closed winner loser loser",
                "pinnacle asian_handicap@-1 closed push push",
                "pinnacle match_winner closed winner loser loser",
                "pinnacle over_under@2.5 closed winner loser",
            ],
        ];
        assert_eq!(odds(&played), expected);
        let prices: Vec<_> = played.batches.iter().map(|it| it.batch.price_changes).collect();
        assert_eq!(prices, [7, 5, 0]);
    }

    #[test]
    fn handicap_at_another_line_is_a_separate_market() {
        let row = "E0,13/08/16,A,B,2,1,H,1,0,9,8,,,,,,-1,2,1.8,,,,-0.75,2.1,1.7";
        let expected: [&[&str]; 3] = [
            &["pinnacle asian_handicap@-1 open active active", "pinnacle asian_handicap@-1 2 1.8"],
            &[
                "pinnacle asian_handicap@-1 suspended active active",
                "pinnacle asian_handicap@-0.75 open active active",
                "pinnacle asian_handicap@-0.75 2.1 1.7",
            ],
            &[
                "pinnacle asian_handicap@-0.75 closed half_won half_lost",
                "pinnacle asian_handicap@-1 closed push push",
            ],
        ];
        assert_eq!(odds(&played(row)), expected);
    }

    #[test]
    fn clock_never_decreases_for_rows_in_any_order() {
        let played = played("E0,14/08/16,A,B,0,0,D\nE0,13/08/16,C,D,1,0,H\nE0,13/08/16,E,F,,,\n");
        assert_eq!(played.batches.len(), 5, "a match without a result has no end");
    }

    #[test]
    fn result_that_contradicts_the_goals_is_reported() {
        let played = played("E0,14/08/16,A,B,0,3,H\n");
        let reason = "row 2: the result is not that of the goals 0-3";
        assert_eq!(played.notices[0].reason, reason);
    }
}

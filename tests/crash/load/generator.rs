//! Matches that go on with each message, from a seed.

use std::{
    collections::{BTreeSet, VecDeque},
    sync::atomic::Ordering,
};

use base::clock::now;
use serde_json::{Value, json};

use super::{BOOKMAKERS, PushCounters};
use crate::rng::Rng;

/// A message, and the number of lines in it.
#[derive(Debug, Default)]
pub(super) struct PushMessage {
    pub(super) text: String,
    pub(super) lines: u64,
    /// The match of each line.
    pub(super) matches: Vec<String>,
    /// The hub may have applied it already.
    pub(super) is_repeated: bool,
}

/// The matches of a source.
#[derive(Debug)]
pub(crate) struct Generator {
    rng: Rng,
    source: &'static str,
    matches: Vec<Match>,
    /// Matches that began, and messages, so far.
    begun: u64,
    sent: u64,
    /// Lines that must come before others.
    first: VecDeque<Value>,
    /// Matches of which all was sent.
    ended: BTreeSet<String>,
}

#[derive(Debug)]
pub(crate) struct Match {
    name: String,
    pub(crate) sport: &'static str,
    /// Steps that it has left.
    left: u64,
    second: u64,
    score: [u64; 2],
    /// A score was sent.
    has_score: bool,
    /// The points of the score that was sent last.
    points_now: u64,
    goals: Vec<String>,
    incidents: u64,
    corners: u64,
    points: u64,
    game: [u64; 2],
    games: [u64; 2],
    books: Vec<Book>,
}

#[derive(Debug)]
struct Book {
    name: &'static str,
    is_open: bool,
    /// In hundredths.
    prices: [u64; 5],
    /// The prices that were sent.
    is_sent: [bool; 5],
}

impl Generator {
    /// So many matches at a time of each sport.
    pub(crate) fn new(seed: u64, source: &'static str, football: usize, tennis: usize) -> Self {
        let rng = Rng::new(seed, source.bytes().map(u64::from).sum());
        let mut generator = Self {
            rng,
            source,
            matches: Vec::new(),
            begun: 0,
            sent: 0,
            first: VecDeque::new(),
            ended: BTreeSet::new(),
        };
        for sport in [vec!["football"; football], vec!["tennis"; tennis]].concat() {
            let begun = generator.begin(sport);
            generator.matches.push(begun);
        }
        generator
    }

    fn begin(&mut self, sport: &'static str) -> Match {
        self.begun += 1;
        let books = BOOKMAKERS.map(|name| Book {
            name,
            is_open: false,
            prices: [200; 5],
            is_sent: [false; 5],
        });
        let begun = Match {
            name: format!("{}-{}", self.source, self.begun),
            sport,
            // So that matches end and are evicted within a round.
            left: 40 + self.rng.below(300),
            second: self.rng.below(2_000),
            score: [0, 0],
            has_score: false,
            points_now: 0,
            goals: Vec::new(),
            incidents: 0,
            corners: 0,
            points: 0,
            game: [0, 0],
            games: [0, 0],
            books: books.into(),
        };
        self.first.extend(begun.announcement());
        begun
    }

    /// The response was to all lines. After a refusal all matches are announced again.
    pub(super) fn take_response(
        &mut self,
        message: &PushMessage,
        response: &str,
        counters: &PushCounters,
    ) {
        let source = self.source;
        let answer: Value = serde_json::from_str(response).unwrap_or_default();
        let count = |name: &str| answer[name].as_u64();
        let (Some(accepted), Some(duplicate), Some(refused)) =
            (count("accepted"), count("duplicate"), count("refused"))
        else {
            return counters.problem(format_args!("{source}: {response} to a push"));
        };
        counters.messages.fetch_add(1, Ordering::Relaxed);
        counters.lines.fetch_add(accepted, Ordering::Relaxed);
        counters.duplicates.fetch_add(duplicate, Ordering::Relaxed);
        if accepted + duplicate + refused != message.lines {
            counters.problem(format_args!("{source}: {response} to {} lines", message.lines));
        }
        if refused == 0 {
            return;
        }
        let is_ended = |name: &&String| message.is_repeated && self.ended.contains(*name);
        let explained = message.matches.iter().filter(is_ended).count() as u64;
        if refused <= explained {
            counters.refused_after_end.fetch_add(refused, Ordering::Relaxed);
        } else {
            counters.refused.fetch_add(refused, Ordering::Relaxed);
            self.announce_again();
        }
    }

    /// The matches that have not ended.
    pub(crate) fn matches(&self) -> &[Match] {
        &self.matches
    }

    /// A hub whose log was damaged can have lost matches: all are announced again.
    fn announce_again(&mut self) {
        if !self.first.is_empty() {
            return;
        }
        for announced in &mut self.matches {
            self.first.extend(announced.announcement());
            announced.books.iter_mut().for_each(|book| book.is_open = false);
        }
    }

    /// The next message: a line, or several facts in one.
    pub(super) fn message(&mut self) -> PushMessage {
        self.sent += 1;
        let mut facts = match self.first.pop_front() {
            Some(fact) => vec![fact],
            None => self.step(),
        };
        let matches = facts.first().and_then(|fact| fact["match"].as_str());
        let matches = vec![matches.expect("each fact has a match").to_owned()];
        let mut line = match facts.len() {
            1 => facts.pop().expect("there is one"),
            _ => json!({ "batch": facts }),
        };
        line["at"] = now().into();
        line["id"] = format!("{}-{}", self.source, self.sent).into();
        PushMessage { text: line.to_string(), lines: 1, matches, is_repeated: false }
    }

    /// What happens next.
    fn step(&mut self) -> Vec<Value> {
        let index = self.rng.index(self.matches.len());
        let rng = &mut self.rng;
        let played = &mut self.matches[index];
        played.left -= 1;
        if played.left == 0 {
            let (sport, end) = (played.sport, played.end());
            self.ended.insert(played.name.clone());
            self.matches[index] = self.begin(sport);
            return end;
        }
        if rng.below(100) < 70 {
            return played.prices(rng);
        }
        if played.sport == "football" { played.football(rng) } else { played.tennis(rng) }
    }
}

impl Match {
    /// The name of its first side, which no other match has.
    pub(crate) fn home(&self) -> String {
        format!("Home {}", self.name)
    }

    /// The names of a document's fields with the values that were sent last.
    pub(crate) fn values(&self) -> Vec<(&'static str, Value)> {
        match self.sport {
            "football" => {
                let [home, away] = self.score;
                vec![("/score/home", home.into()), ("/score/away", away.into())]
            }
            _ => vec![("/points", self.points_now.into())],
        }
        .into_iter()
        .filter(|_| self.has_score)
        .collect()
    }

    /// The prices that were sent since their market was defined last: bookmaker, kind of market, outcome, price.
    pub(crate) fn last_prices(&self) -> Vec<(&'static str, &'static str, &'static str, String)> {
        let selections = [
            ("match_winner", self.sides()[0]),
            ("match_winner", "draw"),
            ("match_winner", self.sides()[1]),
            ("over_under", "over"),
            ("over_under", "under"),
        ]
        .into_iter();
        let of_book = |book: &Book| {
            let sent = selections.clone().zip(book.prices).zip(book.is_sent);
            let sent = sent.filter(|(_, is_sent)| *is_sent);
            let name = book.name;
            sent.map(|(((market, selection), price), _)| {
                (name, market, selection, format!("{}.{:02}", price / 100, price % 100))
            })
            .collect::<Vec<_>>()
        };
        self.books.iter().flat_map(of_book).collect()
    }

    fn sides(&self) -> [&'static str; 2] {
        if self.sport == "football" { ["home", "away"] } else { ["p1", "p2"] }
    }

    fn fact(&self, fact: &Value) -> Value {
        json!({"sport": self.sport, "match": self.name, "fact": fact})
    }

    fn announcement(&self) -> Vec<Value> {
        let sides = ["Home", "Away"].map(|side| json!({"name": format!("{side} {}", self.name)}));
        let status = if self.sport == "football" { "first_half" } else { "live" };
        vec![
            self.fact(&json!({"fixture": {"start": now(), "sides": sides}})),
            self.fact(&json!({ self.sport: {"status": status} })),
        ]
    }

    fn define(&self, book_index: usize, market: usize, status: &str) -> Value {
        let selection =
            |id: &str, outcome: &str| json!({"id": id, "status": "active", "outcome": outcome});
        let (kind, selections) = match (market, self.sport) {
            (0, "football") => (
                "match_winner",
                vec![selection("1", "home"), selection("x", "draw"), selection("2", "away")],
            ),
            (0, _) => ("match_winner", vec![selection("1", "p1"), selection("2", "p2")]),
            _ => ("over_under", vec![selection("o", "over"), selection("u", "under")]),
        };
        let mut define =
            json!({"kind": kind, "status": status, "in_play": true, "selections": selections});
        if market == 1 {
            define["line"] = "2.5".into();
        }
        self.market(book_index, market, &json!({ "define": define }))
    }

    fn market(&self, book_index: usize, market: usize, change: &Value) -> Value {
        let book = self.books[book_index].name;
        self.fact(
            &json!({"odds": {"book": book, "market": format!("m{market}"), "change": change}}),
        )
    }

    fn prices(&mut self, rng: &mut Rng) -> Vec<Value> {
        let book_index = rng.index(self.books.len());
        if !self.books[book_index].is_open {
            self.books[book_index].is_open = true;
            self.books[book_index].is_sent = [false; 5];
            return [0, 1].map(|market| self.define(book_index, market, "open")).into();
        }
        if rng.once_in(60) {
            self.books[book_index].is_open = false;
            self.books[book_index].is_sent = [false; 5];
            return vec![self.define(book_index, rng.index(2), "suspended")];
        }
        let book = &mut self.books[book_index];
        let market = rng.index(2);
        let ids: &[(&str, usize)] = match (market, self.sport) {
            (0, "football") => &[("1", 0), ("x", 1), ("2", 2)],
            (0, _) => &[("1", 0), ("2", 2)],
            _ => &[("o", 3), ("u", 4)],
        };
        let mut selections = Vec::new();
        for &(id, outcome) in ids {
            if rng.below(3) > 0 || selections.is_empty() {
                let price = &mut book.prices[outcome];
                *price = (*price + rng.below(21)).saturating_sub(10).clamp(101, 2_000);
                book.is_sent[outcome] = true;
                let price = format!("{}.{:02}", *price / 100, *price % 100);
                selections.push(json!({"id": id, "price": price}));
            }
        }
        vec![self.market(book_index, market, &json!({"prices": {"selections": selections}}))]
    }

    fn football(&mut self, rng: &mut Rng) -> Vec<Value> {
        self.second += 1 + rng.below(3);
        let minute = self.second / 60 + 1;
        let football = |fact: Value| json!({ "football": fact });
        let player = |n: u64| json!({"name": format!("P. {n}"), "key": n.to_string()});
        let side = *rng.pick(&["home", "away"]);
        let facts = match rng.below(100) {
            0..2 => {
                self.has_score = true;
                self.incidents += 1;
                let eid = format!("g{}", self.incidents);
                self.score[usize::from(side == "away")] += 1;
                self.goals.push(eid.clone());
                let incident = json!({"eid": eid, "kind": {"goal": "regular"}, "minute": minute, "side": side,
                    "player": player(rng.below(11)), "score": self.score});
                let mut facts =
                    vec![json!({"incident": incident}), json!({"score": {"goals": self.score}})];
                let mut all: Vec<Value> = facts.drain(..).map(football).collect();
                // Some bookmakers suspend in the same message.
                if rng.once_in(2) {
                    let suspended = self.define(0, 0, "suspended");
                    self.books[0].is_open = false;
                    self.books[0].is_sent = [false; 5];
                    all.push(suspended["fact"].clone());
                }
                all
            }
            2..4 => {
                self.incidents += 1;
                let card = *rng.pick(&["yellow", "red", "second_yellow"]);
                let eid = format!("c{}", self.incidents);
                vec![football(
                    json!({"incident": {"eid": eid, "kind": card, "minute": minute, "side": side,
                    "player": player(rng.below(11))}}),
                )]
            }
            4 => match self.goals.pop() {
                Some(eid) => {
                    let side_index = usize::from(self.score[0] == 0);
                    self.score[side_index] = self.score[side_index].saturating_sub(1);
                    vec![football(
                        json!({"retract": {"of": eid, "why": "offside", "score": {"goals": self.score}}}),
                    )]
                }
                None => vec![football(json!({"incident": {"eid": format!("v{}", self.second),
                    "kind": {"var": "checking"}, "minute": minute}}))],
            },
            5 => match self.goals.last() {
                Some(eid) => vec![football(
                    json!({"correct": {"eid": eid, "kind": {"goal": "penalty"}, "minute": minute,
                    "side": side, "player": player(rng.below(11)), "score": self.score}}),
                )],
                None => vec![football(json!({"clock": {"second": self.second, "running": true}}))],
            },
            6..20 => vec![football(json!({"clock": {"second": self.second, "running": true}}))],
            20..50 => {
                self.corners += 1;
                let values = json!({"corner_kicks": self.corners / 20, "passes": self.corners});
                vec![football(json!({"stats": {"side": side, "values": values}}))]
            }
            _ => {
                let situation = *rng.pick(&["attack", "dangerous", "safe", "possession"]);
                let (x, y) = (rng.below(1001), rng.below(1001));
                vec![football(
                    json!({"ball": {"x": x, "y": y, "side": side, "situation": situation}}),
                )]
            }
        };
        facts.iter().map(|fact| self.fact(fact)).collect()
    }

    fn tennis(&mut self, rng: &mut Rng) -> Vec<Value> {
        self.points += 1;
        let winner = rng.index(2);
        let before = (self.games, self.game);
        self.game[winner] += 1;
        if self.game[winner] == 4 {
            (self.game, self.games[winner]) = ([0, 0], self.games[winner] + 1);
        }
        if self.games[winner] == 6 {
            self.games = [0, 0];
        }
        let score = |games: [u64; 2], game: [u64; 2], points: u64| json!({"server": "p1", "sets": [{"games": games}], "game": {"points": game}, "points": points});
        let eid = format!("p{}", self.points);
        let player = ["p1", "p2"][winner];
        let now = score(self.games, self.game, self.points);
        let point = json!({"tennis": {"point": {"eid": eid, "winner": player, "server": "p1", "score": now}}});
        let mut facts = vec![self.fact(&point)];
        (self.has_score, self.points_now) = (true, self.points);
        if rng.once_in(40) {
            self.points_now = self.points - 1;
            (self.games, self.game) = before;
            let was = score(self.games, self.game, self.points - 1);
            facts =
                vec![self.fact(
                    &json!({"tennis": {"retract": {"of": eid, "why": "let", "score": was}}}),
                )];
        }
        facts
    }

    fn end(&self) -> Vec<Value> {
        let closed = (0..self.books.len())
            .flat_map(|book| [0, 1].map(|market| self.define(book, market, "closed")));
        let mut facts: Vec<Value> = closed.collect();
        facts.push(self.fact(&json!({ self.sport: {"status": "finished"} })));
        facts
    }
}

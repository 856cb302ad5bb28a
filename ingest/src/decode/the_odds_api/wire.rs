//! The JSON of an answer, item by item.

use std::{fmt, marker::PhantomData};

use facts::event::Micros;
use jiff::Timestamp;
use rust_decimal::Decimal;
use serde::{
    Deserialize,
    de::{Deserializer, SeqAccess, Visitor},
};
use serde_json::value::RawValue;

use super::{Answer, Bookmaker, EventResult, Market, OddsApiEvent, OddsApiOutcome};
use crate::{
    decode::{decimal, json, json_error},
    error::{DecodeError, Result},
};

/// An object: a historical wrapper, one event, or the reason why there is no answer.
#[derive(Deserialize)]
struct Object<'a> {
    #[serde(borrow, default)]
    timestamp: Option<&'a RawValue>,
    #[serde(borrow, default)]
    data: Option<&'a RawValue>,
    #[serde(borrow, default)]
    id: Option<&'a RawValue>,
    #[serde(borrow, default)]
    message: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct EventItem<'a> {
    id: String,
    sport_key: String,
    #[serde(default)]
    sport_title: Option<String>,
    #[serde(borrow, default)]
    commence_time: Option<&'a RawValue>,
    #[serde(default)]
    home_team: Option<String>,
    #[serde(default)]
    away_team: Option<String>,
    #[serde(borrow, default)]
    bookmakers: Option<Each<BookmakerItem<'a>>>,
    #[serde(default, deserialize_with = "json::flag")]
    completed: Option<bool>,
    #[serde(borrow, default)]
    scores: Option<Each<ScoreItem<'a>>>,
    #[serde(borrow, default)]
    last_update: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct BookmakerItem<'a> {
    key: String,
    #[serde(borrow, default)]
    last_update: Option<&'a RawValue>,
    #[serde(borrow, default)]
    markets: Option<Each<MarketItem<'a>>>,
}

#[derive(Deserialize)]
struct MarketItem<'a> {
    key: String,
    #[serde(borrow, default)]
    last_update: Option<&'a RawValue>,
    #[serde(borrow, default)]
    outcomes: Option<Each<OutcomeItem<'a>>>,
}

#[derive(Deserialize)]
struct OutcomeItem<'a> {
    name: String,
    #[serde(default)]
    description: Option<String>,
    #[serde(borrow, default)]
    price: Option<&'a RawValue>,
    #[serde(borrow, default)]
    point: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct ScoreItem<'a> {
    name: String,
    #[serde(borrow, default)]
    score: Option<&'a RawValue>,
}

type Notices = Vec<DecodeError>;

pub(super) fn answer(body: &[u8]) -> Result<Answer> {
    if body.trim_ascii_start().starts_with(b"[") {
        return list(serde_json::from_slice(body).map_err(|error| json_error(&error))?, None);
    }
    let object: Object<'_> = serde_json::from_slice(body).map_err(|error| json_error(&error))?;
    if let Some(data) = object.data {
        let mut notices = Vec::new();
        let timestamp = moment("timestamp", object.timestamp, &mut notices);
        let mut answer = match data.get().starts_with('[') {
            true => list(item(data)?, timestamp)?,
            false => single(data.get().as_bytes(), timestamp)?,
        };
        answer.notices.extend(notices);
        return Ok(answer);
    }
    match (object.id, object.message) {
        (Some(_), _) => single(body, None),
        (None, Some(message)) => {
            Err(DecodeError::value(format!("the answer is {}", shortened(message.get()))))
        }
        (None, None) => Err(DecodeError::value("the answer is of no known shape")),
    }
}

fn list(items: Each<EventItem<'_>>, timestamp: Option<Micros>) -> Result<Answer> {
    let mut answer = Answer { timestamp, is_list: true, ..Answer::default() };
    let count = items.0.len();
    let events = items.used(&mut answer.notices);
    answer.has_gaps = events.len() < count;
    if events.is_empty() && answer.has_gaps {
        return Err(answer.notices.swap_remove(0));
    }
    answer.events = events.into_iter().map(|item| event(item, &mut answer.notices)).collect();
    Ok(answer)
}

fn single(body: &[u8], timestamp: Option<Micros>) -> Result<Answer> {
    let item = serde_json::from_slice(body).map_err(|error| json_error(&error))?;
    let mut answer = Answer { timestamp, ..Answer::default() };
    answer.events.push(event(item, &mut answer.notices));
    Ok(answer)
}

fn event(item: EventItem<'_>, notices: &mut Notices) -> OddsApiEvent {
    let bookmakers = item.bookmakers.map(|each| each.used(notices));
    let bookmaker = |it, notices: &mut Notices| bookmaker(it, notices);
    OddsApiEvent {
        commence: moment("commence_time", item.commence_time, notices),
        bookmakers: bookmakers
            .map(|all| all.into_iter().map(|it| bookmaker(it, notices)).collect()),
        result: item.completed.map(|completed| EventResult {
            completed,
            scores: item.scores.map(|each| {
                let scores = each.used(notices).into_iter();
                scores.filter_map(|it| Some((it.name, text(it.score?)))).collect()
            }),
            last_update: moment("last_update", item.last_update, notices),
        }),
        id: item.id,
        sport_key: item.sport_key,
        sport_title: item.sport_title,
        home: item.home_team,
        away: item.away_team,
    }
}

fn bookmaker(item: BookmakerItem<'_>, notices: &mut Notices) -> Bookmaker {
    let markets = item.markets.map(|each| each.used(notices)).unwrap_or_default();
    Bookmaker {
        last_update: moment("last_update", item.last_update, notices),
        markets: markets.into_iter().map(|it| market(it, notices)).collect(),
        key: item.key,
    }
}

fn market(item: MarketItem<'_>, notices: &mut Notices) -> Market {
    let outcomes = item.outcomes.map(|each| each.used(notices)).unwrap_or_default();
    let outcome = |it: OutcomeItem<'_>, notices: &mut Notices| OddsApiOutcome {
        price: number("price", it.price, notices),
        point: number("point", it.point, notices),
        name: it.name,
        description: it.description,
    };
    Market {
        last_update: moment("last_update", item.last_update, notices),
        outcomes: outcomes.into_iter().map(|it| outcome(it, notices)).collect(),
        key: item.key,
    }
}

fn number(what: &str, json: Option<&RawValue>, notices: &mut Notices) -> Option<Decimal> {
    let json = json?;
    let number = decimal::exact(unquoted(json));
    if number.is_none() {
        notices.push(DecodeError::value(format!(
            "{what} {} is no number that fits",
            shortened(json.get())
        )));
    }
    number
}

/// ISO 8601 with its zone, or seconds since 1970 where `dateFormat=unix` was requested.
fn moment(what: &str, json: Option<&RawValue>, notices: &mut Notices) -> Option<Micros> {
    let json = json?;
    let text = unquoted(json);
    let seconds = || text.parse::<i64>().ok()?.checked_mul(1_000_000);
    let time = text.parse::<Timestamp>().ok().map(Timestamp::as_microsecond).or_else(seconds);
    if time.is_none() {
        notices.push(DecodeError::value(format!("{what} {} is no time", shortened(json.get()))));
    }
    time
}

fn unquoted(json: &RawValue) -> &str {
    json.get().trim_matches('"').trim()
}

/// What a string says, or the text of anything else.
fn text(json: &RawValue) -> String {
    serde_json::from_str(json.get()).unwrap_or_else(|_| json.get().to_owned())
}

fn shortened(text: &str) -> String {
    text.chars().take(80).collect()
}

fn item<'a, T: Deserialize<'a>>(json: &'a RawValue) -> Result<T> {
    serde_json::from_str(json.get()).map_err(|error| json_error(&error))
}

/// A list of which each item is read for itself.
struct Each<T>(Vec<Result<T>>);

impl<T> Each<T> {
    fn used(self, notices: &mut Notices) -> Vec<T> {
        let keep = |item: Result<T>| item.map_err(|error| notices.push(error)).ok();
        self.0.into_iter().filter_map(keep).collect()
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Each<T> {
    fn deserialize<D: Deserializer<'de>>(json: D) -> Result<Self, D::Error> {
        json.deserialize_seq(EachVisitor(PhantomData))
    }
}

struct EachVisitor<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for EachVisitor<T> {
    type Value = Each<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Each<T>, A::Error> {
        let mut items = Vec::new();
        while let Some(json) = list.next_element::<&'de RawValue>()? {
            items.push(item(json));
        }
        Ok(Each(items))
    }
}

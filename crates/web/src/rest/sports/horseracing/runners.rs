//! `/horseracing/api/v2/runners/`, horses, jockeys and trainers.

use std::collections::BTreeMap;

use fanout::Micros;
use serde::Serialize;
use utoipa::ToSchema;

use super::{
    super::{
        price::{self, Movement, Source},
        request::{self, DAY, NONE, SearchParams},
        shape::NamedRow,
    },
    card::{self, RaceCard, Runner},
    races::{COMING_DAYS, PAST_DAYS},
};
use crate::{
    clock::now,
    rest::{
        ApiError, ApiRequest, ApiResult, CacheControl, Page, Param, Spec, kind::Name,
        match_filter::IdFilter, number::Number, time,
    },
};
use record::{Key, RunnerPriceRecord};

#[derive(Debug, Clone, Serialize, ToSchema)]
pub(super) struct RunnerRow {
    /// Of this horse in this race.
    id: Key,
    race_id: Key,
    starts_at: Option<String>,
    /// Null if no feed reports its name.
    horse: Option<NamedRow>,
    jockey: Option<NamedRow>,
    /// No feed provides it.
    trainer: Option<NamedRow>,
    program_number: Option<u16>,
    /// `active`, `non_runner`, `fell`, `pulled_up`, `disqualified`, `finished`; where bookmakers alone
    /// tell of it, `active`, `winner`, `loser`, `removed`.
    status: String,
    finish_position: Option<u16>,
}

#[derive(Debug, Clone, Serialize, ToSchema)]
pub(super) struct HorseRow {
    id: Key,
    name: String,
    /// No feed provides it.
    grade: Option<String>,
    /// The start of the last race that it is in.
    last_seen_at: Option<String>,
}

#[derive(Debug, Clone, Serialize, ToSchema)]
pub(super) struct RunnerOdds {
    runner_id: Key,
    race_id: Key,
    race_date: Option<String>,
    horse_name: Option<String>,
    /// The starting prices of an exchange: that it wins, and that it is placed. Null until they are settled.
    bsp_win: Option<Number>,
    bsp_place: Option<Number>,
    /// By how much, in percent, the prices of the others are reduced if it is removed; of an exchange.
    adjustment_factor: Option<Number>,
    bookmakers_count: usize,
    source: Source,
    bookmakers: Vec<RunnerBook>,
}

#[derive(Debug, Clone, Serialize, ToSchema)]
struct RunnerBook {
    bookmaker: String,
    bookmaker_slug: String,
    /// That it wins.
    odds_win: Option<Number>,
    /// That it is placed.
    odds_place: Option<Number>,
    movement_win: Option<Movement>,
    movement_place: Option<Movement>,
    updated_at: Option<String>,
}

params! {
    struct RunnersParams {
        race: Ids = "One or more races.",
        horse: Ids = "One or more horses.",
        jockey: Ids = "One or more jockeys.",
    }
}

const NAMED: Spec = request::spec(&[SearchParams::PARAMS]).paged();

const TRAINERS: Spec =
    request::spec(&[&[Param::new::<Name>("search", "Part of the name")]]).paged();

endpoints! {
    /// Horses in races. Without a race, horse or jockey: races of the last three and the next seven
    /// days.
    "/horseracing/api/v2/runners/", params(request::spec(&[RunnersParams::PARAMS]).paged()), answers(Page<RunnerRow>),
        |request| list(&request).await;

    /// One horse in one race.
    "/horseracing/api/v2/runners/{id}/", params(NONE), answers(RunnerRow),
        |request| detail(&request).await;

    /// The price of each bookmaker for a horse in a race.
    "/horseracing/api/v2/runners/{id}/odds/", params(NONE), answers(RunnerOdds),
        |request| odds(&request).await;

    /// Horses, by name.
    "/horseracing/api/v2/horses/", params(NAMED), answers(Page<HorseRow>),
        |request| horses(&request).await;

    /// One horse.
    "/horseracing/api/v2/horses/{id}/", params(NONE), answers(HorseRow),
        |request| horse(&request).await;

    /// Jockeys, by name.
    "/horseracing/api/v2/jockeys/", params(NAMED), answers(Page<NamedRow>),
        |request| jockeys(&request).await;

    /// One jockey.
    "/horseracing/api/v2/jockeys/{id}/", params(NONE), answers(NamedRow),
        |request| jockey(&request).await;

    /// Trainers: none, since no feed provides them.
    "/horseracing/api/v2/trainers/", params(TRAINERS), answers(Page<NamedRow>),
        |request| trainers(&request);
}

async fn list(request: &ApiRequest) -> ApiResult {
    let all = request.race_cards().await?;
    let RunnersParams { race, horse, jockey } = RunnersParams::read(&request.params)?;
    let is_free = ![&race, &horse, &jockey].iter().any(|filter| filter.is_set());
    let near = now() - PAST_DAYS * DAY..now() + COMING_DAYS * DAY;
    let is_near = |start: Micros| near.contains(&start);
    let cards = all.iter().filter(|card| {
        race.passes(Some(card.race)) && (!is_free || card.start.is_some_and(is_near))
    });
    let is = |named: Option<&NamedRow>, wanted: &IdFilter| wanted.passes(named.map(|row| row.id));
    let runners = cards.flat_map(|card| card.runners.iter().map(move |runner| (card, runner)));
    let runners: Vec<_> = runners
        .filter(|(_, it)| is(it.horse.as_ref(), &horse) && is(it.jockey.as_ref(), &jockey))
        .collect();
    request.page_of(CacheControl::LIST, &runners, |(card, runner)| RunnerRow::new(card, runner))
}

async fn detail(request: &ApiRequest) -> ApiResult {
    let id = request.id()?;
    let all = request.race_cards().await?;
    let card = all.card_of_runner(id).ok_or(ApiError::NotFound)?;
    let runner = card.runners.iter().find(|runner| runner.id == id).ok_or(ApiError::NotFound)?;
    request.answer(CacheControl::LIST, &RunnerRow::new(card, runner))
}

async fn odds(request: &ApiRequest) -> ApiResult {
    let id = request.id()?;
    let all = request.race_cards().await?;
    let card = all.card_of_runner(id).ok_or(ApiError::NotFound)?;
    let record = request.api.record(card.race).await?.ok_or(ApiError::NotFound)?;
    let race = record.play.race().ok_or(ApiError::NotFound)?;
    let runners = card::runners(race);
    let found = runners.iter().find(|(runner, _)| runner.id == id).ok_or(ApiError::NotFound)?;
    request.answer(CacheControl::ODDS, &RunnerOdds::new(card, found))
}

async fn horses(request: &ApiRequest) -> ApiResult {
    let all = request.race_cards().await?;
    let SearchParams { search } = SearchParams::read(&request.params)?;
    let horses = distinct_horses(all.iter().map(AsRef::as_ref));
    let horses: Vec<_> =
        horses.into_iter().filter(|(horse, _)| search.is_in(&horse.name)).collect();
    request.page_of(CacheControl::REFERENCE, &horses, |(horse, last)| HorseRow::new(horse, last))
}

async fn horse(request: &ApiRequest) -> ApiResult {
    let id = request.id()?;
    let all = request.race_cards().await?;
    let mut horses = distinct_horses(all.iter().map(AsRef::as_ref)).into_iter();
    let (horse, last) = horses.find(|(horse, _)| horse.id == id).ok_or(ApiError::NotFound)?;
    request.answer(CacheControl::REFERENCE, &HorseRow::new(horse, last))
}

async fn jockeys(request: &ApiRequest) -> ApiResult {
    let all = request.race_cards().await?;
    let SearchParams { search } = SearchParams::read(&request.params)?;
    let jockeys = distinct_jockeys(all.iter().map(AsRef::as_ref));
    let jockeys: Vec<_> = jockeys.into_iter().filter(|jockey| search.is_in(&jockey.name)).collect();
    request.page_of(CacheControl::REFERENCE, jockeys, |row| row)
}

async fn jockey(request: &ApiRequest) -> ApiResult {
    let id = request.id()?;
    let all = request.race_cards().await?;
    let mut jockeys = distinct_jockeys(all.iter().map(AsRef::as_ref)).into_iter();
    let jockey = jockeys.find(|jockey| jockey.id == id).ok_or(ApiError::NotFound)?;
    request.answer(CacheControl::REFERENCE, &jockey)
}

fn trainers(request: &ApiRequest) -> ApiResult {
    request.page_of(CacheControl::REFERENCE, Vec::<NamedRow>::new(), |row| row)
}

/// By name; each with its last race.
fn distinct_horses<'a>(
    cards: impl Iterator<Item = &'a RaceCard>,
) -> Vec<(&'a NamedRow, &'a RaceCard)> {
    let mut horses = BTreeMap::new();
    for card in cards {
        for horse in card.runners.iter().filter_map(|runner| runner.horse.as_ref()) {
            horses.insert((&horse.name, horse.id), (horse, card));
        }
    }
    horses.into_values().collect()
}

/// By name.
fn distinct_jockeys<'a>(cards: impl Iterator<Item = &'a RaceCard>) -> Vec<NamedRow> {
    let jockeys = cards.flat_map(|card| &card.runners).filter_map(|it| it.jockey.as_ref());
    let jockeys: BTreeMap<_, _> = jockeys.map(|it| ((&it.name, it.id), it)).collect();
    jockeys.into_values().cloned().collect()
}

impl HorseRow {
    fn new(horse: &NamedRow, last: &RaceCard) -> Self {
        Self { id: horse.id, name: horse.name.clone(), grade: None, last_seen_at: last.starts_at() }
    }
}

impl RunnerRow {
    pub(super) fn new(card: &RaceCard, runner: &Runner) -> Self {
        Self {
            id: runner.id,
            race_id: card.race,
            starts_at: card.starts_at(),
            horse: runner.horse.clone(),
            jockey: runner.jockey.clone(),
            trainer: None,
            program_number: runner.number,
            status: runner.status.to_string(),
            finish_position: runner.position,
        }
    }
}

impl RunnerOdds {
    fn new(card: &RaceCard, (runner, prices): &(Runner, Vec<&RunnerPriceRecord>)) -> Self {
        let mut books: BTreeMap<&str, Vec<&RunnerPriceRecord>> = BTreeMap::new();
        for price in prices.iter().filter(|price| price.price.is_some()) {
            books.entry(&price.bookmaker).or_default().push(price);
        }
        let books = books.iter().map(|(slug, prices)| RunnerBook::new(slug, prices));
        let bookmakers: Vec<_> = books.collect();
        Self {
            runner_id: runner.id,
            race_id: card.race,
            race_date: card.starts_at(),
            horse_name: runner.horse.as_ref().map(|horse| horse.name.clone()),
            bsp_win: prices.iter().filter(|it| is_win(it)).find_map(|it| it.bsp).map(Number),
            bsp_place: prices.iter().filter(|it| is_place(it)).find_map(|it| it.bsp).map(Number),
            adjustment_factor: prices.iter().find_map(|it| it.adjustment_factor).map(Number),
            bookmakers_count: bookmakers.len(),
            source: if bookmakers.is_empty() { Source::None } else { Source::Multi },
            bookmakers,
        }
    }
}

fn is_win(price: &RunnerPriceRecord) -> bool {
    matches!(&*price.market, "win" | price::WINNER)
}

fn is_place(price: &RunnerPriceRecord) -> bool {
    matches!(&*price.market, "place" | "to_be_placed")
}

impl RunnerBook {
    fn new(slug: &str, prices: &[&RunnerPriceRecord]) -> Self {
        let win = prices.iter().find(|price| is_win(price));
        let place_price = prices.iter().find(|price| is_place(price));
        let odds = |price: Option<&&RunnerPriceRecord>| price?.price.map(Number);
        let updated = prices.iter().map(|price| price.at).max();
        Self {
            bookmaker: price::book_name(slug),
            bookmaker_slug: slug.to_owned(),
            odds_win: odds(win),
            odds_place: odds(place_price),
            movement_win: win.and_then(|it| Movement::between(it.previous, it.price)),
            movement_place: place_price.and_then(|it| Movement::between(it.previous, it.price)),
            updated_at: updated.and_then(time::zulu),
        }
    }
}

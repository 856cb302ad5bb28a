//! `/horseracing/api/v2/runners/`, horses, jockeys and trainers.

use std::collections::BTreeMap;

use axum::extract::Path;
use fanout::Micros;
use serde::Serialize;
use utoipa::ToSchema;

use super::{
    super::{
        price::{self, Movement, Source},
        request::{self, ApiResult, DAY, PageParams, SportsRequest},
        shape::NamedRow,
    },
    card::{self, Card, Runner},
    cards::CardsExtension,
    races::{COMING_DAYS, PAST_DAYS},
};
use crate::{
    api::{
        ApiError, CacheControl, Page, Spec,
        error::{ErrorBody, UnknownParametersBody},
        number::Number,
        time,
    },
    record::{Key, RunnerPriceRecord},
};

const RUNNERS: Spec = request::spec(&["horse", "jockey", "limit", "offset", "race"]);

const NAMED: Spec = request::spec(&["limit", "offset", "search"]);

#[derive(Debug, Clone, Serialize, ToSchema)]
pub(super) struct RunnerRow {
    /// Of this horse in this race.
    id: Key,
    race_id: Key,
    starts_at: Option<String>,
    /// Null where no feed tells what it is called.
    horse: Option<NamedRow>,
    jockey: Option<NamedRow>,
    /// No feed of ours tells it.
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
    /// No feed of ours tells it.
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

/// Horses in races: of races of the last three days and of the next seven, unless a race, a horse
/// or a jockey is asked for.
#[utoipa::path(get, path = "/horseracing/api/v2/runners/", tag = "horseracing",
    params(
        ("race" = Option<u64>, Query, description = "Filter by race."),
        ("horse" = Option<u64>, Query, description = "Filter by horse."),
        ("jockey" = Option<u64>, Query, description = "Filter by jockey."),
        PageParams,
    ),
    responses(
        (status = 200, body = Page<RunnerRow>),
        (status = 400, body = UnknownParametersBody),
    )
)]
pub(super) async fn list(cards: CardsExtension, request: SportsRequest) -> ApiResult {
    let query = request.read(RUNNERS)?;
    let (race, horse) = (query.params.id("race")?, query.params.id("horse")?);
    let jockey = query.params.id("jockey")?;
    let all = cards.all(&request.api).await?;
    let is_free = race.is_none() && horse.is_none() && jockey.is_none();
    let is_near = |start: Micros| {
        (query.now - PAST_DAYS * DAY..query.now + COMING_DAYS * DAY).contains(&start)
    };
    let cards = all.iter().filter(|card| match race {
        Some(race) => card.race == race,
        None => !is_free || card.start.is_some_and(is_near),
    });
    let is = |own: Option<&NamedRow>, query: Option<Key>| {
        query.is_none() || own.map(|own| own.id) == query
    };
    let runners = cards.flat_map(|card| card.runners.iter().map(move |runner| (card, runner)));
    let runners: Vec<_> = runners
        .filter(|(_, it)| is(it.horse.as_ref(), horse) && is(it.jockey.as_ref(), jockey))
        .collect();
    query.page(CacheControl::LIST, &runners, |(card, runner)| RunnerRow::of(card, runner))
}

/// One horse in one race.
#[utoipa::path(get, path = "/horseracing/api/v2/runners/{id}/", tag = "horseracing",
    params(
        ("id" = u64, Path),
    ),
    responses(
        (status = 200, body = RunnerRow),
        (status = 400, body = UnknownParametersBody),
        (status = 404, body = ErrorBody),
    )
)]
pub(super) async fn detail(
    cards: CardsExtension,
    Path(id): Path<String>,
    request: SportsRequest,
) -> ApiResult {
    request.read(request::NONE)?;
    let id = request::key(&id)?;
    let all = cards.all(&request.api).await?;
    let card = all.of_runner(id).ok_or(ApiError::NotFound)?;
    let runner = card.runners.iter().find(|runner| runner.id == id).ok_or(ApiError::NotFound)?;
    request.answer(CacheControl::LIST, &RunnerRow::of(card, runner))
}

/// What each bookmaker gives for a horse in a race. Who may ask sees them by name.
#[utoipa::path(get, path = "/horseracing/api/v2/runners/{id}/odds/", tag = "horseracing",
    params(
        ("id" = u64, Path),
    ),
    responses(
        (status = 200, body = RunnerOdds),
        (status = 400, body = UnknownParametersBody),
        (status = 404, body = ErrorBody),
    )
)]
pub(super) async fn odds(
    cards: CardsExtension,
    Path(id): Path<String>,
    request: SportsRequest,
) -> ApiResult {
    request.read(request::NONE)?;
    let id = request::key(&id)?;
    let all = cards.all(&request.api).await?;
    let card = all.of_runner(id).ok_or(ApiError::NotFound)?;
    let record = request.api.record(card.race).await?.ok_or(ApiError::NotFound)?;
    let race = record.play.race().ok_or(ApiError::NotFound)?;
    let runners = card::runners(race);
    let own = runners.iter().find(|(runner, _)| runner.id == id).ok_or(ApiError::NotFound)?;
    request.answer(CacheControl::ODDS, &RunnerOdds::of(card, own))
}

/// Horses, by name.
#[utoipa::path(get, path = "/horseracing/api/v2/horses/", tag = "horseracing",
    params(
        ("search" = Option<String>, Query, description = "Part of the name, case-insensitive."),
        PageParams,
    ),
    responses(
        (status = 200, body = Page<HorseRow>),
        (status = 400, body = UnknownParametersBody),
    )
)]
pub(super) async fn horses(cards: CardsExtension, request: SportsRequest) -> ApiResult {
    let query = request.read(NAMED)?;
    let all = cards.all(&request.api).await?;
    let is_like = request::search(query.params.text("search").unwrap_or_default());
    let horses = known_horses(all.iter().map(AsRef::as_ref));
    let horses: Vec<_> = horses.into_iter().filter(|(horse, _)| is_like(&horse.name)).collect();
    query.page(CacheControl::REFERENCE, &horses, |(horse, start)| HorseRow::of(horse, *start))
}

/// One horse.
#[utoipa::path(get, path = "/horseracing/api/v2/horses/{id}/", tag = "horseracing",
    params(
        ("id" = u64, Path),
    ),
    responses(
        (status = 200, body = HorseRow),
        (status = 400, body = UnknownParametersBody),
        (status = 404, body = ErrorBody),
    )
)]
pub(super) async fn horse(
    cards: CardsExtension,
    Path(id): Path<String>,
    request: SportsRequest,
) -> ApiResult {
    request.read(request::NONE)?;
    let id = request::key(&id)?;
    let all = cards.all(&request.api).await?;
    let mut horses = known_horses(all.iter().map(AsRef::as_ref)).into_iter();
    let (horse, start) = horses.find(|(horse, _)| horse.id == id).ok_or(ApiError::NotFound)?;
    request.answer(CacheControl::REFERENCE, &HorseRow::of(horse, start))
}

/// Jockeys, by name.
#[utoipa::path(get, path = "/horseracing/api/v2/jockeys/", tag = "horseracing",
    params(
        ("search" = Option<String>, Query, description = "Part of the name, case-insensitive."),
        PageParams,
    ),
    responses(
        (status = 200, body = Page<NamedRow>),
        (status = 400, body = UnknownParametersBody),
    )
)]
pub(super) async fn jockeys(cards: CardsExtension, request: SportsRequest) -> ApiResult {
    let query = request.read(NAMED)?;
    let all = cards.all(&request.api).await?;
    let is_like = request::search(query.params.text("search").unwrap_or_default());
    let jockeys = known_jockeys(all.iter().map(AsRef::as_ref));
    let jockeys: Vec<_> = jockeys.into_iter().filter(|jockey| is_like(&jockey.name)).collect();
    query.page(CacheControl::REFERENCE, &jockeys, Clone::clone)
}

/// One jockey.
#[utoipa::path(get, path = "/horseracing/api/v2/jockeys/{id}/", tag = "horseracing",
    params(
        ("id" = u64, Path),
    ),
    responses(
        (status = 200, body = NamedRow),
        (status = 400, body = UnknownParametersBody),
        (status = 404, body = ErrorBody),
    )
)]
pub(super) async fn jockey(
    cards: CardsExtension,
    Path(id): Path<String>,
    request: SportsRequest,
) -> ApiResult {
    request.read(request::NONE)?;
    let id = request::key(&id)?;
    let all = cards.all(&request.api).await?;
    let mut jockeys = known_jockeys(all.iter().map(AsRef::as_ref)).into_iter();
    let jockey = jockeys.find(|jockey| jockey.id == id).ok_or(ApiError::NotFound)?;
    request.answer(CacheControl::REFERENCE, &jockey)
}

/// Trainers: none, since no feed of ours tells them.
#[utoipa::path(get, path = "/horseracing/api/v2/trainers/", tag = "horseracing",
    params(
        PageParams,
    ),
    responses(
        (status = 200, body = Page<NamedRow>),
        (status = 400, body = UnknownParametersBody),
    )
)]
pub(super) async fn trainers(request: SportsRequest) -> ApiResult {
    let query = request.read(NAMED)?;
    query.page(CacheControl::REFERENCE, &Vec::<NamedRow>::new(), Clone::clone)
}

/// By name; each with the start of its last race.
fn known_horses<'a>(cards: impl Iterator<Item = &'a Card>) -> Vec<(&'a NamedRow, Option<Micros>)> {
    let mut horses = BTreeMap::new();
    for card in cards {
        for horse in card.runners.iter().filter_map(|runner| runner.horse.as_ref()) {
            horses.insert((&horse.name, horse.id), (horse, card.start));
        }
    }
    horses.into_values().collect()
}

/// By name.
fn known_jockeys<'a>(cards: impl Iterator<Item = &'a Card>) -> Vec<NamedRow> {
    let jockeys = cards.flat_map(|card| &card.runners).filter_map(|it| it.jockey.as_ref());
    let jockeys: BTreeMap<_, _> = jockeys.map(|it| ((&it.name, it.id), it)).collect();
    jockeys.into_values().cloned().collect()
}

impl HorseRow {
    fn of(horse: &NamedRow, last_start: Option<Micros>) -> Self {
        Self {
            id: horse.id,
            name: horse.name.clone(),
            grade: None,
            last_seen_at: last_start.and_then(time::offset),
        }
    }
}

impl RunnerRow {
    pub(super) fn of(card: &Card, runner: &Runner) -> Self {
        Self {
            id: runner.id,
            race_id: card.race,
            starts_at: card.start.and_then(time::offset),
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
    fn of(card: &Card, (runner, prices): &(Runner, Vec<&RunnerPriceRecord>)) -> Self {
        let mut books: BTreeMap<&str, Vec<&RunnerPriceRecord>> = BTreeMap::new();
        for price in prices.iter().filter(|price| price.price.is_some()) {
            books.entry(&price.bookmaker).or_default().push(price);
        }
        let books = books.iter().map(|(slug, prices)| RunnerBook::of(slug, prices));
        let bookmakers: Vec<_> = books.collect();
        Self {
            runner_id: runner.id,
            race_id: card.race,
            race_date: card.start.and_then(time::offset),
            horse_name: runner.horse.as_ref().map(|horse| horse.name.clone()),
            bookmakers_count: bookmakers.len(),
            source: if bookmakers.is_empty() { Source::None } else { Source::Multi },
            bookmakers,
        }
    }
}

impl RunnerBook {
    fn of(slug: &str, prices: &[&RunnerPriceRecord]) -> Self {
        let win = prices.iter().find(|price| matches!(&*price.market, "win" | price::WINNER));
        let place = prices.iter().find(|price| matches!(&*price.market, "place" | "to_be_placed"));
        let odds = |price: Option<&&RunnerPriceRecord>| price?.price.map(Number);
        let updated = prices.iter().map(|price| price.at).max();
        Self {
            bookmaker: price::book_name(slug),
            bookmaker_slug: slug.to_owned(),
            odds_win: odds(win),
            odds_place: odds(place),
            movement_win: win.and_then(|it| Movement::between(it.previous, it.price)),
            movement_place: place.and_then(|it| Movement::between(it.previous, it.price)),
            updated_at: updated.and_then(time::zulu),
        }
    }
}

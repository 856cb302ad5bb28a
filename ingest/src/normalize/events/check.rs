//! The values that a line may have, beyond their types.

use std::ops::Range;

use facts::event::{
    About, Analysis, Event, Fact, Fixture, FootballFact, GameScore, Level, LineUp, MarketChange,
    MarketDefinition, MarketTerms, OddsFact, PitchPlace, PlayKind, PlayerRating, Race, Scoreboard,
    SelectionChange, SelectionTerms, Shot, TennisFact, TennisScore,
};
use rust_decimal::Decimal;

use crate::error::{DecodeError, RefusalKind, Result};

/// Parts of a scoreboard and runners of a race: what is more is no scoreboard.
const PARTS_MAX: usize = 200;
/// More than any rules allow in a squad.
const PLAYERS_MAX: usize = 60;
/// The end of the pitch, in tenths of a percent.
const PITCH_MAX: u16 = 1_000;
/// Bytes of a key: of a match, an incident, a market, a selection, a message.
const KEY_BYTES_MAX: usize = 200;
/// Bytes of a name or of a reason.
const TEXT_BYTES_MAX: usize = 1000;
/// Bytes of a slug, which is a part of names of channels.
const SLUG_BYTES_MAX: usize = 100;
/// The begin of 1971: a start before it is a moment of our time in seconds or in milliseconds.
const START_MIN: i64 = 31_536_000_000_000;
/// The moments from 2001 to 2286, in seconds and in milliseconds, and what would be after 2286 in microseconds.
const OTHER_UNITS: [Range<i64>; 3] = [
    1_000_000_000..10_000_000_000,
    1_000_000_000_000..10_000_000_000_000,
    10_000_000_000_000_000..MOMENT_MAX,
];
/// The end of the year 9999: sums of moments stay far from where 64 bits end.
const MOMENT_MAX: i64 = 253_402_300_799_999_999;
/// Ids are exact in every JSON reader.
const ID_MAX: u64 = (1 << 53) - 1;

pub(super) fn wrong(reason: impl Into<String>) -> DecodeError {
    DecodeError::new(RefusalKind::Value, reason)
}

pub(super) fn moment(name: &str, at: Option<i64>) -> Result {
    match at {
        Some(at) if !(0..=MOMENT_MAX).contains(&at) => {
            Err(wrong(format!("{name} {at} is no moment in microseconds since 1970")))
        }
        _ => Ok(()),
    }
}

/// When a line was sent. A moment of our time in seconds or in milliseconds is refused.
pub(super) fn sent(at: Option<i64>) -> Result {
    match at {
        Some(at) if OTHER_UNITS.iter().any(|unit| unit.contains(&at)) => {
            Err(wrong(format!("at {at} is in another unit than microseconds")))
        }
        at => moment("at", at),
    }
}

pub(super) fn key(name: &str, key: &str) -> Result {
    if key.is_empty() {
        return Err(wrong(format!("{name} is empty")));
    }
    at_most(name, key, KEY_BYTES_MAX)
}

fn text(name: &str, text: &str) -> Result {
    at_most(name, text, TEXT_BYTES_MAX)
}

fn optional_text(name: &str, value: Option<&str>) -> Result {
    value.map_or(Ok(()), |value| text(name, value))
}

fn few(name: &str, count: usize, max: usize) -> Result {
    if count <= max { Ok(()) } else { Err(wrong(format!("{count} {name} are more than {max}"))) }
}

fn at_most(name: &str, text: &str, bytes_max: usize) -> Result {
    if text.len() <= bytes_max {
        return Ok(());
    }
    Err(wrong(format!("{name} has {} bytes, more than {bytes_max}", text.len())))
}

pub(super) fn slug(name: &str, slug: &str) -> Result {
    let of_a_slug = |b: u8| b.is_ascii_alphanumeric() || b"-_.:".contains(&b);
    let fits = !slug.is_empty() && slug.len() <= SLUG_BYTES_MAX && slug.bytes().all(of_a_slug);
    fits.then_some(()).ok_or_else(|| {
        let begin = &slug[..slug.floor_char_boundary(SLUG_BYTES_MAX)];
        wrong(format!("{name} {begin:?} is not 1 to {SLUG_BYTES_MAX} letters, digits, `-_.:`"))
    })
}

/// A minute of a match: extra time ends with the 120th.
fn match_minute(minute: u16) -> Result {
    if (1..=120).contains(&minute) {
        return Ok(());
    }
    Err(wrong(format!("minute {minute} is not from 1 to 120")))
}

/// A bookmaker: a slug without upper case, so that one bookmaker has one channel.
fn book(book: &str) -> Result {
    slug("book", book)?;
    if book.bytes().any(|b| b.is_ascii_uppercase()) {
        return Err(wrong(format!("book {book:?} has upper-case letters")));
    }
    Ok(())
}

pub(super) fn id(id: u64) -> Result<u64> {
    if (1..=ID_MAX).contains(&id) { Ok(id) } else { Err(wrong(format!("{id} is no id"))) }
}

/// A price or a size.
fn amount(name: &str, value: Decimal) -> Result {
    if value.is_sign_negative() && !value.is_zero() {
        return Err(wrong(format!("{name} {value} is negative")));
    }
    Ok(())
}

/// With odds of 1 or less nobody wins.
fn decimal_odds(name: &str, value: Decimal) -> Result {
    if value > Decimal::ONE {
        return Ok(());
    }
    Err(wrong(format!("{name} {value} is not above 1, as decimal odds are")))
}

/// Whether a match of the sport can have such a fact.
pub(super) fn sport(event: &Event) -> Result {
    let wanted = match event.fact {
        Fact::Fixture(_) | Fact::About(_) | Fact::Odds(_) => return Ok(()),
        Fact::Football(_) => PlayKind::Football,
        Fact::Tennis(_) => PlayKind::Tennis,
        Fact::Race(_) => PlayKind::Race,
        Fact::Scoreboard(_) => PlayKind::Scoreboard,
    };
    if event.sport.play() == wanted {
        return Ok(());
    }
    Err(wrong(format!("a match of {} has no fact of this kind", event.sport.as_str())))
}

/// Checks the values of a fact, and writes the rungs of its ladders without trailing zeros, so that
/// one price is one rung.
pub(super) fn values(fact: &mut Fact) -> Result {
    match fact {
        Fact::Fixture(it) => fixture(it),
        Fact::About(it) => about(it),
        Fact::Football(it) => football(it),
        Fact::Tennis(it) => tennis(it),
        Fact::Scoreboard(it) => scoreboard(it),
        Fact::Race(it) => race(it),
        Fact::Odds(it) => odds(it),
    }
}

/// When a match or a period starts.
fn start(at: Option<i64>) -> Result {
    match at {
        Some(at) if (0..START_MIN).contains(&at) => {
            Err(wrong(format!("start {at} is before 1971: it counts microseconds")))
        }
        at => moment("start", at),
    }
}

fn fixture(fixture: &Fixture) -> Result {
    start(fixture.start)?;
    let season = fixture.competition.as_ref().and_then(|it| it.season.as_deref());
    optional_text("season", season)
}

fn about(about: &About) -> Result {
    optional_text("round_name", about.round_name.as_deref())?;
    optional_text("group", about.group.as_deref())?;
    optional_text("country", about.country.as_deref())?;
    optional_text("city", about.venue.as_ref().and_then(|it| it.city.as_deref()))?;
    optional_text("surface", about.surface.as_deref())?;
    optional_text("distance", about.distance.as_deref())?;
    optional_text("category", about.category.as_deref())?;
    optional_text("home_country", about.home_country.as_deref())?;
    optional_text("away_country", about.away_country.as_deref())
}

fn football(fact: &FootballFact) -> Result {
    match fact {
        FootballFact::Incident(incident) | FootballFact::Correct(incident) => {
            key("eid", &incident.eid)
        }
        FootballFact::Retract { eid, why, .. } => {
            key("eid", eid)?;
            text("why", why)
        }
        FootballFact::Ball(ball) if ball.x > PITCH_MAX || ball.y > PITCH_MAX => {
            let reason =
                format!("ball at {}, {} is beyond 1000, the end of the pitch", ball.x, ball.y);
            Err(wrong(reason))
        }
        FootballFact::LineUp { line_up: it, .. } => line_up(it),
        FootballFact::Analysis(it) => analysis(it),
        FootballFact::PeriodStart { at, .. } => start(Some(*at)),
        FootballFact::Status(_)
        | FootballFact::Clock { .. }
        | FootballFact::Score(_)
        | FootballFact::Stats { .. }
        | FootballFact::Ball(_)
        | FootballFact::PlayerStats { .. } => Ok(()),
    }
}

fn line_up(line_up: &LineUp) -> Result {
    few("players", line_up.players.len(), PLAYERS_MAX)?;
    optional_text("formation", line_up.formation.as_deref())?;
    line_up.players.iter().try_for_each(|it| optional_text("country", it.country.as_deref()))
}

fn analysis(analysis: &Analysis) -> Result {
    match analysis {
        Analysis::Shot(it) => shot(it),
        Analysis::Momentum(it) => {
            if !(-100..=100).contains(&it.value) {
                return Err(wrong(format!("momentum {} is not from -100 to 100", it.value)));
            }
            match_minute(it.minute.minute)
        }
        Analysis::AveragePositions { players, .. } => {
            few("players", players.len(), PLAYERS_MAX)?;
            players.iter().try_for_each(|it| pitch_location(it.location))
        }
        Analysis::Ratings { players, .. } => {
            few("players", players.len(), PLAYERS_MAX)?;
            match players.iter().find(|it| it.rating > PlayerRating::RATING_MAX) {
                Some(it) => Err(wrong(format!("rating {} is beyond 1000", it.rating))),
                None => Ok(()),
            }
        }
        Analysis::ExpectedGoals { .. } | Analysis::HalfStats { .. } => Ok(()),
    }
}

fn shot(shot: &Shot) -> Result {
    match_minute(shot.minute)?;
    key("eid", &shot.eid)?;
    shot.location.map_or(Ok(()), pitch_location)?;
    match shot.goal_mouth {
        Some(mouth) if mouth.y > PITCH_MAX => {
            let y = mouth.y;
            Err(wrong(format!("goal mouth at {y} is beyond 1000, the end of the pitch")))
        }
        _ => Ok(()),
    }
}

fn pitch_location(PitchPlace { x, y }: PitchPlace) -> Result {
    if x > PITCH_MAX || y > PITCH_MAX {
        return Err(wrong(format!("place {x}, {y} is beyond 1000, the end of the pitch")));
    }
    Ok(())
}

fn tennis(fact: &TennisFact) -> Result {
    match fact {
        TennisFact::Status(_) => Ok(()),
        TennisFact::Point(point) => {
            key("eid", &point.eid)?;
            tennis_score(&point.score)
        }
        TennisFact::Score(score) => tennis_score(score),
        TennisFact::Retract { eid, why, score } => {
            key("eid", eid)?;
            text("why", why)?;
            tennis_score(score)
        }
    }
}

fn tennis_score(score: &TennisScore) -> Result {
    score.check().map_err(|impossible| wrong(format!("no tennis match has a {impossible}")))?;
    match score.game {
        GameScore::Points(points) if points.iter().any(|points| *points > 4) => {
            Err(wrong(format!("points {points:?} of a game go to 4")))
        }
        GameScore::Points(_) | GameScore::TieBreak(_) => Ok(()),
    }
}

fn scoreboard(board: &Scoreboard) -> Result {
    few("periods", board.periods.len(), PARTS_MAX)?;
    optional_text("period", board.period.as_deref())
}

fn race(race: &Race) -> Result {
    few("runners", race.runners.len(), PARTS_MAX)?;
    race.runners.iter().try_for_each(|it| optional_text("jockey", it.jockey.as_deref()))
}

fn odds(fact: &mut OddsFact) -> Result {
    book(&fact.book)?;
    key("market", &fact.market)?;
    match &mut fact.change {
        MarketChange::Define(it) => definition(it),
        MarketChange::Clear => Ok(()),
        MarketChange::Prices { selections, volume } => {
            selections.iter_mut().try_for_each(prices)?;
            volume.map_or(Ok(()), |it| amount("volume", it))
        }
    }
}

fn definition(definition: &MarketDefinition) -> Result {
    key("kind", &definition.kind)?;
    optional_text("name", definition.name.as_deref())?;
    optional_text("period", definition.period.as_deref())?;
    definition.terms.as_deref().map_or(Ok(()), market_terms)?;
    definition.selections.iter().try_for_each(|selection| {
        key("selection", &selection.id)?;
        optional_text("name", selection.name.as_deref())?;
        selection.terms.as_deref().map_or(Ok(()), selection_terms)
    })
}

fn market_terms(terms: &MarketTerms) -> Result {
    few("bet_delay_models", terms.bet_delay_models.len(), PARTS_MAX)?;
    terms.bet_delay_models.iter().try_for_each(|it| text("bet_delay_models", it))?;
    optional_text("suspend_reason", terms.suspend_reason.as_deref())?;
    let numbers = [
        ("each_way_divisor", terms.each_way_divisor),
        ("market_base_rate", terms.market_base_rate),
    ];
    amounts(numbers)
}

fn selection_terms(terms: &SelectionTerms) -> Result {
    moment("removal_date", terms.removal_date)?;
    terms.bsp.map_or(Ok(()), |bsp| decimal_odds("bsp", bsp))?;
    let numbers = [
        ("adjustment_factor", terms.adjustment_factor),
        ("dead_heat_factor", terms.dead_heat_factor),
    ];
    amounts(numbers)
}

fn amounts<const N: usize>(numbers: [(&str, Option<Decimal>); N]) -> Result {
    let mut stated = numbers.into_iter().filter_map(|(name, value)| Some((name, value?)));
    stated.try_for_each(|(name, value)| amount(name, value))
}

fn prices(selection: &mut SelectionChange) -> Result {
    let SelectionChange { id, price, last, volume, near_price, far_price, back, lay, traded } =
        selection;
    key("selection", id)?;
    for (name, value) in [("price", price), ("last", last)] {
        value.map_or(Ok(()), |value| decimal_odds(name, value))?;
    }
    for (name, value) in [("near_price", near_price), ("far_price", far_price)] {
        let value = value.filter(|value| !value.is_zero());
        value.map_or(Ok(()), |value| decimal_odds(name, value))?;
    }
    volume.map_or(Ok(()), |volume| amount("volume", volume))?;
    back.iter_mut().chain(lay).chain(traded).try_for_each(level)
}

fn level(Level { price, size }: &mut Level) -> Result {
    decimal_odds("price", *price)?;
    amount("size", *size)?;
    (*price, *size) = (price.normalize(), size.normalize());
    Ok(())
}

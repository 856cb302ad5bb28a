//! The kinds of parameters: what a handler gets of one, its type in the OpenAPI document, and how it is read.

use std::collections::BTreeSet;

use base::names::NamePart;
use facts::{
    event::Sport,
    market::{self, Market},
};
use fanout::Micros;
use rust_decimal::Decimal as Price;
use utoipa::openapi::{ObjectBuilder, SchemaFormat, Type};

use super::{
    ApiError, Params,
    football::{
        country::{CountryFilter, WantedCountry},
        coverage::covered,
        include::{self, Part},
        search,
    },
    match_filter::{IDS_MAX, IdFilter, SORTS},
    odds::{
        format::{ODDS_FORMATS, OddsFormat},
        list::movement,
    },
    params::INCLUDED_MAX,
    time,
};
use history::query::Movement;
use record::{Key, signal::SignalKind};

/// A kind of parameters, which `params!` names for each of them.
pub(super) trait Kind {
    type Value;

    fn schema() -> ObjectBuilder;

    /// Reads the parameter of this name.
    ///
    /// # Errors
    ///
    /// If its value is not valid.
    fn read(params: &Params, name: &'static str) -> Result<Self::Value, ApiError>;
}

const MOVEMENTS: [&str; 2] = ["SHORTENING", "DRIFTING"];

/// A word that rows have, in any case.
#[derive(Debug, Default)]
pub(super) struct WordFilter(Option<String>);

impl WordFilter {
    /// Whether it lets a row with this word through; without a word it lets everything through.
    pub(super) fn passes(&self, word: Option<&str>) -> bool {
        let is = |wanted: &str| word.is_some_and(|word| word.eq_ignore_ascii_case(wanted));
        self.0.as_deref().is_none_or(is)
    }
}

/// The values of words with commas between.
///
/// # Errors
///
/// If one of them is not accepted.
fn several<T, I: Iterator<Item = &'static str>, C: FromIterator<T>>(
    params: &Params,
    name: &str,
    accepted: impl Fn() -> I,
    parse: impl Fn(&str) -> Option<T>,
) -> Result<C, ApiError> {
    let words = params.text(name).unwrap_or_default().split(',').map(str::trim);
    let unknown = || ApiError::unknown_value(name, accepted());
    let words = words.filter(|word| !word.is_empty());
    words.map(|word| parse(word).ok_or_else(unknown)).collect()
}

fn of_schema_type(kind: Type) -> ObjectBuilder {
    ObjectBuilder::new().schema_type(kind)
}

fn text() -> ObjectBuilder {
    of_schema_type(Type::String)
}

fn number() -> ObjectBuilder {
    of_schema_type(Type::Integer).minimum(Some(0))
}

/// `date-or-time` is one format: generators make a type of a choice of two.
fn formatted(builder: ObjectBuilder, format: &str) -> ObjectBuilder {
    builder.format(Some(SchemaFormat::Custom(format.to_owned())))
}

fn day() -> ObjectBuilder {
    formatted(text(), "date-or-time")
}

fn decimal() -> ObjectBuilder {
    formatted(of_schema_type(Type::Number), "double")
}

fn ids() -> ObjectBuilder {
    text().pattern(Some("^([0-9]{1,18}(,[0-9]{1,18})*)?$"))
}

fn one_of(words: impl IntoIterator<Item = &'static str>) -> ObjectBuilder {
    text().enum_values(Some(words))
}

/// Words with commas between.
fn some_of(words: impl Iterator<Item = &'static str>) -> ObjectBuilder {
    let word = words.collect::<Vec<_>>().join("|");
    text().pattern(Some(format!("^({word})(,({word}))*$")))
}

macro_rules! kinds {
    ($($kind:ident: $value:ty, $schema:expr, |$params:ident, $name:ident| $read:expr;)*) => {$(
        pub(super) enum $kind {}

        impl Kind for $kind {
            type Value = $value;

            fn schema() -> ObjectBuilder {
                $schema
            }

            fn read($params: &Params, $name: &'static str) -> Result<$value, ApiError> {
                $read
            }
        }
    )*};
}

kinds! {
    Text: Option<String>, text(), |params, name| Ok(params.text(name).map(ToOwned::to_owned));
    Query: Option<String>, text().min_length(Some(2)), |params, name| Text::read(params, name);
    Sides: Option<String>, formatted(text(), "two-sides"), |params, name| Text::read(params, name);
    Slugs: Option<String>, text().pattern(Some("^[a-z0-9_.-]+(,[a-z0-9_.-]+)*$")), |params, name| {
        Text::read(params, name)
    };
    Word: WordFilter, text(), |params, name| Text::read(params, name).map(WordFilter);
    Name: NamePart, text(), |params, name| Ok(NamePart::new(params.text(name).unwrap_or_default()));
    Country: CountryFilter, text(), |params, name| Ok(CountryFilter::new(params.text(name), WantedCountry::is));
    CountryName: CountryFilter, text(), |params, name| {
        Ok(CountryFilter::new(params.text(name), WantedCountry::is_named))
    };
    CountryCode: CountryFilter, text(), |params, name| {
        Ok(CountryFilter::new(params.text(name), WantedCountry::has_code))
    };
    Begin: Option<Micros>, day(), |params, name| params.from(name);
    End: Option<Micros>, day(), |params, name| params.before(name);
    BeginInTz: Option<Micros>, day(), |params, name| {
        params.parsed(name, time::EXPECTED, |text| time::begin_in(text, &params.tz()))
    };
    EndInTz: Option<Micros>, day(), |params, name| {
        params.parsed(name, time::EXPECTED, |text| time::end_in(text, &params.tz()))
    };
    Day: [Option<Micros>; 2], day(), |params, name| Ok([params.from(name)?, params.before(name)?]);
    Flag: Option<bool>, of_schema_type(Type::Boolean), |params, name| params.flag(name);
    Number: Option<u64>, number(), |params, name| params.number(name);
    Id: Option<Key>, formatted(number(), "int64"), |params, name| params.id(name);
    Ids: IdFilter, ids(), |params, name| IdFilter::read(params, name, IDS_MAX);
    MatchIds: IdFilter, ids(), |params, name| {
        IdFilter::read(params, name, if params.has_include() { INCLUDED_MAX } else { IDS_MAX })
    };
    ManyIds: Option<Vec<Key>>, ids(), |params, name| params.ids(name);
    IdsOrName: (IdFilter, Option<String>), text(), |params, name| {
        match params.ids(name) {
            Ok(_) => Ok((Ids::read(params, name)?, None)),
            Err(_) => Ok((IdFilter::default(), Text::read(params, name)?)),
        }
    };
    Count: Option<usize>, of_schema_type(Type::Integer).minimum(Some(1)).maximum(Some(200)), |params, name| {
        let count = |text: &str| text.parse::<usize>().ok().filter(|it| (1..=200).contains(it));
        params.parsed(name, "a whole number from 1 to 200", count)
    };
    Decimal: Option<Price>, decimal(), |params, name| params.parsed(name, "a decimal number", |text| text.parse().ok());
    Percentage: Option<u8>, formatted(number().maximum(Some(100)), "int32"), |params, name| {
        let percentage = |text: &str| text.parse::<u8>().ok().filter(|number| *number <= 100);
        params.parsed(name, "a whole number from 0 to 100", percentage)
    };
    Share: Option<f64>, decimal().minimum(Some(0)).maximum(Some(1)), |params, name| {
        let share = |text: &str| text.parse::<f64>().ok().filter(|it| (0.0..=1.0).contains(it));
        params.parsed(name, "a number from 0 to 1", share)
    };
    Sort: Option<bool>, one_of(SORTS), |params, name| {
        params.choice(name, SORTS, |text| SORTS.contains(&text).then_some(text == "-date"))
    };
    Parts: Vec<Part>, some_of(include::words()), |params, name| several(params, name, include::words, include::part);
    SearchTypes: BTreeSet<&'static str>, some_of(search::words()), |params, name| {
        several(params, name, search::words, |text| search::words().find(|word| *word == text))
    };
    Gender: Option<&'static str>, one_of(["M", "F"]), |params, name| {
        let gender = |text: &str| ["M", "F"].into_iter().find(|it| it.eq_ignore_ascii_case(text));
        params.parsed(name, "M or F", gender)
    };
    PriceFormat: Option<OddsFormat>, one_of(ODDS_FORMATS), |params, name| {
        params.choice(name, ODDS_FORMATS, OddsFormat::named)
    };
    MovementWord: Option<Movement>, one_of(MOVEMENTS), |params, name| params.choice(name, MOVEMENTS, movement);
    MarketName: Option<Market>, one_of(market::names()), |params, name| {
        params.choice(name, market::names(), Market::named)
    };
    SportName: Option<Sport>, text(), |params, name| params.choice(name, Sport::ALL.map(Sport::as_str), Sport::from_word);
    AnySport: Option<Sport>, text(), |params, name| {
        let named = |text: &str| Sport::from_word(&text.to_ascii_lowercase());
        params.choice(name, Sport::ALL.map(Sport::as_str), named)
    };
    CoveredSport: Option<Sport>, text(), |params, name| {
        let named = |text: &str| covered().find(|it| it.as_str().eq_ignore_ascii_case(text));
        params.choice(name, covered().map(Sport::as_str), named)
    };
    SignalWord: Option<SignalKind>, one_of(SignalKind::ALL.map(SignalKind::as_str)), |params, name| {
        params.choice(name, SignalKind::ALL.map(SignalKind::as_str), SignalKind::from_word)
    };
}

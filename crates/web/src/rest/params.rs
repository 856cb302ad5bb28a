//! Query parameters: the ones that an endpoint accepts, their aliases, and their values.

use std::{borrow::Cow, collections::BTreeSet, sync::OnceLock};

use fanout::Micros;
use form_urlencoded::byte_serialize;
use jiff::tz::TimeZone;
use utoipa::openapi::{
    ObjectBuilder, Required,
    path::{Parameter, ParameterBuilder, ParameterIn},
};

use super::{
    ApiError,
    kind::{self, Kind},
    time,
};
use history::query::Window;
use record::{Key, Status, Vocabulary};

/// The parameters of one endpoint: what it accepts, and what the OpenAPI document says of them.
#[derive(Debug, Clone, Copy)]
pub struct Spec {
    /// What `params!` declares, and single parameters.
    pub params: &'static [&'static [Param]],
    /// Accepted, but absent from the document.
    pub hidden: &'static [&'static [Param]],
    /// The size of a page, if the endpoint has `limit` and `offset`.
    pub page: Option<PageSize>,
    /// Whether it has [`CURSOR`].
    pub has_cursor: bool,
    /// Other names that many endpoints share, each with the full name.
    pub aliases: &'static [(&'static str, &'static str)],
    /// Accepted without being listed in errors, because old clients send them.
    pub tolerated: &'static [&'static str],
    /// Whether parameters with other names are ignored instead of refused.
    pub ignores_others: bool,
}

/// The number of rows of a page: by default, and at most; a larger number is reduced to it.
#[derive(Debug, Clone, Copy)]
pub struct PageSize {
    pub default: usize,
    pub max: usize,
}

impl PageSize {
    /// The size that most lists have.
    pub const USUAL: Self = Self { default: 50, max: 200 };
}

impl Spec {
    /// Exactly these parameters.
    #[must_use]
    pub const fn new(params: &'static [&'static [Param]]) -> Self {
        let (page, has_cursor, ignores_others) = (None, false, false);
        Self { params, hidden: &[], page, has_cursor, aliases: &[], tolerated: &[], ignores_others }
    }

    /// The same with these, which are absent from the document.
    #[must_use]
    pub const fn hiding(self, hidden: &'static [&'static [Param]]) -> Self {
        Self { hidden, ..self }
    }

    /// The same with `limit` and `offset`.
    #[must_use]
    pub const fn paged(self) -> Self {
        self.paged_by(PageSize::USUAL)
    }

    /// The same with `limit` and `offset`, and with pages of this size.
    #[must_use]
    pub const fn paged_by(self, size: PageSize) -> Self {
        Self { page: Some(size), ..self }
    }

    /// The same for a list of matches, which also has [`CURSOR`].
    #[must_use]
    pub const fn with_cursor(self) -> Self {
        Self { has_cursor: true, ..self }
    }

    /// The accepted parameters, sorted, as errors list them.
    fn accepted(&self) -> Vec<&'static str> {
        let paging: &[&str] = if self.page.is_some() { &["limit", "offset"] } else { &[] };
        let zone = (!self.ignores_others).then_some(TIMEZONE.name);
        let declared = self.all().filter(|param| !param.in_path).map(|param| param.name);
        let declared = declared.filter(|name| !self.tolerated.contains(name));
        let mut accepted: Vec<_> = declared.chain(paging.iter().copied()).chain(zone).collect();
        accepted.sort_unstable();
        accepted.dedup();
        accepted
    }

    fn accepts(&self, name: &str) -> bool {
        self.page.is_some() && matches!(name, "limit" | "offset")
            || self.has_cursor && name == CURSOR
            || !self.ignores_others && name == TIMEZONE.name
            || self.declares(name)
            || self.tolerated.contains(&name)
    }

    /// The name of the parameter with this alias.
    fn full_name(&self, alias: &str) -> Option<&'static str> {
        let declared = self.all().find(|param| param.alias == Some(alias));
        let of_family = || self.aliases.iter().find(|(it, _)| *it == alias);
        declared.map(|param| param.name).or_else(|| of_family().map(|(_, full)| *full))
    }

    fn declares(&self, name: &str) -> bool {
        self.all().any(|param| !param.in_path && param.name == name)
    }

    fn all(&self) -> impl Iterator<Item = &'static Param> {
        self.params.iter().chain(self.hidden).copied().flatten()
    }

    /// The parameters in the OpenAPI document.
    pub(super) fn documented(&self) -> impl Iterator<Item = Parameter> {
        let zone = (!self.ignores_others).then_some(&TIMEZONE);
        self.params.iter().copied().flatten().chain(zone).map(Param::document)
    }
}

/// A parameter of an endpoint.
#[derive(Debug, Clone, Copy)]
pub struct Param {
    pub name: &'static str,
    schema: fn() -> ObjectBuilder,
    /// Empty if the name suffices.
    description: &'static str,
    /// Another name, mapped to this one before any check.
    alias: Option<&'static str>,
    required: bool,
    in_path: bool,
}

impl Param {
    /// A parameter of this kind.
    #[must_use]
    pub(super) const fn new<K: Kind>(name: &'static str, description: &'static str) -> Self {
        let (alias, required, in_path) = (None, false, false);
        Self { name, schema: K::schema, description, alias, required, in_path }
    }

    /// The document calls it required; handlers refuse a request without it.
    #[must_use]
    pub const fn required(self) -> Self {
        Self { required: true, ..self }
    }

    /// It may be sent by this name, too.
    #[must_use]
    pub const fn alias(self, alias: &'static str) -> Self {
        Self { alias: Some(alias), ..self }
    }

    /// A part of the path, which the query does not have.
    #[must_use]
    pub const fn in_path(self) -> Self {
        Self { in_path: true, required: true, ..self }
    }

    fn document(&self) -> Parameter {
        let description = (!self.description.is_empty()).then_some(self.description);
        ParameterBuilder::new()
            .name(self.name)
            .parameter_in(if self.in_path { ParameterIn::Path } else { ParameterIn::Query })
            .required(if self.required { Required::True } else { Required::False })
            .description(description)
            .schema(Some((self.schema)()))
            .build()
    }
}

/// Ignored everywhere: SERVICE section 0.
const NEVER_FILTERS: [&str; 2] = ["token", "format"];

/// The place in a list of matches behind which a page begins, in place of `offset`. Errors do not list it.
pub const CURSOR: &str = "cursor";

/// Every endpoint that refuses unknown parameters has it: the time zone of days in filters and of times in the response.
const TIMEZONE: Param = Param::new::<kind::Text>(
    "timezone",
    "IANA name, such as `Europe/Berlin`: days of filters and times of the response are of this zone (default: UTC)",
);

/// A page of matches with `include`, whose rows are much larger.
const INCLUDED: PageSize = PageSize { default: INCLUDED_MAX, max: INCLUDED_MAX };

/// Matches in a response with `include`, at most.
pub const INCLUDED_MAX: usize = 5;

/// The status of matches, whose words each sport has.
pub const STATUS: &str = "status";

/// The default time zone of version 1.
const V1_ZONE: &str = "Asia/Dubai";

/// Names that a response lists as ignored, at most.
const IGNORED_MAX: usize = 20;

/// The parameters of one request, in order.
#[derive(Debug, Clone, Default)]
pub struct Params {
    pairs: Vec<(String, String)>,
    /// The names of those without effect.
    ignored: Vec<String>,
    zone: Option<TimeZone>,
    /// The words of `status` that nobody knows, once it has been read: SERVICE section 8 row 4 has them ignored.
    unknown_statuses: OnceLock<Vec<String>>,
}

impl Params {
    /// Reads the query of a request.
    ///
    /// # Errors
    ///
    /// If it has a parameter that the endpoint does not accept.
    pub fn read(query: Option<&str>, spec: Spec) -> Result<Self, ApiError> {
        let pairs = form(query.unwrap_or_default());
        let pairs = pairs.filter(|(name, _)| !NEVER_FILTERS.contains(&name.as_ref()));
        let own_name = |(name, value): (Cow<'_, str>, Cow<'_, str>)| {
            let name = spec.full_name(&name).map_or_else(|| name.into_owned(), ToOwned::to_owned);
            (name, value.into_owned())
        };
        let (pairs, others): (Vec<_>, Vec<_>) =
            pairs.map(own_name).partition(|(name, _)| spec.accepts(name));
        if others.is_empty() || spec.ignores_others {
            let has_no_effect = |(name, value): &&(String, String)| match name.as_str() {
                "tz" if value.trim().is_empty() => false,
                "tz" if spec.ignores_others => TimeZone::get(value.trim()).is_err(),
                // That is the zone of all dates there.
                "tz" if value.trim().eq_ignore_ascii_case("utc") => false,
                // What version 2 tolerates has no effect: SERVICE section 1.3. A `date` may have one.
                "date" => false,
                name => {
                    !spec.ignores_others && spec.tolerated.contains(&name) && !spec.declares(name)
                }
            };
            let without_effect = pairs.iter().filter(has_no_effect).chain(&others);
            let names = without_effect.map(|(name, _)| name.clone());
            let ignored = names.collect::<BTreeSet<_>>().into_iter().collect();
            let mut params = Self { pairs, ignored, ..Self::default() };
            if !spec.ignores_others {
                let expected = "the IANA name of a time zone, such as Europe/Berlin";
                params.zone =
                    params.parsed(TIMEZONE.name, expected, |name| TimeZone::get(name).ok())?;
            }
            return Ok(params);
        }
        let unknown = others.into_iter().map(|(name, _)| name).collect();
        Err(ApiError::UnknownParameters { unknown, accepted: spec.accepted() })
    }

    /// The names of the parameters without effect, sorted and escaped, with commas between, for the response; `None` without
    /// any.
    #[must_use]
    pub fn ignored(&self) -> Option<String> {
        let status = self.unknown_statuses.get().filter(|words| !words.is_empty());
        let status = status.map(|_| STATUS.to_owned());
        let mut names: Vec<_> = self.ignored.iter().chain(&status).take(IGNORED_MAX).collect();
        names.sort_unstable();
        let names = names.into_iter();
        let escaped = names.map(|name| byte_serialize(name.as_bytes()).collect::<String>());
        Some(escaped.collect::<Vec<_>>().join(", ")).filter(|names| !names.is_empty())
    }

    /// What of the request was not understood although it was accepted, as sentences.
    #[must_use]
    pub fn warnings(&self) -> Vec<String> {
        let words = self.unknown_statuses.get().into_iter().flatten().take(IGNORED_MAX);
        words.map(|word| format!("{STATUS} {word:?} is not known and was ignored.")).collect()
    }

    /// The matches' statuses that a value of `status` selects; `None` without a known word, and unknown ones get a warning.
    #[must_use]
    pub fn statuses(&self, text: Option<&str>, vocabulary: Vocabulary) -> Option<Vec<Status>> {
        let text = text?;
        let words = text.split(',').map(str::trim).filter(|word| !word.is_empty());
        let unknown = words.filter(|word| vocabulary.parse(word).is_none());
        let unknown = unknown.map(ToOwned::to_owned).collect();
        // A handler reads it once.
        self.unknown_statuses.set(unknown).ok();
        vocabulary.parse(text)
    }

    /// The last value of this name, as web frameworks usually read it; `None` if absent or empty.
    #[must_use]
    pub fn text(&self, name: &str) -> Option<&str> {
        let mut named = self.pairs.iter().rev().filter(|(key, _)| key == name);
        named.next().map(|(_, value)| value.trim()).filter(|value| !value.is_empty())
    }

    /// Whether rows are to have parts, which makes them much larger.
    #[must_use]
    pub fn has_include(&self) -> bool {
        self.text("include").is_some()
    }

    /// All parameters except those of paging, for the URL of the next page.
    pub fn filters(&self) -> impl Iterator<Item = (&str, &str)> {
        let pairs = self.pairs.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        let paging = [CURSOR, "limit", "offset", "page", "page_size"];
        pairs.filter(move |(name, _)| !paging.contains(name))
    }

    /// An id or another whole number; a number out of range becomes the largest.
    ///
    /// # Errors
    ///
    /// If the value is not a whole number.
    pub fn number(&self, name: &str) -> Result<Option<u64>, ApiError> {
        self.parsed(name, "a whole number", |text| {
            let is_number = text.bytes().all(|byte| byte.is_ascii_digit());
            is_number.then(|| text.parse().unwrap_or(u64::MAX))
        })
    }

    /// An id. Values that do not fit a signed 64-bit integer are invalid.
    ///
    /// # Errors
    ///
    /// If the value is not an id.
    pub fn id(&self, name: &str) -> Result<Option<Key>, ApiError> {
        self.parsed(name, "an id, which is a whole number", id)
    }

    /// Comma-separated ids.
    ///
    /// # Errors
    ///
    /// If one of them is not an id.
    pub fn ids(&self, name: &str) -> Result<Option<Vec<Key>>, ApiError> {
        self.parsed(name, "an id, or several with commas between", |text| {
            let parts = text.split(',').map(str::trim).filter(|part| !part.is_empty());
            let ids: Option<Vec<_>> = parts.map(id).collect();
            ids.filter(|ids| !ids.is_empty())
        })
    }

    /// The same, at most so many.
    ///
    /// # Errors
    ///
    /// If one of them is not an id, or if they are more.
    pub fn ids_up_to(&self, name: &str, max: usize) -> Result<Option<Vec<Key>>, ApiError> {
        match self.ids(name)? {
            Some(ids) if ids.len() > max => {
                Err(ApiError::BadParameter(format!("{name} takes at most {max} ids.")))
            }
            ids => Ok(ids),
        }
    }

    /// A value of a closed list.
    ///
    /// # Errors
    ///
    /// If it is none of them; with those that are.
    pub fn choice<T>(
        &self,
        name: &str,
        accepted: impl IntoIterator<Item = &'static str>,
        parse: impl Fn(&str) -> Option<T>,
    ) -> Result<Option<T>, ApiError> {
        let Some(text) = self.text(name) else { return Ok(None) };
        parse(text).map(Some).ok_or_else(|| ApiError::unknown_value(name, accepted))
    }

    /// The time zone of the response, if the request names one.
    #[must_use]
    pub fn zone(&self) -> Option<&TimeZone> {
        self.zone.as_ref()
    }

    /// The time zone of a request to version 1: `tz`, else that of Dubai. An unknown name counts as absent.
    #[must_use]
    pub fn tz(&self) -> TimeZone {
        let zone = self.text("tz").and_then(|name| TimeZone::get(name).ok());
        zone.or_else(|| TimeZone::get(V1_ZONE).ok()).unwrap_or(TimeZone::UTC)
    }

    /// `true`, `1`, `yes` and `false`, `0`, `no`, in any case.
    ///
    /// # Errors
    ///
    /// If the value is none of them.
    pub fn flag(&self, name: &str) -> Result<Option<bool>, ApiError> {
        self.parsed(name, "true or false", |text| match text.to_ascii_lowercase().as_str() {
            "true" | "1" | "yes" => Some(true),
            "false" | "0" | "no" => Some(false),
            _ => None,
        })
    }

    /// The inclusive start: the beginning of a day, or a timestamp, in the zone of the request.
    ///
    /// # Errors
    ///
    /// If the value is neither.
    pub fn from(&self, name: &str) -> Result<Option<Micros>, ApiError> {
        let zone = self.zone.clone().unwrap_or(TimeZone::UTC);
        self.parsed(name, time::EXPECTED, |text| time::begin_in(text, &zone))
    }

    /// The exclusive end: the end of a day, or just after a timestamp, in the zone of the request.
    ///
    /// # Errors
    ///
    /// If the value is neither.
    pub fn before(&self, name: &str) -> Result<Option<Micros>, ApiError> {
        let zone = self.zone.clone().unwrap_or(TimeZone::UTC);
        self.parsed(name, time::EXPECTED, |text| time::end_in(text, &zone))
    }

    /// `limit` and `offset`.
    ///
    /// # Errors
    ///
    /// If one of them is not a number.
    pub fn window_of(&self, page: PageSize) -> Result<Window, ApiError> {
        let page = if self.has_include() { INCLUDED } else { page };
        let size = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
        let limit = self.number("limit")?.map_or(page.default, size);
        let limit = if limit == 0 { page.default } else { limit.min(page.max) };
        Ok(Window { offset: self.number("offset")?.map_or(0, size), limit })
    }

    /// A value parsed by a function.
    ///
    /// # Errors
    ///
    /// If it cannot be parsed.
    pub fn parsed<T>(
        &self,
        name: &str,
        expected: &str,
        parse: impl Fn(&str) -> Option<T>,
    ) -> Result<Option<T>, ApiError> {
        let Some(text) = self.text(name) else { return Ok(None) };
        let bad = || ApiError::BadParameter(format!("{name} is to be {expected}."));
        parse(text).map(Some).ok_or_else(bad)
    }
}

fn id(text: &str) -> Option<Key> {
    let is_number = text.bytes().all(|byte| byte.is_ascii_digit());
    let id = is_number.then(|| text.parse::<i64>().ok()).flatten()?;
    Key::try_from(id).ok()
}

/// The pairs of a query: application/x-www-form-urlencoded.
fn form(query: &str) -> impl Iterator<Item = (Cow<'_, str>, Cow<'_, str>)> {
    form_urlencoded::parse(query.as_bytes())
}

#[cfg(test)]
mod tests;

//! Arguments of tools: what they are called, what they may be, and how those of a call are read.
//!
//! Agents were written against several servers, and name the same thing differently. Every argument has one
//! canonical name, which is listed, and aliases, which are accepted. Anything else is refused with the
//! accepted names: an argument that is silently ignored gives a wrong answer that looks right.

use std::collections::BTreeMap;

use accounts::ZoneName;
use base::time_format::zulu;
use fanout::{Epoch, Position};
use history::query::EntityKind;
use record::Key;
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::{
    days::{self, Calendar, TimeSpan},
    refusal::Refusal,
};

/// An argument of a tool.
#[derive(Debug, Clone)]
pub(crate) struct Argument {
    pub name: &'static str,
    pub kind: ArgumentKind,
    pub required: bool,
    pub about: String,
    pub aliases: Vec<&'static str>,
}

/// The values that an argument takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ArgumentKind {
    /// The id of a match, or its name: `A v B`, also with a day.
    MatchId,
    /// The id of an entity, or its name.
    EntityId(EntityKind),
    /// The id of something without a name.
    Id,
    /// Ids or names of matches, at most so many.
    MatchIds(usize),
    Integer {
        min: i64,
        max: i64,
    },
    Number,
    Flag,
    Text,
    /// A day, several days or a moment, also in words.
    Time,
    /// The IANA name of the time zone of days.
    Zone,
    /// Some of these words.
    Words(&'static [&'static str]),
    /// The position of a channel, `{epoch, seq}` or `epoch:seq`, or those of several by their names.
    Position,
    /// Where an earlier answer was cut.
    Cursor,
}

/// The longest text that an argument may be, in characters.
const TEXT_CHARS_MAX: usize = 200;

impl Argument {
    pub(crate) fn new(name: &'static str, kind: ArgumentKind, about: &str) -> Self {
        Self { name, kind, required: false, about: about.to_owned(), aliases: Vec::new() }
    }

    pub(crate) fn required(self) -> Self {
        Self { required: true, ..self }
    }

    pub(crate) fn or(self, aliases: &[&'static str]) -> Self {
        Self { aliases: aliases.to_vec(), ..self }
    }

    /// The JSON schema of its values.
    pub(crate) fn schema(&self) -> Value {
        let mut schema = match self.kind {
            ArgumentKind::Id => json!({"type": "integer"}),
            ArgumentKind::MatchId | ArgumentKind::EntityId(_) => {
                json!({"type": ["integer", "string"]})
            }
            ArgumentKind::MatchIds(max) => {
                json!({"type": "array", "items": {"type": ["integer", "string"]}, "maxItems": max})
            }
            ArgumentKind::Integer { min, max } => {
                json!({"type": "integer", "minimum": min, "maximum": max})
            }
            ArgumentKind::Number => json!({"type": "number"}),
            ArgumentKind::Flag => json!({"type": "boolean"}),
            ArgumentKind::Text | ArgumentKind::Time | ArgumentKind::Zone | ArgumentKind::Cursor => {
                json!({"type": "string"})
            }
            ArgumentKind::Words(words) => {
                json!({"type": "array", "items": {"type": "string", "enum": words}})
            }
            ArgumentKind::Position => json!({"type": "object"}),
        };
        // Where an alias may stand for it, the schema itself cannot require it.
        let required = if self.required && !self.aliases.is_empty() { "Required" } else { "" };
        let about = [required, self.about.as_str()];
        let about: Vec<&str> = about.into_iter().filter(|text| !text.is_empty()).collect();
        if !about.is_empty() {
            schema["description"] = about.join(". ").into();
        }
        schema
    }

    fn is_called(&self, name: &str) -> bool {
        self.name == name || self.aliases.contains(&name)
    }

    /// The value in its canonical form, or what is expected instead.
    fn read(&self, value: &Value) -> Result<Value, String> {
        self.canonical(value).ok_or_else(|| format!("{} is to be {}.", self.name, self.expected()))
    }

    fn canonical(&self, value: &Value) -> Option<Value> {
        let text = value.as_str().map(str::trim);
        let integer = || value.as_i64().or_else(|| text?.parse().ok());
        let parts = |separators: &[char]| match value {
            Value::Array(parts) => parts.clone(),
            Value::String(text) => text.split(separators).map(|it| it.trim().into()).collect(),
            one => vec![one.clone()],
        };
        match self.kind {
            ArgumentKind::Id => integer().filter(|id| *id >= 0).map(Value::from),
            // A year is the name of a season.
            ArgumentKind::EntityId(EntityKind::Season) if matches!(integer(), Some(1900..2100)) => {
                Some(integer()?.to_string().into())
            }
            ArgumentKind::MatchId | ArgumentKind::EntityId(_) => id_or_name(value),
            ArgumentKind::MatchIds(max) => {
                let matches: Option<Vec<Value>> =
                    parts(&[',', ';']).iter().map(id_or_name).collect();
                matches.filter(|ids| (1..=max).contains(&ids.len())).map(Value::from)
            }
            // A larger limit is not an error: the answer says how many there are.
            ArgumentKind::Integer { min, max } => {
                integer().filter(|number| *number >= min).map(|number| number.min(max).into())
            }
            ArgumentKind::Number if value.is_number() => Some(value.clone()),
            ArgumentKind::Number => {
                text.filter(|it| it.parse::<f64>().is_ok_and(f64::is_finite)).map(Value::from)
            }
            ArgumentKind::Flag if value.is_boolean() => Some(value.clone()),
            ArgumentKind::Flag => match text?.to_ascii_lowercase().as_str() {
                "true" | "1" | "yes" => Some(true.into()),
                "false" | "0" | "no" => Some(false.into()),
                _ => None,
            },
            ArgumentKind::Text | ArgumentKind::Cursor if value.is_number() => {
                Some(value.to_string().into())
            }
            // `Arguments::read` reads times, in the time zone of the call.
            ArgumentKind::Text | ArgumentKind::Cursor | ArgumentKind::Time => {
                text.filter(|text| is_text(text)).map(Value::from)
            }
            ArgumentKind::Zone => {
                text.filter(|it| Calendar::in_zone(it).is_some()).map(Value::from)
            }
            ArgumentKind::Words(words) => {
                let parts = parts(&[',']);
                let is_word = |part: &Value| part.as_str().is_some_and(|it| words.contains(&it));
                (!parts.is_empty() && parts.iter().all(is_word)).then_some(parts.into())
            }
            ArgumentKind::Position => positions(value).map(|_| value.clone()),
        }
    }

    /// What values it takes.
    fn expected(&self) -> String {
        let expected = match self.kind {
            ArgumentKind::Id => "an id, a whole number",
            ArgumentKind::MatchId => EXPECTED_MATCH,
            ArgumentKind::EntityId(_) => "an id or a name",
            ArgumentKind::MatchIds(max) => {
                return format!("a list of 1 to {max} ids, or names as \"A v B\"");
            }
            ArgumentKind::Integer { min, max } => {
                return format!("a whole number from {min} to {max}");
            }
            ArgumentKind::Number => "a number",
            ArgumentKind::Flag => "true or false",
            ArgumentKind::Text => return format!("a text of 1 to {TEXT_CHARS_MAX} characters"),
            ArgumentKind::Time => "a day",
            ArgumentKind::Zone => "the IANA name of a time zone, such as Europe/Berlin",
            ArgumentKind::Words(words) => return format!("some of {}", words.join(", ")),
            ArgumentKind::Position => {
                "`positions` of an earlier answer, or one of them: {epoch, seq}"
            }
            ArgumentKind::Cursor => "the cursor of an earlier answer",
        };
        expected.to_owned()
    }
}

fn is_text(text: &str) -> bool {
    !text.trim().is_empty() && text.chars().count() <= TEXT_CHARS_MAX
}

/// What a match may be called, for refusals.
pub(crate) const EXPECTED_MATCH: &str =
    "the id of a match, or its teams as \"A v B\", also with a day: \"A v B yesterday\"";

/// What days may be called, for refusals.
const EXPECTED_TIME: &str = "a day such as 2026-08-30, today, saturday, this weekend, last week, \
                             next 3 days, since monday, 30/08/2026, or a moment such as 2026-08-30T18:00:00Z";

/// An id as a number, or a name.
fn id_or_name(value: &Value) -> Option<Value> {
    match value {
        Value::Number(number) => number.as_u64().map(Value::from),
        Value::String(text) if is_text(text) => {
            let number = text.trim().parse::<i64>();
            match number {
                Ok(number) => Key::try_from(number).ok().map(Value::from),
                Err(_) => Some(text.trim().into()),
            }
        }
        _ => None,
    }
}

fn position(value: &Value) -> Option<Position> {
    let (epoch, seq) = match value {
        Value::Object(fields) => (fields.get("epoch")?.as_str()?, fields.get("seq")?.as_u64()?),
        Value::String(text) => {
            let (epoch, seq) = text.split_once(':')?;
            (epoch, seq.parse().ok()?)
        }
        _ => return None,
    };
    Some(Position { epoch: Epoch::parse(epoch), seq })
}

fn positions(value: &Value) -> Option<BTreeMap<String, Position>> {
    if let Some(one) = position(value) {
        return Some(BTreeMap::from([(String::new(), one)]));
    }
    let channels = value.as_object()?.iter();
    channels.map(|(channel, value)| Some((channel.clone(), position(value)?))).collect()
}

/// How a call was understood, for its answer.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub(crate) struct Notes {
    /// What each name or word stands for, by the argument.
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub resolved: Map<String, Value>,
    /// The time that a list covers, its order, and the time zone of its days.
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub window: Map<String, Value>,
}

/// The arguments of a call by their canonical names, each of its kind.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Arguments {
    values: BTreeMap<&'static str, Value>,
    /// The times among them.
    spans: BTreeMap<&'static str, TimeSpan>,
    /// The present in the time zone of the call.
    pub calendar: Calendar,
    pub notes: Notes,
}

impl Arguments {
    /// Reads those of a call. Without a time zone of its own, it means days of the zone of the account.
    pub(crate) fn read(
        declared: &[Argument],
        given: &Map<String, Value>,
        zone: Option<ZoneName>,
    ) -> Result<Self, Refusal> {
        let mut arguments = Self::default();
        for (name, value) in given.iter().filter(|(_, value)| !value.is_null()) {
            let Some(argument) = declared.iter().find(|argument| argument.is_called(name)) else {
                return Err(unknown(declared, name));
            };
            let value = argument.read(value).map_err(|message| {
                Refusal::bad_argument(message).with("argument", argument.name)
            })?;
            if arguments.get(argument.name).is_some_and(|other| *other != value) {
                return Err(Refusal::bad_argument(format!(
                    "{} is given twice, with different values.",
                    argument.name
                )));
            }
            arguments.set(argument.name, value);
        }
        if let Some(missing) =
            declared.iter().find(|it| it.required && arguments.get(it.name).is_none())
        {
            return Err(Refusal::bad_argument(format!("{} is required.", missing.name))
                .with("accepted", accepted(declared)));
        }
        arguments.read_times(declared, zone.map(ZoneName::as_str))?;
        Ok(arguments)
    }

    fn read_times(
        &mut self,
        declared: &[Argument],
        of_account: Option<&'static str>,
    ) -> Result<(), Refusal> {
        let of_account = of_account.filter(|_| self.get("timezone").is_none());
        let mut zones = declared.iter().filter(|argument| argument.kind == ArgumentKind::Zone);
        if let (Some(argument), Some(zone)) = (zones.next(), of_account) {
            self.set(argument.name, zone);
        }
        if let Some(calendar) = self.text("timezone").or(of_account).and_then(Calendar::in_zone) {
            self.calendar = calendar;
            self.calendar.is_of_account = of_account.is_some();
        }
        let zone = self.get("timezone").map(|zone| ("timezone".to_owned(), zone.clone()));
        self.notes.window.extend(zone);
        self.calendar.prefers_past = self.get("last").is_some()
            || self.text("status").is_some_and(|status| status.split(',').all(is_over));
        for argument in declared.iter().filter(|argument| argument.kind == ArgumentKind::Time) {
            let Some(text) = self.text(argument.name) else { continue };
            let Some(span) = self.calendar.span(text) else {
                let (name, today) = (argument.name, self.calendar.today());
                let message = format!("{name} is to be {EXPECTED_TIME}. Today is {today}.");
                let refusal = Refusal::bad_argument(message).with("argument", name);
                return Err(refusal.with("today", today));
            };
            if let Some(date) = days::ambiguous_date(text) {
                let note = format!("{date}, as day/month");
                self.notes.resolved.insert(argument.name.to_owned(), note.into());
            }
            self.spans.insert(argument.name, span);
        }
        [("date_from", "date_to"), ("from", "to")]
            .into_iter()
            .try_for_each(|(begin, end)| self.read_end(begin, end))
    }

    /// Reads an end in words from its begin on: `monday` and `friday` are of one week.
    fn read_end(&mut self, begin: &str, end: &'static str) -> Result<(), Refusal> {
        let (Some(first), Some(text)) = (self.span(begin), self.text(end)) else { return Ok(()) };
        let span = self.calendar.range(first, text).ok_or_else(|| {
            Refusal::bad_argument(format!("{end} is before {begin}.")).with("argument", end)
        })?;
        self.spans.insert(end, span);
        Ok(())
    }

    pub(crate) fn get(&self, name: &str) -> Option<&Value> {
        self.values.get(name)
    }

    pub(crate) fn set(&mut self, name: &'static str, value: impl Into<Value>) {
        self.values.insert(name, value.into());
    }

    pub(crate) fn remove(&mut self, name: &str) -> Option<Value> {
        self.spans.remove(name);
        self.values.remove(name)
    }

    pub(crate) fn span(&self, name: &str) -> Option<TimeSpan> {
        self.spans.get(name).copied()
    }

    pub(crate) fn set_span(&mut self, name: &'static str, span: TimeSpan) {
        self.spans.insert(name, span);
        self.set(name, span.begin_text());
    }

    /// Gives several days, or one that is no day in UTC, as a begin and an end, which REST reads; any day where it reads
    /// only these.
    pub(crate) fn spread_date(&mut self, has_date: bool) {
        let is_in_zone = self.get("timezone").is_some();
        let is_day = |span: &TimeSpan| has_date && !is_in_zone && span.utc_day().is_some();
        if let Some(span) = self.span("date").filter(|span| !is_day(span)) {
            self.remove("date");
            for name in ["date_from", "date_to"] {
                if self.span(name).is_none() {
                    self.set_span(name, span);
                }
            }
        }
    }

    /// The value as REST reads it.
    pub(crate) fn rest_text(&self, name: &str) -> Option<String> {
        // REST reads days in the zone of the call, which it gets too.
        let is_in_zone = self.get("timezone").is_some();
        match (self.span(name), self.get(name)?) {
            (Some(span), _) if is_in_zone && name.ends_with("to") => {
                zulu(span.before.saturating_sub(1))
            }
            (Some(span), _) if is_in_zone => zulu(span.from),
            (Some(span), _) if name.ends_with("to") => span.end_text(),
            (Some(span), _) => span.utc_day().or_else(|| span.begin_text()),
            (None, Value::String(text)) => Some(text.clone()),
            (None, value) => Some(value.to_string()),
        }
    }

    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        self.get(name)?.as_str()
    }

    pub(crate) fn id(&self, name: &str) -> Option<Key> {
        self.get(name)?.as_u64()
    }

    /// Ids and names of matches.
    pub(crate) fn matches(&self, name: &str) -> Vec<Value> {
        self.get(name).and_then(Value::as_array).cloned().unwrap_or_default()
    }

    pub(crate) fn count(&self, name: &str) -> Option<usize> {
        usize::try_from(self.get(name)?.as_i64()?).ok()
    }

    pub(crate) fn number(&self, name: &str) -> Option<f64> {
        match self.get(name)? {
            Value::String(text) => text.parse().ok(),
            value => value.as_f64(),
        }
    }

    pub(crate) fn words(&self, name: &str) -> Vec<&str> {
        let words = self.get(name).and_then(Value::as_array).into_iter().flatten();
        words.filter_map(Value::as_str).collect()
    }

    /// Positions by channel; that of a single channel has an empty name.
    pub(crate) fn positions(&self, name: &str) -> Option<BTreeMap<String, Position>> {
        positions(self.get(name)?)
    }
}

/// The schema of all arguments. It stays open, so that hosts that check it let aliases through; the server
/// itself refuses names that it does not know.
pub(crate) fn schema(declared: &[Argument]) -> Map<String, Value> {
    let properties: Map<String, Value> =
        declared.iter().map(|it| (it.name.to_owned(), it.schema())).collect();
    let required: Vec<_> = declared.iter().filter(|it| it.required).map(|it| it.name).collect();
    let mut schema = Map::new();
    schema.insert("type".to_owned(), "object".into());
    schema.insert("properties".to_owned(), properties.into());
    // An alias may stand for a required argument, unless it has none.
    let has_alias =
        |name: &&str| declared.iter().any(|it| it.name == *name && !it.aliases.is_empty());
    let required: Vec<_> = required.into_iter().filter(|name| !has_alias(name)).collect();
    if !required.is_empty() {
        schema.insert("required".to_owned(), required.into());
    }
    schema
}

/// Whether a status is one of matches that are over.
fn is_over(status: &str) -> bool {
    ["finished", "ft", "aet", "ended", "completed", "archived"]
        .iter()
        .any(|word| status.trim().eq_ignore_ascii_case(word))
}

fn accepted(declared: &[Argument]) -> Vec<&'static str> {
    declared.iter().map(|argument| argument.name).collect()
}

fn unknown(declared: &[Argument], name: &str) -> Refusal {
    let shown: String = name.chars().take(TEXT_CHARS_MAX).collect();
    let refusal = Refusal::new("unknown_argument", format!("There is no argument {shown:?}."))
        .with("accepted", accepted(declared));
    let names = declared
        .iter()
        .flat_map(|it| it.aliases.iter().chain([&it.name]).map(|alias| (it.name, *alias)));
    let like = names.map(|(canonical, alias)| (strsim::jaro_winkler(&shown, alias), canonical));
    match like.max_by(|a, b| a.0.total_cmp(&b.0)) {
        Some((likeness, canonical)) if likeness > 0.75 => refusal.with("suggestion", canonical),
        _ => refusal,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn declared() -> Vec<Argument> {
        vec![
            Argument::new("match_id", ArgumentKind::MatchId, "The match")
                .required()
                .or(&["event_id", "id"]),
            Argument::new("team_id", ArgumentKind::EntityId(EntityKind::Team), "").or(&["team"]),
            Argument::new("limit", ArgumentKind::Integer { min: 1, max: 50 }, ""),
            Argument::new("include", ArgumentKind::Words(&["odds", "stats"]), ""),
            Argument::new("since", ArgumentKind::Position, ""),
        ]
    }

    fn read(given: &Value) -> Result<Arguments, Refusal> {
        Arguments::read(&declared(), given.as_object().unwrap(), None)
    }

    #[test]
    fn aliases_and_texts_become_canonical_values() {
        let given = json!({"event_id": "204849", "team": "Arsenal", "limit": 500, "include": "odds,stats", "since": "k3f9:81"});
        let arguments = read(&given).unwrap();
        assert_eq!(arguments.id("match_id"), Some(204_849));
        assert_eq!(arguments.text("team_id"), Some("Arsenal"));
        assert_eq!(arguments.count("limit"), Some(50));
        assert_eq!(arguments.words("include"), ["odds", "stats"]);
        assert_eq!(arguments.positions("since").unwrap()[""].seq, 81);
    }

    #[test]
    fn refusals_say_what_is_accepted() {
        let unknown = read(&json!({"id": 1, "teem": "x"})).unwrap_err();
        assert_eq!(unknown.code, "unknown_argument");
        assert_eq!(unknown.details["suggestion"], "team_id");
        assert_eq!(unknown.details["accepted"][0], "match_id");
        assert!(read(&json!({})).unwrap_err().message.contains("match_id is required"));
        assert!(
            read(&json!({"id": [1]})).unwrap_err().message.contains("match_id is to be the id")
        );
        assert!(
            read(&json!({"id": 1, "include": ["all"]}))
                .unwrap_err()
                .message
                .contains("odds, stats")
        );
        assert!(read(&json!({"id": 1, "event_id": 2})).unwrap_err().message.contains("twice"));
    }

    #[test]
    fn matches_have_names_and_days_have_words() {
        let mut declared = declared();
        declared[0] = Argument::new("match_id", ArgumentKind::MatchId, "");
        declared.push(Argument::new("date", ArgumentKind::Time, ""));
        declared.push(Argument::new("date_from", ArgumentKind::Time, ""));
        declared.push(Argument::new("date_to", ArgumentKind::Time, ""));
        declared.push(Argument::new("timezone", ArgumentKind::Zone, ""));
        let read_in = |given: &Value, zone: &str| {
            let given = given.as_object().expect("an object");
            Arguments::read(&declared, given, ZoneName::parse(zone))
        };
        let read = |given: &Value| read_in(given, "");
        let arguments = read(&json!({"match_id": " Alpha v Beta ", "date": "2026-08-30"})).unwrap();
        assert_eq!(arguments.text("match_id"), Some("Alpha v Beta"));
        assert_eq!(arguments.rest_text("date").as_deref(), Some("2026-08-30"));
        let mut arguments = read(&json!({"date": "2026-08-30", "timezone": "Asia/Tokyo"})).unwrap();
        arguments.spread_date(true);
        assert_eq!(arguments.get("date"), None);
        assert_eq!(arguments.rest_text("date_from").as_deref(), Some("2026-08-29T15:00:00Z"));
        assert_eq!(arguments.rest_text("date_to").as_deref(), Some("2026-08-30T14:59:59Z"));
        // The zone of the account is that of a call without one.
        let of_account = read_in(&json!({"date": "2026-08-30"}), "Asia/Tokyo").unwrap();
        assert_eq!(of_account.text("timezone"), Some("Asia/Tokyo"));
        assert_eq!(of_account.notes.window["timezone"], "Asia/Tokyo");
        assert_eq!(of_account.rest_text("date_from"), None);
        assert_eq!(of_account.rest_text("date").as_deref(), Some("2026-08-29T15:00:00Z"));
        let given = json!({"date": "2026-08-30", "timezone": "UTC"});
        let given = read_in(&given, "Asia/Tokyo").unwrap();
        assert_eq!(given.rest_text("date").as_deref(), Some("2026-08-30T00:00:00Z"));
        let refused = read_in(&json!({"date": "someday"}), "Asia/Tokyo").unwrap_err();
        assert!(refused.message.contains("(Asia/Tokyo)"), "{refused:?}");
        // A tool without days has matches with days in their names.
        let of_match = Arguments::read(&declared[..1], &Map::new(), ZoneName::parse("Asia/Tokyo"));
        let of_match = of_match.unwrap();
        assert_eq!((of_match.get("timezone"), of_match.calendar.zone_name()), (None, "Asia/Tokyo"));
        let midnight = json!({"date_from": "2026-08-30T00:00:00Z", "timezone": "Asia/Tokyo"});
        let from = read(&midnight).unwrap().rest_text("date_from");
        assert_eq!(from.as_deref(), Some("2026-08-30T00:00:00Z"), "no day of Tokyo");
        let backwards = read(&json!({"date_from": "2026-08-30", "date_to": "2026-08-29"}));
        assert_eq!(backwards.unwrap_err().details["argument"], "date_to");
        let arguments = read(&json!({"date_from": "saturday", "date_to": "friday"})).unwrap();
        let days = ["date_from", "date_to"].map(|name| arguments.span(name).unwrap());
        assert_eq!(days[1].before - days[0].from, 7 * 24 * 60 * 60 * 1_000_000);
        let ambiguous = read(&json!({"date": "03/04/2026", "timezone": "Asia/Tokyo"})).unwrap();
        let note = &ambiguous.notes.resolved["date"];
        assert_eq!(note, "03/04/2026, as day/month");
        let refused = read(&json!({"date": "someday"})).unwrap_err();
        let today = refused.details["today"].as_str().expect("a text").to_owned();
        assert!(today.ends_with("(UTC)") && refused.message.contains(&today), "{refused:?}");
        assert!(read(&json!({"timezone": "Mars/Base"})).unwrap_err().message.contains("IANA"));
    }
}

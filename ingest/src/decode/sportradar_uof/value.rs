//! The values of attributes: what is empty is absent, what is wrong is noticed and absent.

use std::str::FromStr;

use facts::event::Micros;
use jiff::{Timestamp, civil::DateTime, tz::TimeZone};
use rust_decimal::Decimal;

use super::{Element, NOTICES_MAX, message::Notices};
use crate::{
    decode::decimal,
    error::{DecodeError, RefusalKind},
};

pub(super) fn id(element: &Element, notices: &mut Notices) -> Option<String> {
    let id = element.get("id").filter(|id| !id.is_empty());
    if id.is_none() && notices.len() < NOTICES_MAX {
        let article = if element.name.starts_with('o') { "an" } else { "a" };
        notices.push(value(format!("{article} {} has no id", element.name)));
    }
    id.map(str::to_owned)
}

pub(super) fn number<T: FromStr>(
    element: &Element,
    name: &str,
    notices: &mut Notices,
) -> Option<T> {
    let text = element.get(name).map(str::trim).filter(|text| !text.is_empty())?;
    let number = text.parse().ok();
    if number.is_none() {
        notice(element, name, text, "no number", notices);
    }
    number
}

pub(super) fn exact(element: &Element, name: &str, notices: &mut Notices) -> Option<Decimal> {
    let text = element.get(name).map(str::trim).filter(|text| !text.is_empty())?;
    let number = decimal::exact(text);
    if number.is_none() {
        notice(element, name, text, "no number", notices);
    }
    number
}

/// Scores of both sides. Some products write them `2.0`.
pub(super) fn pair(element: &Element, names: [&str; 2], notices: &mut Notices) -> [Option<u32>; 2] {
    names.map(|name| {
        let number = exact(element, name, notices).filter(Decimal::is_integer)?;
        u32::try_from(number).ok()
    })
}

/// ISO 8601. Without a zone it is UTC, as all times of the feed.
pub(super) fn moment(element: &Element, name: &str, notices: &mut Notices) -> Option<Micros> {
    let text = element.get(name)?;
    let in_utc = || {
        let time = text.parse::<DateTime>().ok()?;
        TimeZone::UTC.to_timestamp(time).ok()
    };
    let time = text.parse::<Timestamp>().ok().or_else(in_utc).map(Timestamp::as_microsecond);
    if time.is_none() {
        notice(element, name, text, "no time", notices);
    }
    time
}

pub(super) fn is_true(text: &str) -> bool {
    matches!(text, "1" | "true")
}

pub(super) fn notice(element: &Element, name: &str, text: &str, what: &str, notices: &mut Notices) {
    if notices.len() < NOTICES_MAX {
        let text: String = text.chars().take(40).collect();
        notices.push(value(format!("{name} {text:?} of {} is {what}", element.name)));
    }
}

pub(super) fn value(reason: String) -> DecodeError {
    DecodeError::new(RefusalKind::Value, reason)
}

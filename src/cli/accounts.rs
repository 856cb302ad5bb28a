//! `matchwire account`, `addon`, `founders` and `admin`: who the customers and the operators are.

use clap::{Args, Subcommand};
use jiff::{Timestamp, civil::Date, tz::TimeZone};

use super::OutputArgs;
use crate::{
    accounts::{Accounts, Addon, Micros},
    database::DatabaseName,
};

#[derive(Debug, Clone, PartialEq, Eq, Subcommand)]
pub enum AccountCommand {
    /// List accounts, the newest first.
    ///
    /// A line of column heads, then a line for each, separated by tabs: its id, its address, its
    /// state (inactive, active, blocked or deleted), when it was made, when it got the Founder badge,
    /// and its add-ons.
    List(AccountListArgs),
    /// Show all that is known of an account, a line for each fact: its name, then what it is.
    Show(AccountArgs),
    /// Refuse its keys and its log-in at once, on open sockets too.
    Block(AccountArgs),
    /// Take a block back: its key works again.
    Unblock(AccountArgs),
    /// End its keys and sessions, and forget its address and password. What it paid stays in the
    /// ledger, under its id.
    Delete(AccountArgs),
}

#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub struct AccountListArgs {
    /// The database.
    #[arg(long, value_name = "FILE|URL")]
    pub db: DatabaseName,
    /// Only those whose address contains this, upper or lower case.
    #[arg(long, value_name = "TEXT")]
    pub search: Option<String>,
    /// Only those that were made before the account of this id: the next page.
    #[arg(long, value_name = "ID")]
    pub before: Option<i64>,
    /// How many at most.
    #[arg(long, default_value = "1000", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub limit: u32,
    #[command(flatten)]
    pub output: OutputArgs,
}

#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub struct AccountArgs {
    /// The database.
    #[arg(long, value_name = "FILE|URL")]
    pub db: DatabaseName,
    /// The account, by its address or by its id as `account list` shows it.
    #[arg(value_name = "ADDRESS_OR_ID")]
    pub account: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Subcommand)]
pub enum AddonCommand {
    /// Give days of an add-on, added to what is left, and write it into the ledger.
    #[command(name = "gift")]
    Grant(AddonGrantArgs),
}

#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub struct AddonGrantArgs {
    /// The database.
    #[arg(long, value_name = "FILE|URL")]
    pub db: DatabaseName,
    /// The account, by its address or its id.
    #[arg(value_name = "ADDRESS_OR_ID")]
    pub account: String,
    /// Which add-on.
    #[arg(value_name = "websocket|sports|odds")]
    pub addon: Addon,
    /// How many days.
    #[arg(
        long,
        value_name = "N",
        value_parser = clap::value_parser!(u32).range(1..=i64::from(Accounts::DAYS_MAX))
    )]
    pub days: u32,
    /// The reason, for readers of the ledger.
    #[arg(long, value_name = "TEXT", value_parser = note)]
    pub note: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Subcommand)]
pub enum FoundersCommand {
    /// Give the Founder badge to every account that there was at a moment. Once, and never again.
    Grant(FoundersGrantArgs),
}

#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub struct FoundersGrantArgs {
    /// The database.
    #[arg(long, value_name = "FILE|URL")]
    pub db: DatabaseName,
    /// The moment: 2026-08-03T12:00:00Z, or 2026-08-03 for the first one of that day, UTC.
    #[arg(long, value_name = "DATE|MOMENT", value_parser = start_of)]
    pub at: Micros,
}

#[derive(Debug, Clone, PartialEq, Eq, Subcommand)]
pub enum AdminCommand {
    /// Make an operator's account for `/admin/`. Its password is read from the standard input, one
    /// line, never from the command line, which others on the machine can see.
    Create(AdminArgs),
    /// List the operators' accounts.
    ///
    /// A line of column heads, then a line for each, separated by tabs: its name, and when it was
    /// made.
    List(AdminListArgs),
    /// Remove an operator's account, and end its sessions.
    Remove(AdminArgs),
}

#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub struct AdminArgs {
    /// The database.
    #[arg(long, value_name = "FILE|URL")]
    pub db: DatabaseName,
    /// The operator's name: 1 to 64 letters, digits, `-`, `_`, `.`, `@`.
    #[arg(value_name = "NAME", value_parser = operator)]
    pub name: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub struct AdminListArgs {
    /// The database.
    #[arg(long, value_name = "FILE|URL")]
    pub db: DatabaseName,
    #[command(flatten)]
    pub output: OutputArgs,
}

/// What stands in the ledger for good is one printable line.
pub(crate) fn note(text: &str) -> Result<String, &'static str> {
    const LENGTH_MAX: usize = 500;
    let text = text.trim();
    let usable = !text.is_empty() && text.len() <= LENGTH_MAX && !text.contains(char::is_control);
    usable.then(|| text.to_owned()).ok_or("expected one line of 1 to 500 bytes")
}

fn operator(text: &str) -> Result<String, &'static str> {
    const LENGTH_MAX: usize = 64;
    let of_a_name = |b: u8| b.is_ascii_alphanumeric() || b"-_.@".contains(&b);
    let usable = !text.is_empty() && text.len() <= LENGTH_MAX && text.bytes().all(of_a_name);
    usable.then(|| text.to_owned()).ok_or("expected 1 to 64 letters, digits, `-`, `_`, `.`, `@`")
}

/// A moment, or the last one of a day.
pub(super) fn end_of(text: &str) -> Result<Micros, &'static str> {
    match day(text) {
        Some(day) => Ok(midnight(day.tomorrow().map_err(|_| WRONG_MOMENT)?)? - 1),
        None => moment(text),
    }
}

/// A moment, or the first one of a day.
pub(super) fn start_of(text: &str) -> Result<Micros, &'static str> {
    day(text).map_or_else(|| moment(text), midnight)
}

/// A day and nothing else: the date of a moment would be read as well.
fn day(text: &str) -> Option<Date> {
    text.parse().ok().filter(|_| !text.contains(['T', 't', ' ']))
}

const WRONG_MOMENT: &str = "expected a day such as 2026-08-03, or a moment such as \
                            2026-08-03T12:00:00Z";

fn midnight(day: Date) -> Result<Micros, &'static str> {
    let midnight = day.to_zoned(TimeZone::UTC).map_err(|_| WRONG_MOMENT)?;
    Ok(midnight.timestamp().as_microsecond())
}

fn moment(text: &str) -> Result<Micros, &'static str> {
    text.parse::<Timestamp>().map(Timestamp::as_microsecond).map_err(|_| WRONG_MOMENT)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, start: Option<&str>, end: Option<&str>) {
        let shown = |at: Result<Micros, _>| {
            Some(Timestamp::from_microsecond(at.ok()?).unwrap().to_string())
        };
        assert_eq!(shown(start_of(text)).as_deref(), start, "{text}");
        assert_eq!(shown(end_of(text)).as_deref(), end, "{text}");
    }

    #[test]
    fn a_day_is_meant_from_its_begin_or_to_its_end() {
        let moment = Some("2026-08-03T12:00:00Z");
        check("2026-08-03T12:00:00Z", moment, moment);
        check("2026-08-03T14:00:00+02:00", moment, moment);
        let (start, end) = ("2026-08-03T00:00:00Z", "2026-08-03T23:59:59.999999Z");
        check("2026-08-03", Some(start), Some(end));
        for text in ["", "yesterday", "2026-13-01", "2026-08-03T12:00", "1754200000"] {
            check(text, None, None);
        }
    }

    #[test]
    fn a_note_is_one_line() {
        assert_eq!(note(" sorry \u{2764} ").as_deref(), Ok("sorry \u{2764}"));
        for text in ["", "  ", "a\nb", "a\tb", &"x".repeat(501)] {
            assert!(note(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn an_operator_has_a_plain_name() {
        assert_eq!(operator("ada.l@example.org").as_deref(), Ok("ada.l@example.org"));
        for text in ["", "a b", "a\u{e9}", "<b>", &"x".repeat(65)] {
            assert!(operator(text).is_err(), "{text:?}");
        }
    }
}

//! `matchwire account`, `addon`, `founders` and `admin`: customers and operators.

use clap::{Args, Subcommand};
use jiff::{Timestamp, civil::Date, tz::TimeZone};

use super::OutputArgs;
pub use accounts::{Accounts, Addon, Micros};
use database::DatabaseName;

#[derive(Debug, Clone, PartialEq, Eq, Subcommand)]
pub enum AccountCommand {
    /// List accounts, the newest first.
    ///
    /// Prints a header line, then one line per account, separated by tabs: its id, its address, its
    /// state (inactive, active, blocked or deleted), when it was created, when it got the Founder
    /// badge, and its add-ons.
    List(AccountListArgs),
    /// Show an account, one line per property: its name and its value.
    Show(AccountArgs),
    /// Block an account: its keys and its log-in are refused at once, on open sockets too.
    Block(AccountArgs),
    /// Unblock an account: its keys work again.
    Unblock(AccountArgs),
    /// Delete an account: revoke its keys, end its sessions, and erase its address and password.
    /// Its payments stay in the ledger, under its id.
    Delete(AccountArgs),
}

#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub struct AccountListArgs {
    /// The database.
    #[arg(long, value_name = "FILE|URL")]
    pub db: DatabaseName,
    /// Only accounts whose address contains this text, ignoring case, or with this id or public part of a key.
    #[arg(long, value_name = "TEXT")]
    pub search: Option<String>,
    /// Only accounts created before the one with this id: the next page.
    #[arg(long, value_name = "ID")]
    pub before: Option<i64>,
    /// Maximum number of accounts.
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
    /// Grant days of an add-on, added to what is left, and record it in the ledger.
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
    /// The add-on.
    #[arg(value_name = "websocket|sports|odds")]
    pub addon: Addon,
    /// The number of days.
    #[arg(
        long,
        value_name = "N",
        value_parser = clap::value_parser!(u32).range(1..=i64::from(Accounts::DAYS_MAX))
    )]
    pub days: u32,
    /// The reason, recorded in the ledger.
    #[arg(long, value_name = "TEXT", value_parser = accounts::books::note)]
    pub note: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Subcommand)]
pub enum FoundersCommand {
    /// Grant the Founder badge to every account that existed at a given time. It can be granted
    /// only once.
    Grant(FoundersGrantArgs),
}

#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub struct FoundersGrantArgs {
    /// The database.
    #[arg(long, value_name = "FILE|URL")]
    pub db: DatabaseName,
    /// The time: 2026-08-03T12:00:00Z, or 2026-08-03 for the start of that day, UTC.
    #[arg(long, value_name = "DATE|MOMENT", value_parser = start_of)]
    pub at: Micros,
}

#[derive(Debug, Clone, PartialEq, Eq, Subcommand)]
pub enum AdminCommand {
    /// Create an operator's account for `/admin/`. Its password is read from the standard input,
    /// one line, because other users of the machine can see command lines.
    Create(AdminArgs),
    /// List the operators' accounts.
    ///
    /// Prints a header line, then one line per account, separated by tabs: its name, and when it
    /// was created.
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

fn operator(text: &str) -> Result<String, &'static str> {
    const LENGTH_MAX: usize = 64;
    let of_a_name = |b: u8| b.is_ascii_alphanumeric() || b"-_.@".contains(&b);
    let usable = !text.is_empty() && text.len() <= LENGTH_MAX && text.bytes().all(of_a_name);
    usable.then(|| text.to_owned()).ok_or("expected 1 to 64 letters, digits, `-`, `_`, `.`, `@`")
}

/// A time, or the end of a day.
pub(super) fn end_of(text: &str) -> Result<Micros, &'static str> {
    match day(text) {
        Some(day) => Ok(midnight(day.tomorrow().map_err(|_| WRONG_MOMENT)?)? - 1),
        None => moment(text),
    }
}

/// A time, or the start of a day.
pub(super) fn start_of(text: &str) -> Result<Micros, &'static str> {
    day(text).map_or_else(|| moment(text), midnight)
}

/// Parses a day only: the date parser also accepts a full timestamp.
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
    use accounts::books::note;

    use super::*;

    fn check(text: &str, start: Option<&str>, end: Option<&str>) {
        let shown = |at: Result<Micros, _>| {
            Some(Timestamp::from_microsecond(at.ok()?).unwrap().to_string())
        };
        assert_eq!(shown(start_of(text)).as_deref(), start, "{text}");
        assert_eq!(shown(end_of(text)).as_deref(), end, "{text}");
    }

    #[test]
    fn date_means_its_start_or_its_end() {
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
    fn note_is_one_line() {
        assert_eq!(note(" sorry \u{2764} ").as_deref(), Ok("sorry \u{2764}"));
        for text in ["", "  ", "a\nb", "a\tb", &"x".repeat(501)] {
            assert!(note(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn operator_name_is_plain_ascii() {
        assert_eq!(operator("ada.l@example.org").as_deref(), Ok("ada.l@example.org"));
        for text in ["", "a b", "a\u{e9}", "<b>", &"x".repeat(65)] {
            assert!(operator(text).is_err(), "{text:?}");
        }
    }
}

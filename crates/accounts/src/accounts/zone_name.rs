//! The time zone of an account.

use std::sync::LazyLock;

use jiff::tz;

/// The IANA names that customers choose from, sorted: regions and cities as this machine knows them, and UTC.
static NAMES: LazyLock<Vec<String>> = LazyLock::new(|| {
    let names = tz::db().available().map(|name| name.as_str().to_owned());
    let mut names: Vec<_> = names.filter(|name| name.contains('/') || name == "UTC").collect();
    names.sort_unstable();
    names
});

/// The IANA name of a time zone: `Europe/Berlin`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ZoneName(&'static str);

impl ZoneName {
    /// The zone with this name, in any case; `None` if there is none.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        Self::all().find(|zone| zone.0.eq_ignore_ascii_case(name))
    }

    /// Those to choose from, sorted.
    pub fn all() -> impl Iterator<Item = Self> {
        NAMES.iter().map(|name| Self(name))
    }

    #[must_use]
    pub fn as_str(self) -> &'static str {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_zones_are_a_closed_list() {
        for (text, expected) in [
            ("Europe/Berlin", Some("Europe/Berlin")),
            ("america/new_york", Some("America/New_York")),
            ("UTC", Some("UTC")),
            ("", None),
            ("Mars/Base", None),
            ("localtime", None),
            ("../etc/passwd", None),
        ] {
            assert_eq!(ZoneName::parse(text).map(ZoneName::as_str), expected, "{text}");
        }
        assert!(ZoneName::all().all(|zone| tz::TimeZone::get(zone.as_str()).is_ok()));
    }
}

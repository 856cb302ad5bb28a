//! Email addresses of customers, normalised.

use std::fmt;

/// The address of a customer: trimmed and in lower case, so that one person has one account.
///
/// It is stricter than the mail standards. Every accepted address can be used unescaped: it has no
/// quotes, comments or line ends that could smuggle in a second address. Letters beyond ASCII are
/// refused, because two spellings that look alike would be two accounts; a domain with such letters
/// has an ASCII form.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Email(String);

impl Email {
    /// Maximum bytes of an address, as in SMTP.
    pub const BYTES_MAX: usize = 254;
    /// Maximum bytes of the part before the `@`.
    const LOCAL_BYTES_MAX: usize = 64;

    /// Parses user input; `None` if it is not an address.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim().to_ascii_lowercase();
        let (local, domain) = text.split_once('@')?;
        let good = text.len() <= Self::BYTES_MAX && is_local(local) && is_domain(domain);
        good.then_some(Self(text))
    }

    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Email {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

fn is_local(text: &str) -> bool {
    let allowed = |c: u8| c.is_ascii_alphanumeric() || b".!#$%&'*+-/=?^_`{|}~".contains(&c);
    let dots_apart = !text.starts_with('.') && !text.ends_with('.') && !text.contains("..");
    !text.is_empty()
        && text.len() <= Email::LOCAL_BYTES_MAX
        && dots_apart
        && text.bytes().all(allowed)
}

fn is_domain(text: &str) -> bool {
    let allowed = |c: u8| c.is_ascii_alphanumeric() || c == b'-';
    text.split('.').all(|label| {
        (1..=63).contains(&label.len())
            && !label.starts_with('-')
            && !label.ends_with('-')
            && label.bytes().all(allowed)
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn check(text: &str, expected: Option<&str>) {
        let parsed = Email::parse(text);
        assert_eq!(parsed.as_ref().map(Email::as_str), expected, "{text:?}");
    }

    #[test]
    fn addresses_are_trimmed_and_lowercased() {
        check("me@x.org", Some("me@x.org"));
        check("  Me.Too+tag@X.ORG\n", Some("me.too+tag@x.org"));
        check("o'brien@mail.example", Some("o'brien@mail.example"));
        check("demo@localhost", Some("demo@localhost"));
    }

    #[test]
    fn invalid_address_is_refused() {
        for text in [
            "",
            "@",
            "me",
            "me@",
            "@x.org",
            "me@x@y.org",
            "me@x..org",
            "me@.org",
            "me@-x.org",
            ".me@x.org",
            "m..e@x.org",
            "m e@x.org",
            "me@x.org\r\nBcc: you@x.org",
            "me\0@x.org",
            "<me@x.org>",
            "\"me\"@x.org",
            "me,you@x.org",
            "mé@x.org",
            "me@exämple.org",
        ] {
            check(text, None);
        }
        check(&format!("{}@x.org", "a".repeat(64)), Some(&format!("{}@x.org", "a".repeat(64))));
        check(&format!("{}@x.org", "a".repeat(65)), None);
        check(&format!("a@{}.org", "b.".repeat(130)), None);
    }

    proptest! {
        #[test]
        fn accepted_address_is_normalised_and_has_no_special_characters(text in "\\PC{0,20}@\\PC{0,20}") {
            if let Some(email) = Email::parse(&text) {
                prop_assert_eq!(Email::parse(email.as_str()), Some(email.clone()));
                prop_assert!(email.as_str().bytes().all(|c| c.is_ascii_graphic()));
                prop_assert!(!email.as_str().contains(['<', '>', ',', ';', '"', '(', ')', '\\']));
            }
        }
    }
}

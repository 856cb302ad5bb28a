//! The sender of mail.

use lettre::{Address, message::Mailbox};

/// The address that mail comes from, and its display name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sender {
    address: Address,
    name: String,
}

impl Sender {
    /// `None` if it is not an address, if it is not ASCII (not every server accepts that), or if the
    /// name would break a line. An empty address becomes one that only a folder accepts.
    #[must_use]
    pub fn new(address: &str, name: &str) -> Option<Self> {
        let address = if address.is_empty() { "matchwire@localhost" } else { address };
        let usable = address.is_ascii() && !name.contains(char::is_control);
        let address = address.parse().ok().filter(|_| usable)?;
        Some(Self { address, name: name.to_owned() })
    }

    /// The name of the service, as texts are signed.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    pub(super) fn address(&self) -> &Address {
        &self.address
    }

    pub(super) fn mailbox(&self) -> Mailbox {
        let name = (!self.name.is_empty()).then(|| self.name.clone());
        Mailbox::new(name, self.address.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sender_with_header_injection_is_refused() {
        assert!(Sender::new("hub@example.org", "Hub").is_some());
        for (address, name) in [
            ("hub@example.org\r\nBcc: all@example.org", "Hub"),
            ("hub@example.org", "Hub\r\nBcc: all@example.org"),
            ("hüb@example.org", "Hub"),
            ("hub", "Hub"),
        ] {
            assert_eq!(Sender::new(address, name), None, "{address} {name}");
        }
    }
}

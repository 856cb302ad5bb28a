//! Links in mails: how they are signed and used.
//!
//! A link consists of its row's id and a signature; the row determines what it does. So a link can
//! be generated again when a mail is retried, and is not stored in the database. Each is used once,
//! and then all other links of the account become invalid: a request from before a password or
//! address change must not change it again.

use std::fmt;

use data_encoding::HEXLOWER;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use sqlx::AnyConnection;
use subtle::ConstantTimeEq;
use zeroize::Zeroizing;

use super::{
    AccountId, Accounts, Email, Micros, Result,
    store::{self, Effect, StoredAccount, StoredLink},
};

/// What a link does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LinkKind {
    Verify,
    Reset,
    Email,
}

impl LinkKind {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Verify => "verify",
            Self::Reset => "reset",
            Self::Email => "email",
        }
    }
}

/// The result of using a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LinkOutcome {
    /// It has taken effect.
    Done,
    /// It, or a later one, was used before.
    Already,
    Expired,
    /// It is invalid, or can no longer take effect.
    Unknown,
}

/// The result of checking a link with a valid signature.
pub(super) enum LinkCheck {
    /// It is used now; the caller applies its effect in the same transaction.
    Valid(StoredAccount),
    Rejected(LinkOutcome),
}

/// The secret that signs links.
pub(super) struct LinkKey(Zeroizing<[u8; 32]>);

impl LinkKey {
    pub(super) fn new(secret: Zeroizing<[u8; 32]>) -> Self {
        Self(secret)
    }

    /// `17.5c0ffee…`: safe in a URL.
    fn text(&self, kind: &str, id: i64, expires: Micros) -> String {
        let mut text = format!("{id}.");
        HEXLOWER.encode_append(&self.mac(kind, id, expires), &mut text);
        text
    }

    fn mac(&self, kind: &str, id: i64, expires: Micros) -> [u8; 32] {
        let mut mac =
            Hmac::<Sha256>::new_from_slice(&*self.0).expect("HMAC takes a key of any length");
        mac.update(format!("{kind}|{id}|{expires}").as_bytes());
        mac.finalize().into_bytes().into()
    }

    /// Compares in constant time.
    fn signed(&self, text: &str, kind: LinkKind, link: &StoredLink) -> bool {
        let good = self.text(kind.as_str(), link.id, link.expires);
        link.kind == kind.as_str() && bool::from(good.as_bytes().ct_eq(text.as_bytes()))
    }
}

impl fmt::Debug for LinkKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("LinkKey(..)")
    }
}

impl Accounts {
    /// The text of a link for its mail, by the row's id; `None` if it is no longer valid. It is a
    /// secret of the mail's recipient.
    ///
    /// # Errors
    ///
    /// If the store fails.
    pub async fn link_text(&self, link: i64) -> Result<Option<String>> {
        let link = self.shared.store.link(link).await?.filter(|link| link.used.is_none());
        Ok(link.map(|it| self.shared.link_key.text(&it.kind, it.id, it.expires)))
    }

    /// Creates a link for an account, in the transaction of the mail that delivers it.
    pub(super) async fn insert_link(
        &self,
        tx: &mut AnyConnection,
        whose: (AccountId, LinkKind),
        effect: Effect<'_>,
        now: Micros,
    ) -> sqlx::Result<i64> {
        let expires = now.saturating_add(self.shared.config.link_age_max());
        store::insert_link(tx, whose, effect, expires, now).await
    }

    /// The address of the account that a link belongs to, for choosing a password; `None` if it is
    /// not a valid link.
    ///
    /// # Errors
    ///
    /// If the store fails.
    pub async fn email_of_link(&self, text: &str) -> Result<Option<Email>> {
        for kind in [LinkKind::Verify, LinkKind::Reset] {
            if let Some(link) = self.signed_link(kind, text).await? {
                let account = self.shared.store.account_by_id(link.account).await?;
                return Ok(account.and_then(|it| it.email).and_then(|it| Email::parse(&it)));
            }
        }
        Ok(None)
    }

    /// The row of a link; `None` unless its signature for this kind is valid.
    pub(super) async fn signed_link(
        &self,
        kind: LinkKind,
        text: &str,
    ) -> Result<Option<StoredLink>> {
        let Some(id) = text.split_once('.').and_then(|(id, _)| id.parse().ok()) else {
            return Ok(None);
        };
        let link = self.shared.store.link(id).await?;
        Ok(link.filter(|link| self.shared.link_key.signed(text, kind, link)))
    }

    /// Uses a link, once. Locks the account until the transaction ends.
    pub(super) async fn follow(
        &self,
        tx: &mut AnyConnection,
        link: &StoredLink,
        now: Micros,
    ) -> Result<LinkCheck> {
        let account = store::lock(&mut *tx, link.account).await?;
        let Some(account) = account.filter(|it| it.blocked.is_none() && it.deleted.is_none())
        else {
            return Ok(LinkCheck::Rejected(LinkOutcome::Unknown));
        };
        if link.is_over(now) {
            return Ok(LinkCheck::Rejected(LinkOutcome::Expired));
        }
        if !store::use_link(&mut *tx, link.id, now).await? {
            return Ok(LinkCheck::Rejected(LinkOutcome::Already));
        }
        store::void_links(tx, account.id, now).await?;
        Ok(LinkCheck::Valid(account))
    }
}

impl StoredLink {
    /// Whether it expired without being used.
    pub(super) fn is_over(&self, now: Micros) -> bool {
        self.used.is_none() && now >= self.expires
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn link(kind: LinkKind, id: i64, expires: Micros) -> StoredLink {
        StoredLink {
            id,
            account: AccountId(1),
            kind: kind.as_str().to_owned(),
            email: None,
            expires,
            used: None,
        }
    }

    fn key(byte: u8) -> LinkKey {
        LinkKey::new(Zeroizing::new([byte; 32]))
    }

    #[test]
    fn signature_is_valid_for_one_link_of_one_kind_with_one_secret() {
        let text = key(1).text("verify", 7, 100);
        let good = |key: &LinkKey, kind, expected| key.signed(&text, kind, &expected);
        assert!(good(&key(1), LinkKind::Verify, link(LinkKind::Verify, 7, 100)));
        assert!(!good(&key(2), LinkKind::Verify, link(LinkKind::Verify, 7, 100)));
        assert!(!good(&key(1), LinkKind::Verify, link(LinkKind::Verify, 8, 100)));
        assert!(!good(&key(1), LinkKind::Verify, link(LinkKind::Verify, 7, 101)));
        assert!(!good(&key(1), LinkKind::Reset, link(LinkKind::Reset, 7, 100)));
        assert!(!good(&key(1), LinkKind::Reset, link(LinkKind::Verify, 7, 100)));
    }

    proptest! {
        #[test]
        fn altered_link_is_refused(at in 0usize..66, byte in 0u8..128) {
            let text = key(1).text("reset", 7, 100);
            let mut forged = text.clone().into_bytes();
            forged[at] = byte;
            let forged = String::from_utf8(forged).unwrap();
            let same = forged == text;
            prop_assert_eq!(key(1).signed(&forged, LinkKind::Reset, &link(LinkKind::Reset, 7, 100)), same);
        }
    }
}

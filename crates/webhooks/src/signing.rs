//! Secrets and signatures, by [Standard Webhooks](https://www.standardwebhooks.com).
//!
//! The secret of a webhook is derived from one of the server, so a copy of the database does not contain it, and rotating it
//! raises a number. The account and the time of the webhook are part of it, since an older copy of the database can give the
//! number of a webhook to somebody else.

use base::Micros;
use data_encoding::{BASE64, HEXLOWER};
use fanout::Epoch;
use hmac::{Hmac, KeyInit, Mac};
use sha2::{Digest, Sha256};
use zeroize::Zeroizing;

use crate::Webhook;

/// How long the secret before a rotation signs as well.
const OVERLAP_US: Micros = 24 * 60 * 60 * 1_000_000;

/// The secret from which those of webhooks follow.
pub(crate) struct ServerSecret(Zeroizing<[u8; 32]>);

/// The secret of a webhook.
pub(crate) struct SigningKey(Zeroizing<Vec<u8>>);

impl ServerSecret {
    pub(crate) fn new(secret: Zeroizing<[u8; 32]>) -> Self {
        Self(secret)
    }

    /// The secret that its owner has, or should have.
    pub(crate) fn current(&self, webhook: &Webhook) -> SigningKey {
        self.of_generation(webhook, webhook.generation)
    }

    /// The header `webhook-signature`: one signature, or two after a rotation.
    pub(crate) fn signatures(
        &self,
        webhook: &Webhook,
        message_id: &str,
        now: Micros,
        body: &str,
    ) -> String {
        let seconds = now.div_euclid(1_000_000);
        let mut signatures = self.current(webhook).sign(message_id, seconds, body);
        if webhook.rotated.is_some_and(|at| now.saturating_sub(at) < OVERLAP_US) {
            let before = self.of_generation(webhook, webhook.generation - 1);
            signatures.push(' ');
            signatures.push_str(&before.sign(message_id, seconds, body));
        }
        signatures
    }

    fn of_generation(&self, webhook: &Webhook, generation: i64) -> SigningKey {
        let Webhook { id, account, created, .. } = webhook;
        let mut mac = keyed(&*self.0);
        mac.update(format!("{account}.{id}.{created}.{generation}").as_bytes());
        SigningKey(Zeroizing::new(mac.finalize().into_bytes().to_vec()))
    }
}

impl SigningKey {
    /// The secret as its owner gets it.
    pub(crate) fn text(&self) -> Zeroizing<String> {
        Zeroizing::new(format!("whsec_{}", BASE64.encode(&self.0)))
    }

    fn sign(&self, message_id: &str, seconds: i64, body: &str) -> String {
        let mut mac = keyed(&self.0);
        mac.update(format!("{message_id}.{seconds}.").as_bytes());
        mac.update(body.as_bytes());
        format!("v1,{}", BASE64.encode(&mac.finalize().into_bytes()))
    }
}

fn keyed(secret: &[u8]) -> Hmac<Sha256> {
    Hmac::new_from_slice(secret).expect("HMAC takes a key of any length")
}

/// The id of what is sent to a webhook about an event. It is the same for the same event at any time.
pub(crate) fn message_id(
    webhook: &Webhook,
    channel: &str,
    epoch: Option<Epoch>,
    eid: &str,
) -> String {
    let Webhook { id, created, .. } = webhook;
    let epoch = epoch.map(|epoch| epoch.to_string()).unwrap_or_default();
    let digest = Sha256::digest(format!("{id}.{created}.{channel}.{epoch}.{eid}").as_bytes());
    format!("msg_{}", HEXLOWER.encode(&digest[..16]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::WebhookTerms;

    fn webhook(id: i64, generation: i64, rotated: Option<Micros>) -> Webhook {
        let terms = WebhookTerms {
            url: String::new(),
            events: Vec::new(),
            channels: Vec::new(),
            prices: Vec::new(),
        };
        Webhook {
            id,
            account: 3,
            terms,
            created: 17,
            active: 17,
            generation,
            rotated,
            failures: 0,
            failing_since: None,
            dropped: 0,
            disabled: None,
        }
    }

    /// The example of Standard Webhooks. Python's `hmac` gives the same.
    #[test]
    fn signature_is_that_of_the_specification() {
        let secret = BASE64.decode(b"MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw").unwrap();
        let signature = SigningKey(Zeroizing::new(secret)).sign(
            "msg_p5jXN8AQM9LWM0D4loKWxJek",
            1_614_265_330,
            r#"{"test": 2432232314}"#,
        );
        assert_eq!(signature, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
    }

    #[test]
    fn secrets_differ_by_webhook_and_generation_and_are_long_enough() {
        let server = ServerSecret::new(Zeroizing::new([7; 32]));
        let text = |webhook: &Webhook| server.current(webhook).text();
        let secret = text(&webhook(1, 1, None));
        assert!(secret.starts_with("whsec_"));
        assert_eq!(BASE64.decode(&secret.as_bytes()[6..]).unwrap().len(), 32);
        assert_eq!(secret, text(&webhook(1, 1, None)));
        assert_ne!(secret, text(&webhook(1, 2, None)));
        assert_ne!(secret, text(&webhook(2, 1, None)));
        assert_ne!(secret, text(&Webhook { account: 4, ..webhook(1, 1, None) }));
    }

    #[test]
    fn both_secrets_sign_for_a_day_after_a_rotation() {
        let server = ServerSecret::new(Zeroizing::new([7; 32]));
        let sign = |webhook: &Webhook, now| server.signatures(webhook, "msg_1", now, "{}");
        let rotated = webhook(1, 2, Some(1_000_000));
        let before = sign(&webhook(1, 1, None), 2_000_000);
        let both = sign(&rotated, 2_000_000);
        let (new, old) = both.split_once(' ').expect("two signatures");
        assert_eq!(old, before);
        assert_ne!(new, old);
        let later = sign(&rotated, 1_000_000 + OVERLAP_US);
        assert!(!later.contains(' '), "{later}");
    }

    #[test]
    fn message_ids_follow_from_webhook_channel_epoch_and_eid() {
        let id = |webhook: &Webhook, channel, epoch, eid| message_id(webhook, channel, epoch, eid);
        let first_webhook = webhook(1, 1, None);
        let first = id(&first_webhook, "football/7", Some(Epoch(1)), "g1");
        assert_eq!(first, id(&webhook(1, 5, None), "football/7", Some(Epoch(1)), "g1"));
        for other in [
            id(&webhook(2, 1, None), "football/7", Some(Epoch(1)), "g1"),
            id(&first_webhook, "football/8", Some(Epoch(1)), "g1"),
            id(&first_webhook, "football/7", Some(Epoch(2)), "g1"),
            id(&first_webhook, "football/7", Some(Epoch(1)), "g2"),
        ] {
            assert_ne!(first, other);
        }
    }
}

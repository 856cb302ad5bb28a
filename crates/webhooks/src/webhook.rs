//! A webhook, and what its owner may ask for.

use base::{Micros, address::is_public};
use fanout::{ChannelId, channel::Pattern};
use reqwest::Url;

use crate::{Event, EventKind, PriceCondition, price::CONDITIONS_MAX};

/// The longest URL that is accepted, in bytes.
const URL_BYTES_MAX: usize = 1024;
/// The most names and patterns of channels.
const CHANNELS_MAX: usize = 50;

/// A webhook.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Webhook {
    pub id: i64,
    pub account: i64,
    pub terms: WebhookTerms,
    pub created: Micros,
    /// It gets the events from then on, by the hub's clock: since it was created, or enabled again.
    pub active: Micros,
    /// Rises with each rotation of the secret, from 1.
    pub generation: i64,
    /// When the secret was rotated last.
    pub rotated: Option<Micros>,
    /// Failed attempts since the last that succeeded, and the time of the first of them.
    pub failures: u32,
    pub failing_since: Option<Micros>,
    /// Deliveries that were dropped because too many were waiting.
    pub dropped: u64,
    /// When and why it was disabled.
    pub disabled: Option<(Micros, String)>,
}

/// What a webhook gets, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WebhookTerms {
    pub url: String,
    pub events: Vec<EventKind>,
    /// Names and patterns of channels, as in subscriptions. Empty: all that the account may follow.
    pub channels: Vec<String>,
    /// The conditions of the kind [`EventKind::Price`], in each of the channels.
    pub prices: Vec<PriceCondition>,
}

/// What is wrong with the terms. The texts are shown to the owner.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct InvalidWebhook(pub &'static str);

impl WebhookTerms {
    /// The terms, in a normal form. `allow_private`: the URL may lead anywhere, without TLS.
    pub(crate) fn checked(&self, allow_private: bool) -> Result<Self, InvalidWebhook> {
        let url = check_url(&self.url, allow_private)?;
        let mut events = self.events.clone();
        events.sort_unstable();
        events.dedup();
        if events.is_empty() {
            return Err(InvalidWebhook("events must name at least one kind of event"));
        }
        if self.channels.len() > CHANNELS_MAX {
            return Err(InvalidWebhook("channels must have at most 50 entries"));
        }
        if self.channels.iter().any(|channel| Pattern::parse(channel).is_none()) {
            return Err(InvalidWebhook("channels must be names or patterns of channels"));
        }
        if self.prices.len() > CONDITIONS_MAX {
            return Err(InvalidWebhook("prices must have at most 20 entries"));
        }
        if events.contains(&EventKind::Price) == self.prices.is_empty() {
            return Err(InvalidWebhook(
                "the event price needs prices, and prices need the event price",
            ));
        }
        if !self.prices.is_empty() && self.channels.is_empty() {
            return Err(InvalidWebhook("the event price needs channels, such as football/*/odds"));
        }
        Ok(Self { url, events, channels: self.channels.clone(), prices: self.prices.clone() })
    }

    pub(crate) fn patterns(&self) -> Vec<Pattern> {
        self.channels.iter().filter_map(|channel| Pattern::parse(channel)).collect()
    }
}

fn check_url(text: &str, allow_private: bool) -> Result<String, InvalidWebhook> {
    let url = Url::parse(text).map_err(|_| InvalidWebhook("url must be an https:// URL"))?;
    if url.scheme() != "https" && !(allow_private && url.scheme() == "http") {
        return Err(InvalidWebhook("url must be an https:// URL"));
    }
    if !url.username().is_empty() || url.password().is_some() || url.fragment().is_some() {
        return Err(InvalidWebhook("url must have no user, no password and no fragment"));
    }
    if url.as_str().len() > URL_BYTES_MAX {
        return Err(InvalidWebhook("url must have at most 1024 bytes"));
    }
    if !allow_private && !may_be_public(&url) {
        return Err(InvalidWebhook("url must lead to a public address"));
    }
    Ok(url.into())
}

/// False if the host is an address that is not public, or has a name that only the hub's own network can know. Other names
/// are checked whenever they are resolved.
pub(crate) fn may_be_public(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']);
    match host.parse() {
        Ok(address) => is_public(address),
        Err(_) => host.trim_end_matches('.').contains('.'),
    }
}

/// What the recorder must know of a webhook.
#[derive(Debug)]
pub(crate) struct Subscription {
    pub(crate) webhook: Webhook,
    patterns: Vec<Pattern>,
}

impl Subscription {
    pub(crate) fn new(webhook: Webhook) -> Self {
        Self { patterns: webhook.terms.patterns(), webhook }
    }

    /// Whether it is about this event.
    pub(crate) fn wants(&self, event: &Event) -> bool {
        self.webhook.terms.events.contains(&event.kind)
            && event.at >= self.webhook.active
            && self.covers(&event.channel)
    }

    /// Whether it has conditions on the prices of this channel.
    pub(crate) fn follows_prices(&self, channel: &ChannelId) -> bool {
        !self.webhook.terms.prices.is_empty() && self.covers(channel)
    }

    fn covers(&self, channel: &ChannelId) -> bool {
        self.patterns.is_empty() || self.patterns.iter().any(|pattern| pattern.matches(channel))
    }
}

#[cfg(test)]
impl Webhook {
    /// An enabled webhook of account 1.
    pub(crate) fn example(id: i64, terms: WebhookTerms) -> Self {
        Self {
            id,
            account: 1,
            terms,
            created: 1,
            active: 1,
            generation: 1,
            rotated: None,
            failures: 0,
            failing_since: None,
            dropped: 0,
            disabled: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use fanout::Epoch;
    use serde_json::value::RawValue;

    use super::*;

    fn terms(url: &str) -> WebhookTerms {
        let events = vec![EventKind::Goal];
        WebhookTerms { url: url.to_owned(), events, channels: Vec::new(), prices: Vec::new() }
    }

    #[test]
    fn only_public_https_urls_are_accepted() {
        for good in
            ["https://example.org/hook?a=1", "https://example.org:8443/", "https://1.1.1.1/"]
        {
            assert_eq!(terms(good).checked(false).unwrap().url, good);
        }
        for bad in [
            "",
            "example.org",
            "http://example.org/",
            "ftp://example.org/",
            "https://me:pw@example.org/",
            "https://example.org/#a",
            "https://127.0.0.1/",
            "https://2130706433/",
            "https://0x7f.1/",
            "https://[::1]/",
            "https://[::ffff:10.0.0.1]/",
            "https://169.254.169.254/latest/",
            "https://localhost/",
            "https://localhost./",
            "https://metadata/",
            &format!("https://example.org/{}", "a".repeat(URL_BYTES_MAX)),
        ] {
            assert!(terms(bad).checked(false).is_err(), "{bad}");
        }
        assert!(terms("http://127.0.0.1:8000/").checked(true).is_ok());
        assert!(terms("ftp://127.0.0.1/").checked(true).is_err());
    }

    #[test]
    fn filters_are_checked() {
        let url = "https://example.org/";
        let with = |channels: Vec<&str>| WebhookTerms {
            channels: channels.into_iter().map(str::to_owned).collect(),
            ..terms(url)
        };
        assert!(with(vec!["football/*", "*/*/odds/acme"]).checked(false).is_ok());
        assert!(with(vec!["foot ball"]).checked(false).is_err());
        assert!(with(vec!["football"; CHANNELS_MAX + 1]).checked(false).is_err());
        assert!(WebhookTerms { events: Vec::new(), ..terms(url) }.checked(false).is_err());
        let prices = vec![PriceCondition::parse("match_winner home >= 2").unwrap()];
        let priced = |channels: Vec<&str>, events: Vec<EventKind>, prices: Vec<PriceCondition>| {
            WebhookTerms { events, prices, ..with(channels) }.checked(false)
        };
        let price = || vec![EventKind::Price];
        assert!(priced(vec!["football/*/odds"], price(), prices.clone()).is_ok());
        assert!(priced(Vec::new(), price(), prices.clone()).is_err(), "no channels");
        assert!(priced(vec!["football/*/odds"], price(), Vec::new()).is_err(), "no prices");
        assert!(priced(vec!["football/*/odds"], vec![EventKind::Goal], prices.clone()).is_err());
        let many = vec![prices[0].clone(); CONDITIONS_MAX + 1];
        assert!(priced(vec!["football/*/odds"], price(), many).is_err());
    }

    #[test]
    fn subscription_wants_events_of_its_kinds_channels_and_time() {
        let check = |kind, channel: &str, at, expected| {
            let terms = WebhookTerms {
                channels: vec!["football/*".to_owned()],
                ..terms("https://example.org/")
            };
            let webhook = Webhook { active: 10, ..Webhook::example(1, terms) };
            let event = Event {
                kind,
                channel: ChannelId::new(channel),
                epoch: Epoch(1),
                eid: "e".to_owned(),
                at,
                json: RawValue::from_string("{}".to_owned()).unwrap(),
            };
            assert_eq!(Subscription::new(webhook).wants(&event), expected, "{channel}");
        };
        check(EventKind::Goal, "football/7", 10, true);
        check(EventKind::Card, "football/7", 10, false);
        check(EventKind::Goal, "hockey/7", 10, false);
        check(EventKind::Goal, "football/7/odds", 10, false);
        check(EventKind::Goal, "football/7", 9, false);
    }
}

//! Requests the fixtures of events, since messages name events by their ids alone.

use std::{
    collections::{HashSet, VecDeque},
    sync::Arc,
    time::Duration,
};

use base::backoff::BackoffPolicy;
use reqwest::{Client, StatusCode};

use super::{UofSettings, recovery::Api};
use crate::lookup::{self, Lookup, LookupClient, LookupError, LookupSettings};

/// Events whose fixtures have been requested or wait for it. Beyond it, the oldest are forgotten, and requested again when
/// they occur again.
const EVENTS_MAX: usize = 20_000;

/// The pause after a request.
const PAUSE: Duration = Duration::from_millis(100);

/// The fixtures of the events that occur.
#[derive(Debug)]
pub(super) struct Fixtures {
    lookup: Lookup<String>,
    requested: HashSet<Arc<str>>,
    /// In the order in which they became known.
    order: VecDeque<Arc<str>>,
    waiting: VecDeque<Arc<str>>,
}

struct FixtureClient {
    http: Client,
    api: Api,
}

impl Fixtures {
    /// `name`: that of the source.
    pub(super) fn start(settings: &UofSettings, name: &Arc<str>) -> Self {
        let api = settings.api.clone();
        let client = FixtureClient { http: lookup::http_client(api.tls()), api };
        let settings = LookupSettings {
            source: Arc::clone(name),
            what: "fixtures",
            retry: BackoffPolicy { first: settings.backoff_first, max: settings.backoff_most },
            pause: PAUSE,
        };
        Self {
            lookup: Lookup::start(client, settings),
            requested: HashSet::new(),
            order: VecDeque::new(),
            waiting: VecDeque::new(),
        }
    }

    /// A message has this routing key: `hi.-.live.odds_change.1.sr:match.12345.-`. Its event's fixture is requested if it is
    /// the first one, or if the fixture has changed.
    pub(super) fn note(&mut self, routing_key: &str) {
        let Some((message, event)) = event_of(routing_key) else { return };
        let is_new = !self.requested.contains(&*event);
        let is_changed =
            message == "fixture_change" && !self.waiting.iter().any(|it| **it == *event);
        if !is_new && !is_changed {
            return;
        }
        let event: Arc<str> = event.into();
        if is_new {
            if self.order.len() >= EVENTS_MAX
                && let Some(oldest) = self.order.pop_front()
            {
                self.requested.remove(&oldest);
            }
            self.requested.insert(Arc::clone(&event));
            self.order.push_back(Arc::clone(&event));
        }
        if self.waiting.len() < EVENTS_MAX {
            self.waiting.push_back(event);
        }
    }

    /// Sends the next request, if there is one and none waits.
    pub(super) fn request(&mut self) {
        if !self.waiting.is_empty()
            && let Some(permit) = self.lookup.permit()
            && let Some(event) = self.waiting.pop_front()
        {
            permit.send(event.to_string());
        }
    }

    /// The next document of a fixture. Cancel safe.
    pub(super) async fn answer(&mut self) -> Vec<u8> {
        self.lookup.answer().await
    }
}

/// The kind of a message and its event, `sr:match:12345`.
fn event_of(routing_key: &str) -> Option<(&str, String)> {
    let parts: Vec<&str> = routing_key.split('.').collect();
    let [_, _, _, message, _, urn, id, ..] = parts[..] else { return None };
    let is_event =
        !urn.is_empty() && urn != "-" && !id.is_empty() && id.bytes().all(|it| it.is_ascii_digit());
    is_event.then(|| (message, format!("{urn}:{id}")))
}

impl LookupClient for FixtureClient {
    type Request = String;

    async fn fetch(&self, event: &String) -> Result<Option<Vec<u8>>, LookupError> {
        let response =
            self.api.authorized(self.http.get(self.api.fixture_url(event))).send().await?;
        // A season or a virtual event has none.
        if matches!(response.status(), StatusCode::NOT_FOUND | StatusCode::BAD_REQUEST) {
            return Ok(None);
        }
        lookup::body(response).await.map(Some)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_those_of_routing_keys() {
        let found = event_of("hi.-.live.odds_change.1.sr:match.12345.-");
        assert_eq!(found, Some(("odds_change", "sr:match:12345".to_owned())));
        for key in [
            "-.-.-.alive.-.-.-.-",
            "hi.-.live.odds_change.1.sr:match",
            "",
            "a.b.c.d.e.sr:match.../x.-",
        ] {
            assert_eq!(event_of(key), None, "{key}");
        }
    }
}

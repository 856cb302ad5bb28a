//! What operators are told of sources: metrics, and each change of a state.

use fanout::Micros;
use metrics::{counter, gauge};

use super::Writer;
use crate::hub::{
    Hub,
    feeds::{FeedState, SourceTurn},
};

/// The state of a source in the metrics that the settings no longer have.
const REMOVED: &str = "removed";

impl Writer {
    /// Tells of the changes of states since the last time, if this hub leads: the others see the same.
    pub(super) fn tell_turns(&mut self) {
        let hub = &mut self.builder.hub;
        for SourceTurn { source, at, health } in hub.take_turns() {
            if self.driver.leads() {
                let name = &hub.sources()[source.0].name;
                self.states.note(name, at, health.feed, health.why.as_ref());
            }
        }
    }
}

/// The metrics of all sources.
pub(super) fn source_metrics(hub: &Hub, now: Micros) {
    for (_, source) in hub.sources_by_presence() {
        let name = || source.name.to_string();
        let state = if source.is_removed() { REMOVED } else { source.state.as_str() };
        for shown in FeedState::ALL.map(FeedState::as_str).into_iter().chain([REMOVED]) {
            let is_so = f64::from(u8::from(shown == state));
            gauge!("matchwire_feed_state", "source" => name(), "state" => shown).set(is_so);
        }
        counter!("matchwire_feed_messages_total", "source" => name()).absolute(source.messages);
        if let Some(last) = source.last {
            gauge!("matchwire_feed_last_message_age_seconds", "source" => name())
                .set(seconds(now - last));
        }
    }
}

fn seconds(us: Micros) -> f64 {
    us.max(0) as f64 / 1e6
}

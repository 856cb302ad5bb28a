//! A hub to apply batches to.

use facts::event::Timed;
use fanout::{Change, Epoch};
use hub::{
    Epochs, Hub, HubSettings,
    feeds::{SourceNumber, SourcePolicy},
    identity::Identity,
    sequence::TailWindow,
};

/// A hub without any state yet, and its one source.
pub(crate) struct Stage {
    pub(crate) hub: Hub,
    source: SourceNumber,
}

impl Stage {
    /// With the hub's default settings.
    pub(crate) fn new() -> Self {
        Self::with(TailWindow { bytes: 4 << 20, age_us: 300_000_000 })
    }

    /// With this much history to resume from.
    pub(crate) fn with(window: TailWindow) -> Self {
        let settings = HubSettings {
            window,
            matches_max: 20_000,
            matches_max_per_source: usize::MAX,
            ended_keep_us: 7_200_000_000,
            stale_after_ms: 10_000,
            hold_us: 10_000_000,
        };
        let epochs = Epochs { matches: Epoch(1), feeds: Epoch(2) };
        let mut hub = Hub::new(settings, epochs, Identity::default());
        let source = hub.source("bench".into(), "bench", SourcePolicy::default());
        Self { hub, source }
    }

    /// Applies a batch at its own timestamp, as when it was live.
    pub(crate) fn apply(&mut self, timed: &Timed, changes: &mut Vec<Change>) {
        let Timed { clock_us, batch } = timed;
        let errors = self.hub.apply(self.source, batch, *clock_us, *clock_us, changes);
        assert!(errors.is_empty(), "{errors:?}");
    }
}

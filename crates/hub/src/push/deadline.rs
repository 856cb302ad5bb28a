//! How long a source that pushes may be silent: by what of its facts somebody may rely on now.

use fanout::Micros;

/// The deadlines of sources that push and state none, in microseconds. `None`: none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PushDeadlines {
    /// With a match in play.
    pub in_play_us: Option<Micros>,
    /// With prices of a match that is not over.
    pub prices_us: Option<Micros>,
}

/// What of a source's facts somebody may rely on now, the least first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum PushDuty {
    #[default]
    Nothing,
    /// Prices of a match that is not over.
    Prices,
    /// A match in play.
    InPlay,
}

impl PushDeadlines {
    /// The deadline in microseconds; `None`: the source may be silent for ever.
    #[must_use]
    pub fn deadline_us(self, duty: PushDuty) -> Option<Micros> {
        match duty {
            PushDuty::Nothing => None,
            PushDuty::Prices => self.prices_us,
            PushDuty::InPlay => self.in_play_us,
        }
    }

    /// Whether a source has it by default, and has not stated it.
    pub(crate) fn has(self, deadline_us: Micros) -> bool {
        [self.in_play_us, self.prices_us].contains(&Some(deadline_us))
    }
}

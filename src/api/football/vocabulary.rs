//! The values of `status=`: SERVICE section 1.5.

use crate::record::{MatchSummary, Status};

const IN_PLAY: &[Status] = &[
    Status::Live,
    Status::FirstHalf,
    Status::HalfTime,
    Status::SecondHalf,
    Status::ExtraFirst,
    Status::ExtraHalf,
    Status::ExtraSecond,
    Status::Penalties,
    Status::Interrupted,
];
const EXTRA_TIME: &[Status] = &[Status::ExtraFirst, Status::ExtraHalf, Status::ExtraSecond];
const OVER: &[Status] = &Status::RESULTS;

/// Every accepted word and the statuses that it matches. `delayed` is accepted and matches nothing, since no
/// feed reports it.
const WORDS: &[(&str, &[Status])] = &[
    ("notstarted", &[Status::NotStarted, Status::AtThePost]),
    ("not_started", &[Status::NotStarted, Status::AtThePost]),
    ("upcoming", &[Status::NotStarted, Status::AtThePost]),
    ("scheduled", &[Status::NotStarted, Status::AtThePost]),
    ("inprogress", IN_PLAY),
    ("in_progress", IN_PLAY),
    ("live", IN_PLAY),
    ("inplay", IN_PLAY),
    ("in_play", IN_PLAY),
    ("started", IN_PLAY),
    ("1st_half", &[Status::FirstHalf]),
    ("1t", &[Status::FirstHalf]),
    ("halftime", &[Status::HalfTime]),
    ("ht", &[Status::HalfTime]),
    ("2nd_half", &[Status::SecondHalf]),
    ("2t", &[Status::SecondHalf]),
    ("extratime", EXTRA_TIME),
    ("extra_time", EXTRA_TIME),
    ("et", EXTRA_TIME),
    ("penalties", &[Status::Penalties]),
    ("pen", &[Status::Penalties]),
    ("finished", OVER),
    ("ft", OVER),
    ("ended", OVER),
    ("aet", OVER),
    ("postponed", &[Status::Postponed]),
    ("delayed", &[]),
    ("cancelled", &[Status::Cancelled]),
    ("canceled", &[Status::Cancelled]),
    ("abandoned", &[Status::Abandoned]),
    ("suspended", &[Status::Interrupted]),
    ("interrupted", &[Status::Interrupted]),
    ("unresolved", &[Status::Unresolved]),
];

/// The filter of `status=`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct StatusFilter {
    pub statuses: Vec<Status>,
    /// Only `aet` is requested: decided in extra time or after it.
    after_extra_time: bool,
}

impl StatusFilter {
    /// Parses one word, or several separated by commas, in any case. Unknown words are ignored, as clients
    /// send the words of other services; `None`, which filters nothing, if no word is known.
    pub(super) fn read(text: &str) -> Option<Self> {
        let words = text.split(',').map(|word| word.trim().to_ascii_lowercase());
        let known = words.filter_map(|word| WORDS.iter().find(|(own, _)| *own == word));
        let known: Vec<_> = known.collect();
        let statuses = known.iter().flat_map(|(_, statuses)| statuses.iter().copied()).collect();
        let after_extra_time = known.iter().all(|(word, _)| *word == "aet");
        (!known.is_empty()).then_some(Self { statuses, after_extra_time })
    }

    /// Whether the statuses alone decide.
    pub(super) fn is_of_statuses_alone(&self) -> bool {
        !self.after_extra_time
    }

    /// Whether a match with one of the statuses passes.
    pub(super) fn lets_through(&self, brief: &MatchSummary) -> bool {
        !self.after_extra_time || brief.extra_time.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::odds::status;

    #[test]
    fn word_of_a_row_finds_the_row() {
        for own in Status::ALL {
            let wanted = StatusFilter::read(status::word(own)).expect("a word of a row is known");
            assert!(wanted.statuses.contains(&own), "{own:?} is not found by its own word");
        }
    }

    #[test]
    fn live_is_all_that_is_in_play() {
        let live = StatusFilter::read("LIVE").unwrap().statuses;
        for own in Status::ALL {
            assert_eq!(live.contains(&own), own.is_live(), "{own:?}");
        }
        assert_eq!(StatusFilter::read("delayed").unwrap().statuses, []);
        let both = StatusFilter::read("postponed, canceled").unwrap().statuses;
        assert_eq!(both, [Status::Postponed, Status::Cancelled]);
    }

    #[test]
    fn unknown_words_filter_nothing() {
        assert_eq!(StatusFilter::read("soon"), None);
        assert_eq!(StatusFilter::read(" , "), None);
        assert_eq!(StatusFilter::read("soon,finished"), StatusFilter::read("finished"));
        for alias in ["inplay", "in_play", "started", "inprogress"] {
            assert_eq!(StatusFilter::read(alias), StatusFilter::read("live"), "{alias}");
        }
        for alias in ["scheduled", "upcoming"] {
            assert_eq!(StatusFilter::read(alias), StatusFilter::read("notstarted"), "{alias}");
        }
    }
}

//! The words that `status=` takes: SERVICE section 1.5.

use crate::{
    api::ApiError,
    record::{Brief, Status},
};

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

/// Every word that a filter takes, and what it lets through. `delayed` is taken and lets nothing
/// through, since no feed of ours tells of it.
const WORDS: &[(&str, &[Status])] = &[
    ("notstarted", &[Status::NotStarted, Status::AtThePost]),
    ("not_started", &[Status::NotStarted, Status::AtThePost]),
    ("upcoming", &[Status::NotStarted, Status::AtThePost]),
    ("inprogress", IN_PLAY),
    ("live", IN_PLAY),
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

/// What `status=` asks for.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Wanted {
    pub statuses: Vec<Status>,
    /// `aet` is all that is asked for: decided in extra time or after it.
    after_extra_time: bool,
}

impl Wanted {
    /// Reads one word, or several with commas between, in any case.
    ///
    /// # Errors
    ///
    /// If nobody knows a word: it would be taken for a filter, and filter nothing.
    pub(super) fn read(text: &str) -> Result<Self, ApiError> {
        let words = text.split(',').map(|word| word.trim().to_ascii_lowercase());
        let words: Vec<_> = words.filter(|word| !word.is_empty()).collect();
        let mut statuses = Vec::new();
        for word in &words {
            let known = WORDS.iter().find(|(own, _)| own == word);
            let (_, meant) = known.ok_or_else(|| unknown(word))?;
            statuses.extend_from_slice(meant);
        }
        let after_extra_time = !words.is_empty() && words.iter().all(|word| word == "aet");
        Ok(Self { statuses, after_extra_time })
    }

    /// Whether what the statuses let through is meant, whatever else is told of it.
    pub(super) fn is_of_statuses_alone(&self) -> bool {
        !self.after_extra_time
    }

    /// Whether what the statuses let through is meant indeed.
    pub(super) fn lets_through(&self, brief: &Brief) -> bool {
        !self.after_extra_time || brief.extra_time.is_some()
    }
}

fn unknown(word: &str) -> ApiError {
    let words: Vec<_> = WORDS.iter().map(|(word, _)| *word).collect();
    ApiError::BadParameter(format!(
        "status {word:?} is not known; it is one of {}.",
        words.join(", ")
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::odds::status;

    #[test]
    fn word_of_a_row_finds_the_row() {
        for own in Status::ALL {
            let wanted = Wanted::read(status::word(own)).expect("a word of a row is known");
            assert!(wanted.statuses.contains(&own), "{own:?} is not found by its own word");
        }
    }

    #[test]
    fn live_is_all_that_is_in_play() {
        let live = Wanted::read("LIVE").unwrap().statuses;
        for own in Status::ALL {
            assert_eq!(live.contains(&own), own.is_live(), "{own:?}");
        }
        assert_eq!(Wanted::read("delayed").unwrap().statuses, []);
        let both = Wanted::read("postponed, canceled").unwrap().statuses;
        assert_eq!(both, [Status::Postponed, Status::Cancelled]);
    }

    #[test]
    fn word_that_nobody_knows_is_refused_with_those_that_are_known() {
        let Err(ApiError::BadParameter(detail)) = Wanted::read("soon") else {
            panic!("a word that nobody knows was taken");
        };
        assert!(detail.contains("\"soon\"") && detail.contains("notstarted"), "{detail}");
    }
}

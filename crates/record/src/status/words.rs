//! The words for statuses: the `status` and `period` of public documents, and the filter `status=`.

use facts::event::Sport;

use super::Status;

/// Whose words for statuses are used. Clients of each rely on theirs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Vocabulary {
    /// Football of version 1, and odds and predictions: SERVICE section 1.5.
    Football,
    /// Football of version 2: the same words, and abbreviations in filters.
    FootballV2,
    /// One of the other sports: SERVICE section 2. Phases have no words of their own.
    Sport(Sport),
}

/// The words for one status: one row of the table [`Status::words`].
struct Words {
    /// The status in football.
    football: &'static str,
    /// The part of a football match that is played, if any.
    period: &'static str,
    /// The same in football's list of live matches.
    live_period: &'static str,
    /// The status in other sports, unless [`word_of_sport`] differs.
    others: &'static str,
}

impl Status {
    /// A status without a word of its own has the nearest one: elsewhere than in football, an abandoned
    /// match is cancelled.
    #[rustfmt::skip]
    fn words(self) -> Words {
        let (football, period, live_period, others) = match self {
            Self::NotStarted  => ("notstarted",  "",    "",           "scheduled"),
            Self::AtThePost   => ("notstarted",  "",    "",           "idle"),
            Self::Live        => ("inprogress",  "",    "",           "live"),
            Self::FirstHalf   => ("1st_half",    "1T",  "1st_half",   "live"),
            Self::HalfTime    => ("halftime",    "HT",  "halftime",   "live"),
            Self::SecondHalf  => ("2nd_half",    "2T",  "2nd_half",   "live"),
            Self::ExtraFirst
            | Self::ExtraHalf
            | Self::ExtraSecond => ("extratime", "ET",  "extra_time", "live"),
            Self::Penalties   => ("penalties",   "PEN", "penalties",  "live"),
            Self::Interrupted => ("interrupted", "",    "",           "live"),
            Self::Finished
            | Self::Retired
            | Self::Walkover  => ("finished",    "FT",  "FT",         "finished"),
            Self::Postponed   => ("postponed",   "",    "",           "postponed"),
            Self::Abandoned   => ("abandoned",   "",    "",           "cancelled"),
            Self::Cancelled   => ("cancelled",   "",    "",           "cancelled"),
            // No feed ever reported it as played.
            Self::Unresolved  => ("unresolved",  "",    "",           "unresolved"),
        };
        Words { football, period, live_period, others }
    }

    /// The word for this status.
    #[must_use]
    pub fn word(self, vocabulary: Vocabulary) -> &'static str {
        match vocabulary {
            Vocabulary::Football | Vocabulary::FootballV2 => self.words().football,
            Vocabulary::Sport(sport) => word_of_sport(sport, self),
        }
    }

    /// The status in football's list of live matches, where only the period has the phase: SERVICE
    /// section 8, row 2.
    #[must_use]
    pub fn live_word(self) -> &'static str {
        if self.is_live() { Self::Live.words().football } else { self.words().football }
    }

    /// The part of a football match that is played; empty if there is none, or no feed provides it.
    #[must_use]
    pub fn period(self) -> &'static str {
        self.words().period
    }

    /// The period in football's list of live matches: SERVICE section 8, row 2.
    #[must_use]
    pub fn live_period(self) -> &'static str {
        self.words().live_period
    }
}

fn word_of_sport(sport: Sport, status: Status) -> &'static str {
    let words = &sport.profile().status;
    match status {
        Status::NotStarted => words.not_started,
        Status::Interrupted => words.interrupted,
        Status::Finished => words.finished,
        Status::Retired => words.retired,
        Status::Walkover => words.walkover,
        status if status.is_live() => words.live,
        status => status.words().others,
    }
}

/// Words that filters accept in addition to the vocabulary's own: each selects what the vocabulary's word
/// for that status selects, so that clients can use the words of other services.
const ALIASES: &[(&str, Status)] = &[
    ("notstarted", Status::NotStarted),
    ("not_started", Status::NotStarted),
    ("upcoming", Status::NotStarted),
    ("scheduled", Status::NotStarted),
    ("inprogress", Status::Live),
    ("in_progress", Status::Live),
    ("live", Status::Live),
    ("inplay", Status::Live),
    ("in_play", Status::Live),
    ("started", Status::Live),
    ("finished", Status::Finished),
    ("ended", Status::Finished),
    ("canceled", Status::Cancelled),
];

const ALIASES_OF_FOOTBALL: &[(&str, Status)] = &[
    ("ht", Status::HalfTime),
    ("extra_time", Status::ExtraFirst),
    ("suspended", Status::Interrupted),
    ("ft", Status::Finished),
];

const ALIASES_OF_FOOTBALL_V2: &[(&str, Status)] = &[
    ("1t", Status::FirstHalf),
    ("2t", Status::SecondHalf),
    ("et", Status::ExtraFirst),
    ("pen", Status::Penalties),
    ("aet", Status::Finished),
];

const ALIASES_OF_SPORTS: &[(&str, Status)] = &[
    ("prematch", Status::NotStarted),
    ("completed", Status::Finished),
    ("archived", Status::Finished),
];

/// Football of version 2 accepts this word and finds nothing, because no feed reports such matches.
const DELAYED: &str = "delayed";

impl Vocabulary {
    /// Parses the filter `status=`: one word, or several separated by commas, in any case. Unknown words are
    /// ignored, as clients send the words of other services; `None`, which filters nothing, if no word is
    /// known. Each status is there once, however often its word is repeated: every match is compared with them.
    #[must_use]
    pub fn parse(self, text: &str) -> Option<Vec<Status>> {
        let words = text.split(',').map(|word| word.trim().to_ascii_lowercase());
        let mut selected: Option<Vec<Status>> = None;
        for statuses in words.filter_map(|word| self.selected(&word)) {
            let selected = selected.get_or_insert_default();
            for status in statuses {
                if !selected.contains(&status) {
                    selected.push(status);
                }
            }
        }
        selected
    }

    /// The statuses that a word selects; `None` if the word is unknown.
    fn selected(self, word: &str) -> Option<Vec<Status>> {
        if self == Self::FootballV2 && word == DELAYED {
            return Some(Vec::new());
        }
        let mut aliases = self.aliases().into_iter().flatten();
        let alias = aliases.find(|(alias, _)| *alias == word).map(|(_, status)| *status);
        if alias == Some(Status::Live) && self.names_phases() {
            return Some(self.statuses().filter(|status| status.is_live()).collect());
        }
        let own_word = alias.map_or(word, |status| status.word(self));
        let selected = self.statuses().filter(|status| status.word(self) == own_word);
        let selected: Vec<_> = selected.collect();
        (!selected.is_empty()).then_some(selected)
    }

    fn aliases(self) -> [&'static [(&'static str, Status)]; 3] {
        match self {
            Self::Football => [ALIASES, ALIASES_OF_FOOTBALL, &[]],
            Self::FootballV2 => [ALIASES, ALIASES_OF_FOOTBALL, ALIASES_OF_FOOTBALL_V2],
            Self::Sport(_) => [ALIASES, ALIASES_OF_SPORTS, &[]],
        }
    }

    /// Whether the phases of a match have words of their own.
    fn names_phases(self) -> bool {
        matches!(self, Self::Football | Self::FootballV2)
    }

    /// The statuses that this vocabulary is about: among the sports, only races go to the post.
    fn statuses(self) -> impl Iterator<Item = Status> {
        let is_at_posts = self.names_phases() || self == Self::Sport(Sport::HorseRacing);
        Status::ALL.into_iter().filter(move |it| is_at_posts || *it != Status::AtThePost)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FOOTBALL: [Vocabulary; 2] = [Vocabulary::Football, Vocabulary::FootballV2];

    fn everyone() -> impl Iterator<Item = Vocabulary> {
        FOOTBALL.into_iter().chain(Sport::ALL.map(Vocabulary::Sport))
    }

    #[test]
    fn each_status_is_found_by_its_own_word() {
        for vocabulary in FOOTBALL {
            for status in Status::ALL {
                let found =
                    vocabulary.parse(status.word(vocabulary)).expect("an own word is known");
                assert!(found.contains(&status), "{status:?} of {vocabulary:?}");
            }
        }
    }

    #[test]
    fn live_selects_all_statuses_in_play() {
        for vocabulary in FOOTBALL {
            let live = vocabulary.parse("LIVE").unwrap();
            for status in Status::ALL {
                assert_eq!(live.contains(&status), status.is_live(), "{status:?}");
            }
        }
        let hockey = Vocabulary::Sport(Sport::Hockey).parse("inprogress").unwrap();
        assert!(hockey.contains(&Status::Interrupted));
        let tennis = Vocabulary::Sport(Sport::Tennis).parse("live").unwrap();
        assert!(!tennis.contains(&Status::Interrupted), "it has a word of its own");
    }

    #[test]
    fn aliases_select_the_same_as_the_main_word() {
        for vocabulary in everyone() {
            for alias in ["inplay", "in_play", "started", "inprogress", "In_Progress"] {
                assert_eq!(vocabulary.parse(alias), vocabulary.parse("live"), "{alias}");
            }
            for alias in ["scheduled", "Upcoming", "not_started"] {
                assert_eq!(vocabulary.parse(alias), vocabulary.parse("notstarted"), "{alias}");
            }
        }
        let football = Vocabulary::Football;
        let upcoming = football.parse("Upcoming");
        assert_eq!(upcoming, Some(vec![Status::NotStarted, Status::AtThePost]));
        let once = football.parse("ft,canceled");
        assert_eq!(football.parse(&"ft,canceled,".repeat(1_000)), once, "each status once");
        let all = football.parse("ft,canceled").unwrap();
        assert_eq!(all, [Status::RESULTS.as_slice(), &[Status::Cancelled]].concat());
    }

    #[test]
    fn unknown_words_filter_nothing() {
        for vocabulary in everyone() {
            assert_eq!(vocabulary.parse("soon"), None);
            assert_eq!(vocabulary.parse(" , "), None);
            assert_eq!(vocabulary.parse("soon,finished"), vocabulary.parse("finished"));
        }
    }

    #[test]
    fn only_football_version_2_has_abbreviations() {
        let [version_1, version_2] = FOOTBALL;
        for word in ["1t", "2t", "et", "pen", "aet", "delayed"] {
            assert_eq!(version_1.parse(word), None, "{word}");
            assert!(version_2.parse(word).is_some(), "{word}");
        }
        assert_eq!(version_2.parse("delayed"), Some(Vec::new()));
        assert_eq!(version_2.parse("aet"), Some(Status::RESULTS.to_vec()));
        for word in ["prematch", "completed", "archived", "idle"] {
            assert_eq!(version_2.parse(word), None, "{word}");
        }
        let both = version_2.parse("postponed, canceled");
        assert_eq!(both, Some(vec![Status::Postponed, Status::Cancelled]));
    }

    #[test]
    fn each_sport_has_its_words_and_accepts_those_of_the_others() {
        let check = |sport: Sport, text: &str, expected: Option<&[Status]>| {
            let found = Vocabulary::Sport(sport).parse(text);
            assert_eq!(found.as_deref(), expected, "{text} of {}", sport.as_str());
        };
        check(Sport::Tennis, "scheduled", Some(&[Status::NotStarted]));
        check(Sport::Tennis, "Upcoming", Some(&[Status::NotStarted]));
        check(Sport::Tennis, "interrupted", Some(&[Status::Interrupted]));
        check(Sport::Tennis, "completed", Some(&[Status::Finished]));
        check(Sport::Cs2, "notstarted", Some(&[Status::NotStarted]));
        check(Sport::Cs2, "scheduled", Some(&[Status::NotStarted]));
        check(Sport::Darts, "finished", Some(&[Status::Finished, Status::Retired]));
        check(Sport::Basketball, "ended", Some(&Status::RESULTS));
        check(Sport::Hockey, "awarded", Some(&[Status::Walkover]));
        check(Sport::Hockey, "canceled", Some(&[Status::Abandoned, Status::Cancelled]));
        check(Sport::HorseRacing, "idle,archived", Some(&[Status::AtThePost, Status::Finished]));
        check(Sport::Darts, "idle", None);
        check(Sport::Darts, "ht", None);
        check(Sport::Basketball, "sometime", None);
        check(Sport::Basketball, "scheduled,sometime", Some(&[Status::NotStarted]));
    }

    #[test]
    fn live_list_has_the_phase_only_in_its_period() {
        let words = [Status::Live, Status::HalfTime, Status::Finished, Status::Postponed]
            .map(|status| (status.live_word(), status.live_period(), status.period()));
        let expected = [
            ("inprogress", "", ""),
            ("inprogress", "halftime", "HT"),
            ("finished", "FT", "FT"),
            ("postponed", "", ""),
        ];
        assert_eq!(words, expected);
    }
}

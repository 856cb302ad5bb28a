//! The status words of each sport: SERVICE section 2.
//!
//! A status without a word of its own uses the nearest one: an interrupted match is in play, an abandoned one
//! is cancelled. `unresolved` is football's word for matches that no feed ever reported as played.

use ingest::event::Sport;

use crate::record::Status;

/// The status of a match in the words of its sport.
pub(super) fn word(sport: Sport, status: Status) -> &'static str {
    match status {
        Status::NotStarted => match sport {
            Sport::Cs2 => "notstarted",
            Sport::HorseRacing => "prematch",
            _ => "scheduled",
        },
        Status::AtThePost => "idle",
        Status::Interrupted if sport == Sport::Tennis => "interrupted",
        Status::Live
        | Status::FirstHalf
        | Status::HalfTime
        | Status::SecondHalf
        | Status::ExtraFirst
        | Status::ExtraHalf
        | Status::ExtraSecond
        | Status::Penalties
        | Status::Interrupted => match sport {
            Sport::Cs2 => "inprogress",
            _ => "live",
        },
        Status::Finished if sport == Sport::HorseRacing => "archived",
        Status::Retired if sport == Sport::Tennis => "retired",
        Status::Finished | Status::Retired => "finished",
        Status::Walkover => match sport {
            Sport::Tennis | Sport::Darts => "walkover",
            Sport::Hockey => "awarded",
            _ => "finished",
        },
        Status::Postponed => "postponed",
        Status::Abandoned | Status::Cancelled => "cancelled",
        Status::Unresolved => "unresolved",
    }
}

/// Only races go to the post.
fn of_sport(sport: Sport) -> impl Iterator<Item = Status> {
    let is_race = sport == Sport::HorseRacing;
    Status::ALL.into_iter().filter(move |status| *status != Status::AtThePost || is_race)
}

/// Parses a status filter: one word, or several separated by commas, in the words of any sport. Unknown words
/// are ignored; without a known word there is no filter.
pub(super) fn read(sport: Sport, text: &str) -> Option<Vec<Status>> {
    let mut statuses = Vec::new();
    for part in text.split(',') {
        let query = own_word(sport, &part.trim().to_ascii_lowercase());
        statuses.extend(of_sport(sport).filter(|status| word(sport, *status) == query));
    }
    (!statuses.is_empty()).then_some(statuses)
}

fn own_word(sport: Sport, query: &str) -> String {
    match query {
        "scheduled" | "upcoming" | "notstarted" | "not_started" | "prematch" => {
            word(sport, Status::NotStarted).to_owned()
        }
        "live" | "inprogress" | "in_progress" | "inplay" | "in_play" | "started" => {
            word(sport, Status::Live).to_owned()
        }
        "finished" | "ended" | "completed" | "archived" => word(sport, Status::Finished).to_owned(),
        "canceled" => "cancelled".to_owned(),
        other => other.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_sport_has_its_words_and_takes_those_of_the_others() {
        let check = |sport: Sport, text: &str, expected: Option<&[Status]>| {
            assert_eq!(read(sport, text).as_deref(), expected, "{text} of {}", sport.as_str());
        };
        check(Sport::Tennis, "scheduled", Some(&[Status::NotStarted]));
        check(Sport::Tennis, "Upcoming", Some(&[Status::NotStarted]));
        check(Sport::Tennis, "interrupted", Some(&[Status::Interrupted]));
        check(Sport::Cs2, "notstarted", Some(&[Status::NotStarted]));
        check(Sport::Cs2, "scheduled", Some(&[Status::NotStarted]));
        check(Sport::Hockey, "awarded", Some(&[Status::Walkover]));
        check(Sport::HorseRacing, "idle,archived", Some(&[Status::AtThePost, Status::Finished]));
        check(Sport::Darts, "idle", None);
        check(Sport::Basketball, "sometime", None);
        check(Sport::Basketball, "scheduled,sometime", Some(&[Status::NotStarted]));
        for alias in ["inplay", "started", "inprogress"] {
            assert_eq!(read(Sport::Tennis, alias), read(Sport::Tennis, "live"), "{alias}");
        }
        assert!(read(Sport::Hockey, "inprogress").unwrap().contains(&Status::Interrupted));
    }
}

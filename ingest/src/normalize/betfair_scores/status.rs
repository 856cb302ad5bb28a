//! Betfair's words for how a match stands, and for what has happened in one.
//!
//! The words are documented nowhere; of those for extra time and shoot-outs no recording has any.
//! They are understood by their parts, so that `ExtraTimeKickOff` and `FirstHalfOfExtraTimeStart`
//! mean the same.

use facts::event::{FootballStatus, GoalKind, IncidentKind, TennisStatus};

/// What a word says of a football match.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Meaning {
    Status(FootballStatus),
    /// The 90 or the 120 minutes are over: the end, unless more follows.
    FullTime,
    Incident(IncidentKind),
    /// The last goal of the side does not count.
    GoalCancelled,
    /// A corner or an announcement of added time: emits nothing.
    Nothing,
    Unknown,
}

/// That play is interrupted is among them: there is no status for it, and it goes on or is abandoned.
const NOTHING: [&str; 9] = [
    "corner",
    "injury",
    "addedtime",
    "stoppage",
    "goalkick",
    "var",
    "inplay",
    "suspend",
    "interrupt",
];

pub(super) fn football(word: &str) -> Meaning {
    let word = letters(word);
    let has = |part: &str| word.contains(part);
    let any = |parts: &[&str]| parts.iter().any(|part| has(part));
    let over = ["finish", "ended", "complete", "closed", "fulltime"];
    if any(&["disallow", "overturn"]) || (has("goal") && any(&["cancel", "removed", "deleted"])) {
        Meaning::GoalCancelled
    } else if has("card") {
        Meaning::Incident(card(&word))
    } else if any(&["shootout", "penalties"]) {
        shootout(&word)
    } else if has("owngoal") {
        Meaning::Incident(IncidentKind::Goal(GoalKind::OwnGoal))
    } else if has("penalt") {
        penalty(&word)
    } else if word == "goal" {
        Meaning::Incident(IncidentKind::Goal(GoalKind::Regular))
    } else if has("substitution") {
        Meaning::Incident(IncidentKind::Substitution)
    } else if any(&NOTHING) {
        Meaning::Nothing
    } else if any(&["abandon", "postpon", "cancel"]) {
        Meaning::Status(called_off(&word))
    } else if any(&["extra", "overtime"]) {
        extra_time(&word)
    } else if any(&["firsthalfend", "halftime"]) {
        Meaning::Status(FootballStatus::HalfTime)
    } else if has("secondhalfend") {
        Meaning::FullTime
    } else if has("secondhalf") {
        Meaning::Status(FootballStatus::SecondHalf)
    } else if any(&["kickoff", "firsthalf"]) {
        Meaning::Status(FootballStatus::FirstHalf)
    } else if any(&over) {
        Meaning::Status(FootballStatus::Finished)
    } else if any(&["prematch", "notstarted", "upcoming", "scheduled"]) {
        Meaning::Status(FootballStatus::NotStarted)
    } else {
        Meaning::Unknown
    }
}

fn card(word: &str) -> IncidentKind {
    let second = ["yellowred", "secondyellow", "redyellow"];
    if second.iter().any(|part| word.contains(part)) {
        IncidentKind::SecondYellow
    } else if word.contains("red") {
        IncidentKind::Red
    } else {
        IncidentKind::Yellow
    }
}

fn shootout(word: &str) -> Meaning {
    let any = |parts: &[&str]| parts.iter().any(|part| word.contains(part));
    if any(&["miss", "save", "notscored"]) {
        Meaning::Incident(IncidentKind::Shootout { scored: false })
    } else if any(&["goal", "scored"]) {
        Meaning::Incident(IncidentKind::Shootout { scored: true })
    } else if any(&["end", "finish", "complete"]) {
        Meaning::Status(FootballStatus::Finished)
    } else {
        Meaning::Status(FootballStatus::Penalties)
    }
}

fn penalty(word: &str) -> Meaning {
    let any = |parts: &[&str]| parts.iter().any(|part| word.contains(part));
    if any(&["miss", "save", "notscored"]) {
        Meaning::Incident(IncidentKind::PenaltyMissed)
    } else if any(&["goal", "scored"]) {
        Meaning::Incident(IncidentKind::Goal(GoalKind::Penalty))
    } else {
        Meaning::Nothing
    }
}

fn extra_time(word: &str) -> Meaning {
    let has = |part: &str| word.contains(part);
    let second = has("second");
    let ends = has("end") || has("finish");
    if has("halftime") || (has("first") && ends) {
        Meaning::Status(FootballStatus::ExtraHalf)
    } else if ends {
        Meaning::FullTime
    } else if second {
        Meaning::Status(FootballStatus::ExtraSecond)
    } else {
        Meaning::Status(FootballStatus::ExtraFirst)
    }
}

fn called_off(word: &str) -> FootballStatus {
    if word.contains("abandon") {
        FootballStatus::Abandoned
    } else if word.contains("postpon") {
        FootballStatus::Postponed
    } else {
        FootballStatus::Cancelled
    }
}

/// `None` for a word that we do not know.
pub(super) fn tennis(word: &str) -> Option<TennisStatus> {
    let word = letters(word);
    let any = |parts: &[&str]| parts.iter().any(|part| word.contains(part));
    Some(if any(&["retire"]) {
        TennisStatus::Retired
    } else if any(&["walkover"]) {
        TennisStatus::Walkover
    } else if any(&["cancel", "abandon"]) {
        TennisStatus::Cancelled
    } else if any(&["suspend", "interrupt", "delay", "postpon"]) {
        TennisStatus::Interrupted
    } else if any(&["finish", "complete", "ended", "closed"]) {
        TennisStatus::Finished
    } else if any(&["oncourt", "warmup", "prematch", "notstarted", "scheduled", "upcoming"]) {
        TennisStatus::NotStarted
    } else if any(&["inplay", "inprogress", "live", "started"]) {
        TennisStatus::Live
    } else {
        return None;
    })
}

pub(super) fn is_over(status: TennisStatus) -> bool {
    match status {
        TennisStatus::Finished
        | TennisStatus::Retired
        | TennisStatus::Walkover
        | TennisStatus::Cancelled => true,
        TennisStatus::NotStarted | TennisStatus::Live | TennisStatus::Interrupted => false,
    }
}

fn letters(word: &str) -> String {
    word.chars().filter(char::is_ascii_alphabetic).map(|it| it.to_ascii_lowercase()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(words: &[&str], meaning: Meaning) {
        for word in words {
            assert_eq!(football(word), meaning, "{word}");
        }
    }

    #[test]
    fn words_of_football_are_understood_by_their_parts() {
        let status = Meaning::Status;
        check(&["KickOff", "FirstHalfKickOff"], status(FootballStatus::FirstHalf));
        check(&["FirstHalfEnd", "HalfTime"], status(FootballStatus::HalfTime));
        check(&["SecondHalfKickOff"], status(FootballStatus::SecondHalf));
        check(&["SecondHalfEnd", "ExtraTimeSecondHalfEnd", "ExtraTimeEnd"], Meaning::FullTime);
        check(
            &["ExtraTimeKickOff", "ExtraTimeFirstHalfKickOff", "FirstHalfOfExtraTimeStart"],
            status(FootballStatus::ExtraFirst),
        );
        let half = status(FootballStatus::ExtraHalf);
        check(&["ExtraTimeFirstHalfEnd", "ExtraTimeHalfTime", "FirstHalfExtraTimeEnd"], half);
        let second = status(FootballStatus::ExtraSecond);
        check(&["ExtraTimeSecondHalfKickOff", "SecondHalfExtraTimeStart"], second);
        let penalties = status(FootballStatus::Penalties);
        check(&["PenaltyShootout", "PenaltyShootoutStart", "Penalties"], penalties);
        let finished = status(FootballStatus::Finished);
        check(&["PenaltyShootoutEnd", "Finished", "MatchEnded", "FullTime"], finished);
        check(&["Abandoned", "MatchAbandoned"], status(FootballStatus::Abandoned));
        check(&["IN_PLAY", "Corner", "PenaltyAwarded", "Suspended"], Meaning::Nothing);
        check(&["Streaker", ""], Meaning::Unknown);
    }

    #[test]
    fn incidents_of_football_are_understood_by_their_parts() {
        let incident = Meaning::Incident;
        check(&["Goal"], incident(IncidentKind::Goal(GoalKind::Regular)));
        check(&["OwnGoal"], incident(IncidentKind::Goal(GoalKind::OwnGoal)));
        check(&["PenaltyGoal", "PenaltyScored"], incident(IncidentKind::Goal(GoalKind::Penalty)));
        check(&["PenaltyMissed", "PenaltySaved"], incident(IncidentKind::PenaltyMissed));
        check(&["YellowCard"], incident(IncidentKind::Yellow));
        check(&["RedCard"], incident(IncidentKind::Red));
        let second = incident(IncidentKind::SecondYellow);
        check(&["YellowRedCard", "SecondYellowCard"], second);
        check(&["Substitution"], incident(IncidentKind::Substitution));
        check(&["GoalDisallowed", "GoalCancelled"], Meaning::GoalCancelled);
        let kick = |scored| incident(IncidentKind::Shootout { scored });
        check(&["PenaltyShootoutGoal"], kick(true));
        check(&["PenaltyShootoutMissed"], kick(false));
    }

    #[test]
    fn words_of_tennis_are_understood() {
        for (word, expected) in [
            ("onCourt", Some(TennisStatus::NotStarted)),
            ("warmUp", Some(TennisStatus::NotStarted)),
            ("inPlay", Some(TennisStatus::Live)),
            ("IN_PROGRESS", Some(TennisStatus::Live)),
            ("FINISHED", Some(TennisStatus::Finished)),
            ("Retired", Some(TennisStatus::Retired)),
            ("SUSPENDED", Some(TennisStatus::Interrupted)),
            ("tea", None),
        ] {
            assert_eq!(tennis(word), expected, "{word}");
        }
    }
}

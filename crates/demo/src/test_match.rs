//! The match of the channels below `test/`: in each round a football match of the simulator, 25 times as fast as a
//! real one and without long pauses.

use facts::event::{Micros, Sport, Timed};
use simulator::World;

use crate::{pace::WorldClock, speed::DemoSpeed};
use hub::test_channels::{RoundNumber, TestMatch, begins};

const SEED: u64 = 1;

/// With it, every match ends before its round.
const SPEED: DemoSpeed = DemoSpeed { hundredths: 2_500 };

/// The longest time without a change. Half-time is longer.
const PAUSE_US_MAX: Micros = 2_000_000;

/// The time between the beginning of a round and that of its match, by the match's clock.
const NOTICE_US: Micros = 120_000_000;

/// Bookmakers that quote the match.
const BOOKMAKERS: usize = 2;

/// The matches of all rounds.
#[must_use]
pub fn test_match() -> TestMatch {
    TestMatch::new(play)
}

fn play(round: RoundNumber) -> Vec<Timed> {
    let begins = begins(round);
    let programme = World::new(SEED + u64::from(round), begins).programme(0);
    let Some(scheduled) = programme.iter().find(|it| it.sport() == Sport::Football) else {
        return Vec::new();
    };
    let clock = WorldClock::new(SPEED, begins, scheduled.start() - NOTICE_US);
    let (mut last, mut skipped) = (begins, 0);
    let played = scheduled.played(NOTICE_US, BOOKMAKERS).map(|timed| {
        let mut timed = clock.on_our_clock(timed);
        skipped += (timed.clock_us - skipped - last - PAUSE_US_MAX).max(0);
        timed.clock_us -= skipped;
        timed.batch.at = Some(timed.clock_us);
        last = timed.clock_us;
        timed
    });
    played.collect()
}

#[cfg(test)]
mod tests {
    use facts::event::{Fact, FootballFact, FootballStatus};
    use hub::test_channels::ROUND_US;

    use super::*;

    #[test]
    fn every_match_ends_in_its_round_and_never_pauses_for_long() {
        for round in 5_983_000..5_983_040 {
            let played = play(round);
            let times: Vec<Micros> = played.iter().map(|it| it.clock_us - begins(round)).collect();
            let last = *times.last().expect("a match");
            assert!((ROUND_US / 2..ROUND_US).contains(&last), "round {round} ends at {last}");
            let pauses = times.windows(2).map(|pair| pair[1] - pair[0]);
            assert!(pauses.clone().all(|it| (0..=PAUSE_US_MAX).contains(&it)), "round {round}");
            let facts = played.iter().flat_map(|it| &it.batch.events).map(|it| &it.fact);
            let ended = Fact::Football(FootballFact::Status(FootballStatus::Finished));
            assert!(facts.clone().any(|it| *it == ended), "round {round} has no end");
        }
    }
}

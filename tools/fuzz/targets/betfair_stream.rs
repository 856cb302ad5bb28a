//! Lines of a Betfair stream: as recorded, and as from a live subscription.

#![no_main]

use ingest::normalize::{
    Interpret, Interpretation,
    betfair::{Live, Normalizer},
};
use libfuzzer_sys::fuzz_target;
use matchwire_fuzz::{Promises, Witness};

/// The clock is that of the stream and may go back; each message then has its own notice.
const PROMISES: Promises = Promises {
    notices_max: 16,
    clock_never_falls: false,
    introductions: true,
    incidents_once: false,
};

fuzz_target!(|bytes: &[u8]| {
    let lines = || bytes.split(|byte| *byte == b'\n');
    recorded(lines());
    live(lines());
});

fn recorded<'a>(lines: impl Iterator<Item = &'a [u8]>) {
    let mut normalizer = Normalizer::default();
    let mut witness = Witness::new(PROMISES);
    for line in lines {
        let Ok(Some(normalized)) = normalizer.line(line) else { continue };
        let clock_us = normalized.pt.unwrap_or_default();
        let timed = facts::event::Timed { clock_us, batch: normalized.batch };
        let notices = normalized.notices;
        witness.check(&Interpretation {
            batches: vec![timed],
            notices,
            ..Interpretation::default()
        });
    }
}

/// Resubscribes after every loss, as the source does.
fn live<'a>(lines: impl Iterator<Item = &'a [u8]>) {
    let mut live = Live::default();
    live.subscribe(2);
    let mut witness = Witness::new(PROMISES);
    for line in lines {
        let mut played = Interpretation::default();
        let taken = live.message(line, 0, &mut played);
        witness.check(&played);
        assert!(taken.is_ok() || live.is_lost(), "a message that cannot be read is lost");
        assert!(!(live.is_lost() && live.is_complete()), "complete, and something is lost");
        if live.is_lost() {
            assert_eq!(live.resume(), None, "only an image helps where something is lost");
            live.subscribe(2);
        }
    }
}

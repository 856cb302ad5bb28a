//! The messages of one live subscription to facts.
//!
//! Unlike in recordings, there is exactly one subscription at a time, and its image is complete.
//! Known markets that are missing from a new image disappeared while disconnected, perhaps because
//! they closed; they are reported as suspended and removed. A change of a market that was never
//! defined, or an unreadable line, means that something is lost: the source must subscribe again,
//! without a position.

use std::sync::Arc;

use facts::event::{Micros, Timed};

use super::{Normalized, Normalizer, position, position::Position};
use crate::{
    decode::betfair::{self as decode, ChangeType, MarketMessage, catalogue},
    error::Result,
    normalize::{Interpret, Interpretation, Signal},
};

/// The `status` of messages while Betfair's own source lags behind.
const LATE: u64 = 503;

/// The state of one subscription, across reconnects.
#[derive(Debug)]
pub struct Live {
    normalizer: Normalizer,
    /// The id of the request that subscribed, once one has: messages of another are not for us any
    /// more.
    subscription: Option<u64>,
    position: Position,
    /// The image or the resume is through.
    is_complete: bool,
    is_lost: bool,
    is_late: bool,
    /// The last reported state of the feed.
    last_signal: Signal,
}

impl Default for Live {
    fn default() -> Self {
        Self {
            normalizer: Normalizer { keeps_definitions: true, ..Normalizer::default() },
            subscription: None,
            position: Position::default(),
            is_complete: false,
            is_lost: false,
            is_late: false,
            last_signal: Signal::Recovering,
        }
    }
}

impl Live {
    /// The request with this id subscribes (again): an image or a resume follows.
    pub fn subscribe(&mut self, id: u64) {
        self.restart();
        self.subscription = Some(id);
    }

    /// The connection is gone; what comes with the next one is not complete yet.
    pub fn disconnected(&mut self) {
        self.restart();
    }

    /// `initialClk` and `clk` of all that was taken, to go on from there; `None` where only an
    /// image helps.
    #[must_use]
    pub fn resume(&self) -> Option<[&str; 2]> {
        self.position.resume()
    }

    /// Only an image helps from now on.
    pub fn forget_position(&mut self) {
        self.position.forget();
    }

    /// Whether the image or the resume of the subscription is through, and nothing was lost since.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.is_complete
    }

    /// Whether something was lost, so that the source must subscribe again.
    #[must_use]
    pub fn is_lost(&self) -> bool {
        self.is_lost
    }

    /// The markets whose names should be requested now, at most this many.
    pub fn unnamed(&mut self, most: usize, now: Micros) -> Vec<Arc<str>> {
        self.normalizer.unnamed(most, now)
    }

    /// Takes an answer of the catalogue.
    fn name(&mut self, answer: &[u8], received: Micros, out: &mut Interpretation) -> Result<()> {
        let named = catalogue::decode(answer)?;
        let mut normalized = Normalized::default();
        self.normalizer.catalogue(named, &mut normalized);
        let Normalized { batch, notices, .. } = normalized;
        if !batch.events.is_empty() {
            out.batches.push(Timed { clock_us: received, batch });
        }
        out.notices.extend(notices);
        Ok(())
    }

    /// Something was lost that was not even a message. Whether that is news.
    pub fn miss(&mut self) -> bool {
        let is_news = !self.is_lost && self.last_signal != Signal::Recovering;
        self.lose();
        self.last_signal = Signal::Recovering;
        is_news
    }

    fn lose(&mut self) {
        self.is_lost = true;
        self.is_complete = false;
        self.position.forget();
    }

    fn take(&mut self, message: MarketMessage<'_>) -> Normalized {
        let begins = position::begins_image(&message);
        let completes = position::completes(&message);
        let ends_image = completes && message.ct == ChangeType::SubImage;
        if begins {
            self.is_complete = false;
            self.normalizer.begin_image();
        }
        let mut normalized = self.normalizer.message(message);
        if ends_image {
            self.normalizer.end_image(&mut normalized.batch);
        }
        self.is_complete |= completes && !self.is_lost;
        if std::mem::take(&mut self.normalizer.is_lost) {
            self.lose();
        }
        normalized
    }

    /// Says how the feed is when that has changed.
    fn say(&mut self, out: &mut Interpretation) -> bool {
        let now = match (self.is_complete, self.is_late) {
            (false, _) => Signal::Recovering,
            (true, true) => Signal::Late,
            (true, false) => Signal::Fresh,
        };
        let is_news = now != self.last_signal;
        self.last_signal = now;
        out.signals.extend(is_news.then_some(now));
        is_news
    }
}

impl Interpret for Live {
    fn message(&mut self, bytes: &[u8], received: Micros, out: &mut Interpretation) -> Result<()> {
        if catalogue::is_catalogue(bytes) {
            return self.name(bytes, received, out);
        }
        let message = match decode::decode(bytes) {
            Ok(Some(message)) => message,
            Ok(None) => return Ok(()),
            Err(refused) => {
                self.lose();
                self.say(out);
                return Err(refused);
            }
        };
        if self.subscription.zip(message.id).is_some_and(|(ours, id)| ours != id) {
            return Ok(());
        }
        self.is_late = message.status == Some(LATE);
        self.position.note(&message);
        let is_heartbeat = message.ct == ChangeType::Heartbeat;
        if !is_heartbeat {
            let Normalized { pt, batch, notices } = self.take(message);
            if !batch.events.is_empty() || batch.price_changes > 0 {
                out.batches.push(Timed { clock_us: pt.unwrap_or(received), batch });
            }
            out.notices.extend(notices);
        }
        if !self.say(out) && is_heartbeat {
            out.signals.push(Signal::Alive);
        }
        Ok(())
    }

    fn restart(&mut self) {
        self.subscription = None;
        self.is_complete = false;
        self.is_lost = false;
        self.is_late = false;
        self.last_signal = Signal::Recovering;
    }
}

#[cfg(test)]
mod tests {
    use facts::event::{Fact, MarketChange, OddsFact};
    use proptest::{collection::vec, prelude::*, sample::Index};

    use super::*;
    use crate::normalize::betfair::tests::{definition, fact, prices, seeds};

    struct Source(Live);

    impl Source {
        fn subscribed() -> Self {
            let mut live = Live::default();
            live.subscribe(2);
            Self(live)
        }

        /// `expected` has a fact a line, then what is wrong, then the signals.
        #[track_caller]
        fn check(&mut self, message: &str, expected: &str) {
            let line = format!(r#"{{"op":"mcm","id":2,{message}}}"#);
            let mut out = Interpretation::default();
            let taken = self.0.message(line.as_bytes(), 5, &mut out);
            let facts = out.batches.iter().flat_map(|timed| &timed.batch.events).map(fact);
            let notices = out.notices.into_iter().chain(taken.err());
            let notices = notices.map(|notice| format!("! {} {notice}", notice.kind.as_str()));
            let signals = out.signals.iter().map(|signal| format!("{signal:?}"));
            let found: Vec<_> = facts.chain(notices).chain(signals).collect();
            let expected: Vec<_> = expected.lines().map(str::trim).collect();
            assert_eq!(found, expected, "{line}");
        }

        #[track_caller]
        fn image(&mut self, markets: &[&str], expected: &str) {
            let markets: Vec<_> = markets.iter().map(|id| definition(id, "OPEN", "")).collect();
            let mc = markets.join(",");
            self.check(
                &format!(r#""ct":"SUB_IMAGE","initialClk":"i","clk":"a","mc":[{mc}]"#),
                expected,
            );
        }
    }

    const OPEN: &str = "tennis 30\n1.2 clear\n1.2 match_winner Open 7:p1 8:p2";

    #[test]
    fn image_is_fresh_and_heartbeats_are_alive() {
        let mut source = Source::subscribed();
        source.check(r#""ct":"HEARTBEAT","clk":"a""#, "Alive");
        source.image(&["1.2"], &format!("{OPEN}\nFresh"));
        source.check(r#""ct":"HEARTBEAT","clk":"b""#, "Alive");
        source.check(&prices("1.2", r#"{"id":7,"ltp":2}"#), "1.2 | 7 last 2");
        assert_eq!(source.0.resume(), Some(["i", "b"]));
    }

    /// Names are requested once for each market, and again if they do not come; then the market is defined again.
    #[test]
    fn market_is_defined_again_with_its_names() {
        const MINUTE_US: Micros = 60_000_000;
        let mut source = Source::subscribed();
        source.image(&["1.2"], &format!("{OPEN}\nFresh"));
        let wanted = |source: &mut Source, now| {
            source.0.unnamed(9, now).iter().map(|id| id.to_string()).collect::<Vec<_>>()
        };
        assert_eq!(wanted(&mut source, 1), ["1.2"]);
        assert_eq!(wanted(&mut source, 2), [""; 0], "they are on their way");
        assert_eq!(wanted(&mut source, 1 + MINUTE_US), ["1.2"]);

        let catalogue = br#"[{"marketId":"1.2","event":{"id":"30","name":"Ann v Bea"},"competition":{"id":"5","name":"Open"},
            "runners":[{"selectionId":7,"runnerName":"Ann"},{"selectionId":8,"runnerName":"Bea"}]},
            {"marketId":"1.9","event":{"id":"31","name":"C v D"}}]"#;
        let mut out = Interpretation::default();
        source.0.message(catalogue, 5, &mut out).expect("a catalogue");
        assert!(out.notices.is_empty() && out.signals.is_empty(), "{out:?}");
        let events = &out.batches[0].batch.events;
        let Fact::Fixture(fixture) = &events[0].fact else { panic!("{events:?}") };
        let sides = fixture.sides.as_ref().expect("sides").each_ref().map(|side| &*side.name);
        assert_eq!(sides, ["Ann", "Bea"]);
        assert_eq!(fixture.competition.as_ref().map(|it| &*it.name), Some("Open"));
        let Fact::Odds(OddsFact { change: MarketChange::Define(defined), .. }) = &events[1].fact
        else {
            panic!("{events:?}")
        };
        let names: Vec<_> = defined.selections.iter().map(|it| it.name.as_deref()).collect();
        assert_eq!(names, [Some("Ann"), Some("Bea")]);
        assert_eq!(events.len(), 2, "an unknown market changes nothing");
        assert_eq!(wanted(&mut source, 9 * MINUTE_US), [""; 0]);

        // Definitions that follow have them too, and a market that closes forgets them.
        let mut out = Interpretation::default();
        let closed = format!(r#"{{"op":"mcm","id":2,"mc":[{}]}}"#, definition("1.2", "CLOSED", ""));
        source.0.message(closed.as_bytes(), 6, &mut out).expect("a message");
        let named = out.batches[0].batch.events.iter().any(|event| match &event.fact {
            Fact::Odds(OddsFact { change: MarketChange::Define(defined), .. }) => {
                defined.selections[0].name.as_deref() == Some("Ann")
            }
            _ => false,
        });
        assert!(named, "{out:?}");
    }

    #[test]
    fn image_in_segments_is_fresh_with_its_last_one() {
        let mut source = Source::subscribed();
        let segment = |kind: &str, market: &str| {
            let market = definition(market, "OPEN", "");
            format!(r#""ct":"SUB_IMAGE","segmentType":"{kind}","mc":[{market}]"#)
        };
        source.check(&segment("SEG_START", "1.2"), OPEN);
        source.check(&segment("SEG", "1.3"), "1.3 clear\n1.3 match_winner Open 7:p1 8:p2");
        assert!(!source.0.is_complete());
        let last = "1.4 clear\n1.4 match_winner Open 7:p1 8:p2\nFresh";
        source.check(&segment("SEG_END", "1.4"), last);
        source.check(&segment("SEG_START", "1.4"), &last.replace("Fresh", "Recovering"));
        source.check(
            &segment("SEG_END", "1.2"),
            "1.2 clear\n1.2 match_winner Open 7:p1 8:p2
             1.3 match_winner Suspended 7:p1 8:p2\nFresh",
        );
    }

    #[test]
    fn markets_missing_in_a_new_image_are_suspended_and_forgotten() {
        let mut source = Source::subscribed();
        source.image(
            &["1.2", "1.3"],
            &format!("{OPEN}\n1.3 clear\n1.3 match_winner Open 7:p1 8:p2\nFresh"),
        );
        source.0.subscribe(2);
        source.image(
            &["1.3"],
            "1.3 clear\n1.3 match_winner Open 7:p1 8:p2
             1.2 match_winner Suspended 7:p1 8:p2\nFresh",
        );
        source.image(&["1.3"], "1.3 clear\n1.3 match_winner Open 7:p1 8:p2");
        source.check(r#""ct":"SUB_IMAGE","mc":[]"#, "1.3 match_winner Suspended 7:p1 8:p2");
        assert!(source.0.normalizer.matches.is_empty());
    }

    #[test]
    fn resume_leaves_unmentioned_markets_unchanged() {
        let mut source = Source::subscribed();
        source.image(&["1.2"], &format!("{OPEN}\nFresh"));
        source.0.subscribe(2);
        assert_eq!(source.0.resume(), Some(["i", "a"]));
        source.check(r#""ct":"RESUB_DELTA","clk":"b""#, "Fresh");
        source.check(&prices("1.2", r#"{"id":7,"ltp":2}"#), "1.2 | 7 last 2");
        assert_eq!(source.0.resume(), Some(["i", "b"]));
    }

    #[test]
    fn lateness_is_reported_when_it_begins_and_ends() {
        let mut source = Source::subscribed();
        source.check(r#""ct":"HEARTBEAT","status":503"#, "Alive");
        source.image(&["1.2"], &format!("{OPEN}\nFresh"));
        source.check(r#""status":503,"mc":[{"id":"1.2","tv":5}]"#, "1.2 volume 5\nLate");
        source.check(r#""status":503,"ct":"HEARTBEAT""#, "Alive");
        source.check(r#""status":503,"mc":[{"id":"1.2","tv":6}]"#, "1.2 volume 6");
        source.check(r#""ct":"HEARTBEAT""#, "Fresh");
    }

    #[test]
    fn change_of_a_market_that_was_never_defined_means_a_loss() {
        let mut source = Source::subscribed();
        source.image(&["1.2"], &format!("{OPEN}\nFresh"));
        source.check(
            &prices("1.9", r#"{"id":7,"ltp":2}"#),
            "! unknown market 1.9 was never defined\nRecovering",
        );
        assert!(source.0.is_lost());
        assert_eq!(source.0.resume(), None, "only an image helps");
        source.check(r#""ct":"RESUB_DELTA","clk":"b""#, "");
        source.0.subscribe(2);
        source.image(&["1.2"], "1.2 clear\n1.2 match_winner Open 7:p1 8:p2\nFresh");
    }

    #[test]
    fn line_that_cannot_be_read_means_a_loss() {
        let mut source = Source::subscribed();
        source.image(&["1.2"], &format!("{OPEN}\nFresh"));
        source.check(r#""ct":"LATER""#, "! value ct LATER is not known\nRecovering");
        assert!(source.0.is_lost());
    }

    #[test]
    fn closed_and_refused_markets_are_not_missed() {
        let mut source = Source::subscribed();
        source.image(&["1.2"], &format!("{OPEN}\nFresh"));
        source.check(
            &format!(r#""mc":[{}]"#, definition("1.2", "CLOSED", "")),
            "1.2 match_winner Closed 7:p1 8:p2",
        );
        let late = prices("1.2", r#"{"id":7,"ltp":2}"#);
        source.check(&late, "! unknown market 1.2 was never defined");
        source.check(
            r#""mc":[{"id":"1.8","marketDefinition":{"status":"OPEN"}}]"#,
            "! value market 1.8 is defined without an eventId",
        );
        source.check(r#""mc":[{"id":"1.8","tv":2}]"#, "! unknown market 1.8 was never defined");
        for img in [true, false] {
            let bare = format!(r#""mc":[{{"id":"1.7","img":{img},"tv":2}}]"#);
            source.check(&bare, "! unknown market 1.7 was never defined");
        }
        assert!(source.0.is_complete());
    }

    #[test]
    fn messages_of_another_subscription_are_skipped() {
        let mut source = Source::subscribed();
        source.0.subscribe(3);
        source.image(&["1.2"], "");
        assert_eq!(source.0.resume(), None);
    }

    proptest! {
        #[test]
        fn arbitrary_bytes_do_not_panic(lines in vec(any::<Vec<u8>>(), 0..4)) {
            let mut live = Live::default();
            for line in lines {
                let _taken = live.message(&line, 0, &mut Interpretation::default());
            }
        }

        #[test]
        fn broken_lines_do_not_panic_and_at_most_lose_the_position(
            line in 0..2_usize, index in any::<Index>(), byte in any::<u8>(),
        ) {
            let mut live = Live::default();
            let mut line = seeds().swap_remove(line).into_bytes();
            let at = index.index(line.len());
            line[at] = byte;
            let taken = live.message(&line, 0, &mut Interpretation::default());
            prop_assert_eq!(taken.is_err() && !live.is_lost(), false);
            prop_assert!(!live.is_lost() || (live.resume().is_none() && !live.is_complete()));
        }
    }
}

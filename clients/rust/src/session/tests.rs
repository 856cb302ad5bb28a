//! The corpus of frame scripts (`tools/conformance/README.md`), against the session without a socket, with a clock moved by hand.

use conformance::{
    answer::{Subscriptions, other},
    script::{self, Expected, Script, Step},
};
use serde_json::{Value, json};

use super::{Effect, FrameError, Millis, Output, Session};
use crate::Frame;

/// How long the client may take to connect, to ask, or to give up a silent connection.
const PATIENCE_MS: Millis = 60_000;

/// One script. What the hub does goes in, what the script expects is compared.
struct Play {
    client: Session,
    now: Millis,
    /// When the next connection is opened; `None` while there is one, or if there will be none.
    connects_at: Option<Millis>,
    hello: Value,
    /// What the client has sent and no step expected yet.
    commands: Vec<String>,
    events: Vec<(String, String)>,
    ended_at: Millis,
    muted: bool,
}

impl Play {
    fn new(script: &Script) -> Self {
        Self {
            client: Session::new(script.head.follow.clone()),
            now: 1_000_000,
            connects_at: Some(1_000_000),
            hello: Value::Null,
            commands: Vec::new(),
            events: Vec::new(),
            ended_at: 0,
            muted: false,
        }
    }

    fn perform(&mut self, step: &Step) -> Result<(), String> {
        match step {
            Step::Open { hello, after_ms } => self.open(hello, *after_ms),
            Step::Subscribe(wanted) => {
                let hello = self.hello.clone();
                self.subscribe(Subscriptions::new(&hello, wanted))
            }
            Step::Send(text) => self.say(text.get()),
            Step::Close(close) => {
                self.end(Some(close.code));
                Ok(())
            }
            Step::Cut => {
                self.end(None);
                Ok(())
            }
            Step::Mute => {
                self.muted = true;
                Ok(())
            }
            Step::Wait { ms } => self.pass_to(self.now + ms),
            Step::Expect(expected) => self.expect(expected),
        }
    }

    fn open(&mut self, hello: &Value, after_ms: Option<Millis>) -> Result<(), String> {
        let until = self.now + PATIENCE_MS;
        // A connection on which nothing comes is given up by the client.
        while self.connects_at.is_none() && self.now < until {
            self.pass_to(self.client.deadline().max(self.now + 1))?;
        }
        let at = self.connects_at.take().ok_or("it does not come back")?;
        self.now = self.now.max(at);
        if after_ms.is_some_and(|after| self.now < self.ended_at + after) {
            return Err("it comes back too early".to_owned());
        }
        self.client.connecting(self.now);
        self.commands.clear();
        self.muted = false;
        self.hello = hello.clone();
        self.say(&hello.to_string())
    }

    fn subscribe(&mut self, mut expected: Subscriptions<'_>) -> Result<(), String> {
        let until = self.now + PATIENCE_MS;
        while !expected.are_complete() {
            if self.commands.is_empty() {
                if self.now >= until {
                    return Err(format!("it does not ask for {}", expected.missing()));
                }
                self.pass_to(self.client.deadline().clamp(self.now + 1, until))?;
                continue;
            }
            let text = self.commands.remove(0);
            let command: Value = serde_json::from_str(&text).expect("a command is JSON");
            let answer = if command["op"] == "subscribe" {
                expected.answer(&command, text.len())?
            } else {
                other(&command, &self.hello["now"])
            };
            self.say(&answer.to_string())?;
        }
        Ok(())
    }

    fn say(&mut self, text: &str) -> Result<(), String> {
        let received = self.client.receive(text, self.now);
        self.after(received)
    }

    fn pass_to(&mut self, moment: Millis) -> Result<(), String> {
        self.now = moment;
        let ticked = self.client.tick(moment);
        self.after(ticked)
    }

    fn after(&mut self, result: Result<(), FrameError>) -> Result<(), String> {
        for output in self.client.outputs() {
            match output {
                Output::Send(text) => self.commands.push(text),
                Output::Changed { ch, events } => {
                    let eid = |event: &Value| event["eid"].as_str().expect("an eid").to_owned();
                    self.events.extend(events.iter().map(|event| (ch.clone(), eid(event))));
                }
            }
        }
        match result {
            Err(FrameError::Silent) if self.muted => {
                self.end(None);
                Ok(())
            }
            Err(error) => Err(error.to_string()),
            Ok(()) if self.muted => Ok(()),
            Ok(()) => self.answer_pings(),
        }
    }

    fn answer_pings(&mut self) -> Result<(), String> {
        while let Some(at) = self.commands.iter().position(|it| it.contains(r#""op":"ping""#)) {
            let ping = serde_json::from_str(&self.commands.remove(at)).expect("a command is JSON");
            self.say(&other(&ping, &self.hello["now"]).to_string())?;
        }
        Ok(())
    }

    fn end(&mut self, code: Option<u16>) {
        self.ended_at = self.now;
        self.connects_at = self.client.ended(code, self.now, 0.5).map(|wait| self.now + wait);
    }

    fn expect(&mut self, expected: &Expected) -> Result<(), String> {
        let ch = &expected.ch;
        let (events, others): (Vec<_>, _) = self.events.drain(..).partition(|(name, _)| name == ch);
        self.events = others;
        let eids: Vec<String> = events.into_iter().map(|(_, eid)| eid).collect();
        if eids != expected.events {
            return Err(format!("{ch}: events {eids:?}, expected {:?}", expected.events));
        }
        let channel = self.client.channels().get(ch);
        let health = channel.map(|channel| self.client.health(channel, self.now).name());
        if expected.gone {
            return match health {
                None | Some("refused") => Ok(()),
                Some(health) => Err(format!("{ch} is {health}, not gone")),
            };
        }
        let channel = channel.ok_or_else(|| format!("{ch} is not there"))?;
        let found = (&channel.epoch, channel.seq, health.unwrap_or_default(), channel.sha256());
        let Expected { epoch, seq, health, sha256, .. } = expected;
        if found != (epoch, *seq, health, sha256.clone()) {
            return Err(format!("{ch}: {found:?}, expected {expected:?}: {}", channel.data));
        }
        Ok(())
    }
}

fn run(script: &Script) -> Result<(), String> {
    let mut play = Play::new(script);
    for (index, step) in script.steps.iter().enumerate() {
        play.perform(step)
            .map_err(|what| format!("{}, line {}: {what}", script.head.case, index + 2))?;
    }
    Ok(())
}

#[test]
fn session_passes_all_scripts() {
    let corpus = script::corpus().expect("the corpus can be read");
    assert!(corpus.len() > 30, "{} scripts", corpus.len());
    let failed: Vec<String> = corpus.iter().filter_map(|script| run(script).err()).collect();
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}

#[test]
fn wrong_hash_is_found() {
    let mut corpus = script::corpus().expect("the corpus can be read");
    let script = corpus.iter_mut().find(|it| it.head.case == "patches").expect("a case");
    let expected = script.steps.iter_mut().find_map(|step| match step {
        Step::Expect(expected) => Some(expected),
        _ => None,
    });
    expected.expect("an expectation").sha256.clear();
    let fault = run(script).expect_err("it differs");
    assert!(fault.starts_with("patches, line 5: football/7"), "{fault}");
}

/// The effect of a frame on a session without documents.
#[track_caller]
fn track(session: &mut Session, frame: &str, now: Millis) -> Effect {
    let frame = Frame::parse(frame.as_bytes()).expect("a frame");
    session.track(&frame, now).expect("a frame of the protocol")
}

/// The commands of a session, without their ids.
fn commands(session: &mut Session) -> Vec<Value> {
    let command = |output| match output {
        Output::Send(text) => {
            let mut command: Value = serde_json::from_str(&text).expect("a command is JSON");
            command.as_object_mut().expect("an object").remove("id");
            command
        }
        Output::Changed { .. } => panic!("there are no documents"),
    };
    session.outputs().into_iter().map(command).collect()
}

/// A session that follows a pattern without documents and has `football/7` at 10.
fn tracking() -> Session {
    tracking_every(250)
}

fn tracking_every(every_ms: Millis) -> Session {
    let mut session = Session::new(["football/*".to_owned()]).with_every_ms(every_ms);
    session.connecting(0);
    assert_eq!(track(&mut session, r#"{"type":"hello","beat_ms":1000}"#, 0), Effect::None);
    let subscribe = json!({"op": "subscribe", "ch": "football/*", "every_ms": every_ms});
    assert_eq!(commands(&mut session), [subscribe]);
    assert!(!session.is_answered());
    let answer = r#"{"type":"subscribed","id":2,"ch":"football/*","channels":1}"#;
    assert_eq!(track(&mut session, answer, 0), Effect::None);
    assert!(session.is_answered());
    let image = r#"{"type":"image","ch":"football/7","epoch":"e","seq":10,"data":{"a":1}}"#;
    assert_eq!(track(&mut session, image, 0), Effect::Image);
    assert!(session.has_reached(&[("football/7".to_owned(), 10)].into()));
    session
}

fn update(prev: u64, seq: u64) -> String {
    format!(r#"{{"type":"update","ch":"football/7","seq":{seq},"prev":{prev},"patch":{{}}}}"#)
}

#[test]
fn driver_with_its_own_documents_is_told_what_a_frame_means() {
    let mut session = tracking();
    let next = Effect::Update { has_new_events: true };
    for (prev, seq, expected) in [(9, 10, Effect::None), (10, 11, next), (12, 13, Effect::Gap)] {
        assert_eq!(track(&mut session, &update(prev, seq), 1), expected, "{prev} to {seq}");
    }
    let from = json!({"epoch": "e", "seq": 11});
    let repair = [
        json!({"op": "subscribe", "ch": "football/7", "from": from, "every_ms": 250}),
        json!({"op": "unsubscribe", "ch": "football/7"}),
    ];
    assert_eq!(commands(&mut session), repair);
    let refusal = r#"{"type":"error","id":3,"code":"not_tracked","retry":true}"#;
    let channel = vec!["football/7".to_owned()];
    assert_eq!(track(&mut session, refusal, 2), Effect::Refused(channel.clone()));
    assert!(session.channels().is_empty());
    let gone = r#"{"type":"unsubscribed","ch":"football/7","why":"gone"}"#;
    assert_eq!(track(&mut session, gone, 2), Effect::Ended(channel));
}

#[test]
fn discarded_channel_is_requested_if_two_beats_name_it() {
    let mut session = tracking();
    session.discard("football/7");
    let beat = r#"{"type":"beat","heads":{"football/7":10}}"#;
    track(&mut session, beat, 1_000);
    assert!(!session.has_reached(&[("football/7".to_owned(), 10)].into()));
    assert_eq!(commands(&mut session), [] as [Value; 0]);
    track(&mut session, beat, 2_000);
    let image = json!({"op": "subscribe", "ch": "football/7", "every_ms": 250});
    assert_eq!(commands(&mut session)[0], image);
}

#[test]
fn discarded_channel_is_requested_by_its_next_update() {
    let mut session = tracking();
    assert!(session.discard("football/7") && !session.discard("football/7"));
    assert_eq!(track(&mut session, &update(10, 11), 1), Effect::Gap);
    let image = json!({"op": "subscribe", "ch": "football/7", "every_ms": 250});
    assert_eq!(commands(&mut session)[0], image);
    assert_eq!(track(&mut session, &update(11, 12), 2), Effect::Gap);
    assert_eq!(commands(&mut session), [] as [Value; 0], "it is requested once");
    let answer = r#"{"type":"subscribed","id":3,"ch":"football/7","resumed":false}"#;
    track(&mut session, answer, 3);
    assert_eq!(track(&mut session, &update(12, 13), 3), Effect::None, "its image is due");
    let other = r#"{"type":"update","ch":"tennis/1","seq":2,"prev":1}"#;
    assert_eq!(track(&mut session, other, 3), Effect::None, "it is not followed");
}

#[test]
fn value_that_the_rate_holds_back_is_not_missing() {
    let mut session = tracking_every(1_000);
    let beat = r#"{"type":"beat","heads":{"football/7":11}}"#;
    for (now, expected) in [(1_000, 0), (2_000, 0), (3_000, 2)] {
        track(&mut session, beat, now);
        assert_eq!(commands(&mut session).len(), expected, "at {now}");
    }
}

#[test]
fn request_without_an_answer_is_replaced_by_the_next() {
    let mut session = tracking();
    for now in [1, 3_001] {
        assert_eq!(track(&mut session, &update(12, 13), now), Effect::Gap);
        assert_eq!(commands(&mut session).len(), 2);
    }
    let answer = r#"{"type":"subscribed","id":5,"ch":"football/7","resumed":true}"#;
    track(&mut session, answer, 3_002);
    assert!(session.is_answered());
}

#[test]
fn answer_that_cannot_be_read_fails_no_other() {
    let mut session = Session::new(["a/1", "a/2"].map(str::to_owned));
    session.connecting(0);
    track(&mut session, r#"{"type":"hello","beat_ms":1000,"features":["batch"]}"#, 0);
    assert_eq!(commands(&mut session), [json!({"op": "subscribe", "chs": ["a/1", "a/2"]})]);
    let no_object = r#"{"type":"subscribed","id":2,"chs":[]}"#;
    let lacks = session.track(&Frame::parse(no_object.as_bytes()).expect("a frame"), 0);
    assert!(matches!(lacks, Err(FrameError::Lacks { field: "chs", .. })), "{lacks:?}");
    let answers =
        r#"{"type":"subscribed","id":2,"chs":{"a/1":{"seq":"x"},"a/2":{"resumed":false}}}"#;
    assert_eq!(track(&mut session, answers, 0), Effect::Refused(vec!["a/1".to_owned()]));
    assert_eq!(session.channels()["a/2"].refused, None);
    session.tick(1_000).expect("it is not silent");
    assert_eq!(commands(&mut session), [json!({"op": "subscribe", "ch": "a/1"})]);
}

#[test]
fn connection_without_hello_is_given_up() {
    let mut session = Session::new(["a/1".to_owned()]);
    session.connecting(0);
    track(&mut session, r#"{"type":"beat","heads":{}}"#, 14_000);
    let ticked = session.tick(15_000);
    assert!(matches!(ticked, Err(FrameError::Silent)), "{ticked:?}");
}

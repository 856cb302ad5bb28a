//! Matches in the dialect of the older sockets: the exact frames, and no gaps.

use std::sync::Arc;

use facts::event::{
    Ball, Batch, Event, Fact, Fixture, FootballFact, FootballScore, FootballStatus, GoalKind, Id,
    Incident, IncidentKind, MarketChange, MarketDefinition, MarketStatus, OddsFact, Outcome,
    Participant, PlayerStat, SelectionChange, SelectionDefinition, SelectionStatus, Side,
    Situation, Sport, Stat,
};
use fanout::{
    Change, ChannelId, Position, Seq,
    catch_up::{CatchUp, HostRequest, HostResponse},
    encode::payload,
};
use hub::{
    Epochs, Hub, HubInput,
    dialect::live::protocol::EventChannel,
    feeds::{FeedState, Health, SourceNumber, SourcePolicy},
};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::{
    bench::{SETTINGS, START},
    facts::batches,
};

/// A hub, and a client that follows its matches in the dialect of the older sockets.
struct LegacyClient {
    hub: Hub,
    source: SourceNumber,
    now: i64,
    /// The texts of the frames, in order.
    frames: Vec<String>,
}

const SECOND: i64 = 1_000_000;

impl LegacyClient {
    fn new() -> Self {
        let epochs = Epochs { matches: fanout::Epoch(7), feeds: fanout::Epoch(8) };
        let mut hub = Hub::new(SETTINGS, epochs, hub::identity::Identity::default());
        let source = hub.source("test".into(), "simulator", SourcePolicy::default());
        Self { hub, source, now: START, frames: Vec::new() }
    }

    fn apply(&mut self, facts: &[Fact]) {
        let event =
            |fact: &Fact| Event { sport: Sport::Football, match_id: Id(1), fact: fact.clone() };
        let events = facts.iter().map(event).collect();
        self.apply_batch(&Batch { at: None, price_changes: 0, events });
    }

    fn apply_batch(&mut self, batch: &Batch) {
        let mut changes = Vec::new();
        self.hub.apply(self.source, batch, self.now, self.now, &mut changes);
        self.read(&changes);
    }

    /// This much time passes, in the hub's own ticks.
    fn wait(&mut self, seconds: i64) {
        let until = self.now + seconds * SECOND;
        while self.now < until {
            self.now += 250_000;
            let mut changes = Vec::new();
            for id in self.hub.idle_legacy(self.now) {
                self.hub.take(&HubInput::CloseLegacy { id }, &mut changes);
            }
            self.hub.tick(self.now, &mut changes);
            self.read(&changes);
        }
    }

    fn set_source_health(&mut self, feed: FeedState) {
        let mut changes = Vec::new();
        self.hub.set_source_health(
            self.source,
            &Health { feed, why: None },
            self.now,
            &mut changes,
        );
        self.read(&changes);
    }

    fn read(&mut self, changes: &[Change]) {
        for change in changes {
            if let Change::Published(_, publication) = change
                && EventChannel::parse(publication.channel.name.as_str()).is_some()
            {
                let text = payload(publication.frame());
                self.frames.push(String::from_utf8(text.to_vec()).expect("frames are text"));
            }
        }
    }

    fn take(&mut self) -> Vec<String> {
        std::mem::take(&mut self.frames)
    }

    fn begin(&mut self, channel: &str, from: Option<Position>) -> CatchUp {
        let channel = ChannelId::new(channel);
        let question =
            HostRequest::StartGroup { channel, companion: None, from, bytes_max: usize::MAX };
        match self.hub.answer(&question) {
            HostResponse::GroupStarted(caught_up, None) => caught_up,
            other => panic!("not available: {other:?}"),
        }
    }
}

fn team(id: u64, name: &str) -> Participant {
    Participant { id: Id(id), name: name.into() }
}

fn fixture() -> Fact {
    Fact::Fixture(Fixture {
        provider: "test".into(),
        provider_key: "1".into(),
        competition: None,
        start: Some(START),
        date: None,
        sides: Some([team(11, "Alpha FC"), team(12, "Beta FC")]),
        ..Fixture::default()
    })
}

fn status(status: FootballStatus) -> Fact {
    Fact::Football(FootballFact::Status(status))
}

fn score(home: u16, away: u16) -> Fact {
    Fact::Football(FootballFact::Score(FootballScore {
        goals: [home, away],
        ..FootballScore::default()
    }))
}

fn clock(second: u32) -> Fact {
    Fact::Football(FootballFact::Clock { second, running: true })
}

fn prices(
    kind: &str,
    line: Option<&str>,
    status: MarketStatus,
    all: &[(Outcome, &str)],
) -> [Fact; 2] {
    let market: Arc<str> = format!("{kind}{}", line.unwrap_or_default()).into();
    let odds =
        |change| Fact::Odds(OddsFact { book: "acme".into(), market: Arc::clone(&market), change });
    let selection = |(outcome, _): &(Outcome, &str)| SelectionDefinition {
        id: outcome.as_str().into(),
        name: None,
        status: SelectionStatus::Active,
        outcome: Some(*outcome),
        terms: None,
    };
    let price = |(outcome, price): &(Outcome, &str)| SelectionChange {
        id: outcome.as_str().into(),
        price: Some(price.parse().expect("a price")),
        ..SelectionChange::default()
    };
    [
        odds(MarketChange::Define(MarketDefinition {
            kind: kind.into(),
            name: None,
            line: line.map(|line| line.parse().expect("a line")),
            period: None,
            status,
            in_play: true,
            selections: all.iter().map(selection).collect(),
            terms: None,
        })),
        odds(MarketChange::Prices { selections: all.iter().map(price).collect(), volume: None }),
    ]
}

/// A match in its second half, 1-0, with a follower.
fn followed() -> (LegacyClient, CatchUp) {
    let mut client = LegacyClient::new();
    client.apply(&[
        fixture(),
        status(FootballStatus::SecondHalf),
        clock(67 * 60 + 12),
        score(1, 0),
    ]);
    let stats = [(Stat::BallPossession, 55), (Stat::DangerousAttacks, 9)];
    let stats = FootballFact::Stats { side: Side::First, values: stats.into() };
    client.apply(&[Fact::Football(stats)]);
    let begun = client.begin("~football/1", None);
    (client, begun)
}

#[test]
fn frames_match_the_captured_ones() {
    let (mut client, begun) = followed();
    let mut frames = vec![String::from_utf8_lossy(&payload(&begun.frames[0].frame)).into_owned()];

    let kind = IncidentKind::Goal(GoalKind::Penalty);
    let goal = Incident {
        player: Some(team(501, "A. Example")),
        score: Some([2, 0]),
        ..Incident::new("g1", kind, (68, None), Some(Side::First))
    };
    client.apply(&[Fact::Football(FootballFact::Incident(goal)), score(2, 0)]);
    frames.extend(client.take());

    let ball = Ball { x: 630, y: 415, side: Side::Second, situation: Situation::Dangerous };
    client.apply(&[Fact::Football(FootballFact::Ball(ball))]);
    frames.extend(client.take());
    insta::assert_snapshot!(frames.join("\n"));

    use Outcome::{Away, Draw, Home, Over, Under};
    let open = MarketStatus::Open;
    let mut all =
        prices("match_winner", None, open, &[(Home, "1.20"), (Draw, "6.5"), (Away, "15")]).to_vec();
    all.extend(prices("over_under", Some("2.5"), open, &[(Over, "1.90"), (Under, "1.95")]));
    all.extend(prices("asian_handicap", Some("-0.25"), open, &[(Home, "1.88"), (Away, "2.02")]));
    client.apply(&all);
    let table = r#"{"asian_handicap":[{"line":-0.25,"push":"half","home":1.88,"away":2.02,"bookmaker_count":1}]"#;
    let frame: Value = serde_json::from_str(&client.take()[0]).expect("a frame is JSON");
    assert_eq!(
        frame["odds"]["asian_handicap"],
        serde_json::from_str::<Value>(&format!("{table}}}")).expect("JSON")["asian_handicap"]
    );
    assert_eq!(frame["odds"]["over_under"], json!({"over_25": 1.90, "under_25": 1.95}));
    let begun = client.begin("~football/1", None);
    let text = String::from_utf8_lossy(&begun.frames[0].frame).into_owned();
    assert!(text.contains(r#""match_winner":{"home":1.20,"draw":6.5,"away":15}"#), "{text}");
}

#[test]
fn cadence_matches_the_captured_one() {
    let (mut client, _begun) = followed();
    client.wait(61);
    let kinds = |frames: &[String], kind: &str| {
        let kind = format!(r#"{{"type":"{kind}""#);
        frames.iter().filter(|frame| frame.starts_with(&kind)).count()
    };
    let frames = client.take();
    assert_eq!((kinds(&frames, "event"), kinds(&frames, "odds")), (2, 2), "{frames:#?}");
    assert_eq!(kinds(&frames, "livedata"), 12);
    let last = frames.iter().rfind(|frame| frame.contains("livedata")).expect("one came");
    let last: Value = serde_json::from_str(last).expect("JSON");
    assert_eq!((&last["minute"], &last["second"]), (&json!(68), &json!(12)), "{last}");

    // The state of a feed that is down is not published as if it were current.
    client.set_source_health(FeedState::Down);
    client.wait(31);
    let frames = client.take();
    assert_eq!(kinds(&frames, "livedata"), 0, "the playing time is unknown");
    let events: Vec<Value> = frames
        .iter()
        .map(|frame| serde_json::from_str(frame).expect("JSON"))
        .filter(|frame: &Value| frame["type"] == "event")
        .collect();
    assert_eq!(events.len(), 2, "at once, and after a while");
    for event in events {
        assert_eq!((&event["feed"], &event["time"]["minute"]), (&json!("down"), &json!(68)));
        assert_eq!(event["time"]["second"], 13, "the clock stands since then");
    }

    client.set_source_health(FeedState::Live);
    client.apply(&[status(FootballStatus::Finished)]);
    client.take();
    client.wait(70);
    assert_eq!(client.take(), [""; 0], "nothing is still to come");
}

#[test]
fn match_without_followers_is_still_rendered_for_a_while() {
    let (mut client, begun) = followed();
    let epoch = begun.channel.epoch;
    drop(begun);
    client.wait(55);
    let begun = client.begin("~football/1", None);
    assert_eq!(begun.channel.epoch, epoch, "who comes back finds its place");
    client.wait(120);
    assert!(!client.take().is_empty());
    drop(begun);
    client.wait(65);
    client.take();
    client.wait(65);
    assert_eq!(client.take(), [""; 0], "there is no follower");
    assert_ne!(
        client.begin("~football/1", None).channel.epoch,
        epoch,
        "what lay between is unknown"
    );
}

#[test]
fn prices_are_sent_once_a_second_but_a_suspension_at_once() {
    use Outcome::{Away, Draw, Home};
    let (mut client, _begun) = followed();
    let market = |status, home: &str| {
        prices("match_winner", None, status, &[(Home, home), (Draw, "6.5"), (Away, "15")])
    };
    client.apply(&market(MarketStatus::Open, "1.20"));
    client.take();
    for cents in 21..30 {
        client.apply(&market(MarketStatus::Open, &format!("1.{cents}"))[1..]);
    }
    assert_eq!(client.take(), [""; 0], "they wait, merged");
    client.wait(2);
    let frames: Vec<String> = client.take().into_iter().filter(|it| it.contains("odds")).collect();
    assert_eq!(frames.len(), 1, "{frames:#?}");
    assert!(frames[0].contains(r#""home":1.29"#), "{}", frames[0]);
    client.apply(&market(MarketStatus::Suspended, "1.29"));
    let frames = client.take();
    assert_eq!(frames.len(), 1, "{frames:#?}");
    let none = r#""match_winner":{"home":null,"draw":null,"away":null}"#;
    assert!(
        frames[0].contains(none) && frames[0].contains(r#""update_reason":"suspended""#),
        "{}",
        frames[0]
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// For any facts: numbers have no gap, and from each position the tail returns the same frames
    /// that were sent live.
    #[test]
    fn resuming_client_gets_identical_frames(all in batches(30), index in any::<prop::sample::Index>()) {
        let mut client = LegacyClient::new();
        client.apply(&[fixture()]);
        let begun = client.begin("~football/1", None);
        for batch in &all {
            client.apply_batch(batch);
            client.now += SECOND / 3;
        }
        let frames = client.take();
        for (number, frame) in (1..).zip(&frames) {
            let frame: Value = serde_json::from_str(frame).expect("a frame is JSON");
            prop_assert_eq!(&frame["seq"], number, "{}", frame);
        }
        if frames.len() < 200 {
            let from = index.index(frames.len() + 1);
            let epoch = Some(begun.channel.epoch);
            let caught_up = client.begin("~football/1", Some(Position { epoch, seq: from as Seq }));
            let again = caught_up.frames[1..].iter();
            let again: Vec<String> = again
                .map(|it| String::from_utf8_lossy(&payload(&it.frame)).into_owned())
                .collect();
            prop_assert_eq!(&again[..], &frames[from..]);
            prop_assert_eq!(caught_up.to, frames.len() as Seq);
        }
    }
}

/// A goal, a shot and a substitution have the ball's position, and a shot belongs to the player
/// that was counted with it.
#[test]
fn actions_are_where_the_ball_is() {
    let mut client = LegacyClient::new();
    client.apply(&[fixture(), status(FootballStatus::SecondHalf), score(0, 0), clock(60 * 60)]);
    let _begun = client.begin("~football/1", None);
    client.take();
    let ball =
        |x, y, side, situation| Fact::Football(FootballFact::Ball(Ball { x, y, side, situation }));
    let counted = |id: u64, shots: u32| {
        let player = team(id, "A. Example");
        let values = vec![(PlayerStat::TotalShots, shots)];
        Fact::Football(FootballFact::PlayerStats { side: Side::First, player, values })
    };
    let happened = |eid: &str, kind: IncidentKind, side: Side| {
        Fact::Football(FootballFact::Incident(Incident {
            player: Some(team(501, "A. Example")),
            ..Incident::new(eid, kind, (61, None), Some(side))
        }))
    };
    let mut action = |facts: &[Fact]| {
        client.apply(facts);
        let frames = client.take();
        let values = frames.iter().map(|it| serde_json::from_str::<Value>(it).expect("JSON"));
        let mut actions = values.filter(|it| it["type"] == "action");
        let action = actions.next().expect("an action");
        assert!(actions.next().is_none(), "{frames:?}");
        [
            action["action_type"].clone(),
            action["x"].clone(),
            action["y"].clone(),
            action["player"]["id"].clone(),
        ]
    };
    let shot = ball(881, 460, Side::First, Situation::ShotOnTarget);
    assert_eq!(
        action(&[shot, counted(501, 1)]),
        [json!("shot"), json!(88.1), json!(46), json!(501)]
    );
    let both =
        [ball(880, 300, Side::First, Situation::ShotOffTarget), counted(501, 2), counted(502, 1)];
    assert_eq!(action(&both)[3], Value::Null, "either may have shot");
    let alone = ball(870, 300, Side::First, Situation::ShotOffTarget);
    assert_eq!(action(&[alone])[3], Value::Null, "no player was counted");
    let goal = IncidentKind::Goal(GoalKind::Regular);
    let scored = [happened("g1", goal, Side::First), ball(1000, 500, Side::First, Situation::Goal)];
    assert_eq!(action(&scored), [json!("goal"), json!(100), json!(50), json!(501)]);
    // From the perspective of the side that changes players, if the other side stopped play.
    let change = [
        ball(300, 800, Side::First, Situation::ThrowIn),
        happened("s1", IncidentKind::Substitution, Side::Second),
    ];
    assert_eq!(action(&change)[..3], [json!("substitution"), json!(70), json!(20)]);
    let elsewhere = happened("g2", goal, Side::Second);
    assert_eq!(action(&[elsewhere])[1], Value::Null, "the ball is not in the goal");
}

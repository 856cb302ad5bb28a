//! What a connection may follow, and what happens to its subscriptions when that changes.

use std::{
    cell::RefCell,
    collections::BTreeSet,
    io::{self, Write},
    rc::Rc,
};

use fanout::{
    ChannelId, Classes, Dialect, Epoch, Micros, Permission, Publication,
    catch_up::{CatchUp, CatchUpFrame, HostRequest, HostResponse, Located, Verdict},
    channel::{Channel, ChannelInfo, Rate},
    encode::text_frame,
    outbox::Budget,
    permission::{Offer, PermissionPeriod},
    protocol::StreamCommand,
    session::Session,
    subscribers::{Effect, SubscriberLimits, Subscribers},
};
use serde_json::{Value, json};

const SPORTS: Classes = Classes(1);
const BOOKS: Classes = Classes(2);
const LIMITS: SubscriberLimits = SubscriberLimits {
    budget: Budget { bytes: 100_000, frame_bytes: 0, age_us: 1_000_000 },
    write_bytes: 100_000,
};

/// The channels of the host: their names and the classes that they need.
const CHANNELS: [(&str, Classes); 4] = [
    ("football/1", Classes::NONE),
    ("football/1/odds/acme", BOOKS),
    ("darts/2", SPORTS),
    ("darts/2/odds/acme", Classes(3)),
];

#[derive(Debug, Default, Clone)]
struct Pipe(Rc<RefCell<Vec<u8>>>);

impl Write for Pipe {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.borrow_mut().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

struct World {
    subscribers: Subscribers<Pipe>,
    pipe: Pipe,
    now: Micros,
    /// The sequence of all channels.
    published: u64,
}

fn channel(name: &str) -> Channel {
    let index =
        CHANNELS.iter().position(|(listed, _)| *listed == name).expect("one of the channels");
    ChannelInfo {
        number: u32::try_from(index).expect("few"),
        name: ChannelId::new(name),
        epoch: Epoch(7),
        deliver_last: false,
        needs: CHANNELS[index].1,
    }
    .into()
}

fn permission(periods: &[(Micros, Classes, &[&'static str])]) -> Permission {
    let offer = |class, name: &str| Offer {
        class,
        title: format!("the {name} add-on ($5 a month)"),
        document: Some(json!({"addon": name})),
    };
    let period = |&(from, classes, names): &(Micros, Classes, &[&'static str])| PermissionPeriod {
        from,
        classes,
        names: names.to_vec(),
    };
    let offers = [offer(SPORTS, "sports"), offer(BOOKS, "odds")];
    Permission::new(periods.iter().map(period).collect(), offers.into())
}

impl World {
    fn new(permission: Permission) -> Self {
        let (mut subscribers, pipe) = (Subscribers::new(LIMITS), Pipe::default());
        let session = Session::speaking(Dialect::Stream, 100).permitted(permission, 1);
        subscribers.admit(session, pipe.clone());
        Self { subscribers, pipe, now: 1, published: 0 }
    }

    /// Carries out a command, responds to its requests and returns the received frames.
    fn send(&mut self, command: &Value) -> Vec<Value> {
        let command = StreamCommand::parse(&command.to_string()).expect("a good command");
        self.subscribers.apply_command(0, command, self.now);
        self.settle()
    }

    fn subscribe(&mut self, name: &str) -> Vec<Value> {
        self.send(&json!({"op": "subscribe", "id": 1, "ch": name}))
    }

    fn permit(&mut self, permission: Permission) -> Vec<Value> {
        let subscriber = self.subscribers.get_mut(0).expect("it is there");
        subscriber.session.set_permission(permission);
        self.subscribers.renew_permission(0, self.now, self.now);
        self.settle()
    }

    fn settle(&mut self) -> Vec<Value> {
        loop {
            self.subscribers.flush(self.now);
            let request =
                self.subscribers.take_effects().into_iter().find_map(|(_, effect)| match effect {
                    Effect::Submit(request) => Some(request),
                    _ => None,
                });
            let Some(request) = request else { return self.received() };
            let response = match request {
                HostRequest::MatchChannels { pattern, .. } => {
                    let channels = CHANNELS.map(|(name, _)| channel(name));
                    let matching = channels.into_iter().filter(|it| pattern.matches(&it.name));
                    HostResponse::Channels(matching.collect())
                }
                HostRequest::Locate { channels } => {
                    let locate = |(name, _): &(ChannelId, _)| {
                        let is_open = CHANNELS.iter().any(|(listed, _)| *listed == name.as_str());
                        is_open.then(|| Located {
                            channel: channel(name.as_str()),
                            head: self.published,
                            verdict: Verdict::Fresh,
                        })
                    };
                    HostResponse::Located(channels.iter().map(locate).collect())
                }
                HostRequest::CatchUp { channel: name, .. } => {
                    let image = json!({"type": "image", "ch": name.as_str()}).to_string();
                    let frame = text_frame(|out| out.extend_from_slice(image.as_bytes()));
                    HostResponse::CatchUp(CatchUp {
                        channel: channel(name.as_str()),
                        head: self.published,
                        verdict: Verdict::Fresh,
                        frames: vec![CatchUpFrame { frame, to: self.published }],
                        to: self.published,
                        lease: None,
                        hash: None,
                    })
                }
                HostRequest::StartGroup { .. } => panic!("a request of another dialect"),
            };
            self.subscribers.apply_response(0, response, self.now);
        }
    }

    /// Publishes on every channel and returns the channels of the received updates.
    fn publish(&mut self, seq: u64) -> Vec<String> {
        for (name, _) in CHANNELS {
            let text = json!({"type": "update", "ch": name}).to_string();
            let frame = text_frame(|out| out.extend_from_slice(text.as_bytes()));
            let publication = Publication::with_frame(channel(name), seq - 1, seq, frame);
            self.subscribers.publish(Rate::Each, publication.into(), self.now);
        }
        self.subscribers.broadcast(self.now);
        self.published = seq;
        let frames = self.received();
        let updates = frames.iter().filter(|frame| frame["type"] == "update");
        updates.map(|frame| frame["ch"].as_str().expect("a name").to_owned()).collect()
    }

    fn received(&mut self) -> Vec<Value> {
        self.subscribers.flush(self.now);
        let bytes = std::mem::take(&mut *self.pipe.0.borrow_mut());
        let (mut rest, mut frames) = (&bytes[..], Vec::new());
        while let [_, length, ..] = rest {
            let (header, length) = match length {
                126 => (4, usize::from(u16::from_be_bytes([rest[2], rest[3]]))),
                short => (2, usize::from(*short)),
            };
            let frame = serde_json::from_slice(&rest[header..header + length]);
            frames.push(frame.expect("a frame is JSON"));
            rest = &rest[header + length..];
        }
        frames
    }
}

fn of_type<'a>(frames: &'a [Value], kind: &str) -> Vec<&'a Value> {
    frames.iter().filter(|frame| frame["type"] == kind).collect()
}

#[test]
fn name_not_permitted_is_refused_with_its_offers() {
    let mut world = World::new(permission(&[(0, Classes::NONE, &[])]));
    assert_eq!(of_type(&world.subscribe("football/1"), "subscribed").len(), 1);
    for (name, offers, words) in [
        ("darts/2", json!([{"addon": "sports"}]), "the sports add-on ($5 a month)"),
        ("football/1/odds/acme", json!([{"addon": "odds"}]), "the odds add-on ($5 a month)"),
        (
            "darts/2/odds/acme",
            json!([{"addon": "sports"}, {"addon": "odds"}]),
            "the sports add-on ($5 a month) and the odds add-on ($5 a month)",
        ),
    ] {
        let expected = json!({
            "type": "error",
            "id": 1,
            "ch": name,
            "code": "not_entitled",
            "message": format!("this channel needs {words}"),
            "addons": offers,
            "retry": false,
        });
        assert_eq!(world.subscribe(name), [expected]);
    }
    assert_eq!(world.publish(1), ["football/1"]);
}

#[test]
fn a_pattern_covers_what_is_permitted_and_counts_the_rest() {
    let mut world = World::new(permission(&[(0, SPORTS, &["sports"])]));
    let frames = world.subscribe("*/*/odds/*");
    let answer = of_type(&frames, "subscribed")[0];
    assert_eq!((&answer["channels"], &answer["not_entitled"]), (&json!(0), &json!(2)));
    let frames = world.subscribe("*/*");
    let answer = of_type(&frames, "subscribed")[0];
    assert_eq!((&answer["channels"], &answer["not_entitled"]), (&json!(2), &Value::Null));
    assert_eq!(world.publish(1), ["football/1", "darts/2"]);
}

#[test]
fn batch_follows_what_is_permitted_and_offers_the_rest() {
    let mut world = World::new(permission(&[(0, SPORTS, &["sports"])]));
    let chs = ["darts/2", "football/1/odds/acme", "*/*", "football/9"];
    let frames = world.send(&json!({"op": "subscribe", "id": 1, "chs": chs}));
    let expected = json!({
        "darts/2": {"epoch": "7", "seq": 0, "resumed": false},
        "football/1/odds/acme": {"error": "not_entitled", "addons": [{"addon": "odds"}]},
        "*/*": {"channels": 2},
        "football/9": {"error": "not_tracked"},
    });
    assert_eq!(of_type(&frames, "subscribed")[0]["chs"], expected);
    assert_eq!(world.publish(1), ["football/1", "darts/2"]);
}

#[test]
fn pattern_follows_a_new_channel_if_permitted() {
    let mut world = World::new(permission(&[(0, Classes::NONE, &[])]));
    world.send(&json!({"op": "subscribe", "id": 1, "ch": "tennis/*"}));
    world.send(&json!({"op": "subscribe", "id": 1, "ch": "*/*/odds/*"}));
    let image = text_frame(|out| out.extend_from_slice(br#"{"type":"image"}"#));
    let image = Publication::with_frame(channel("football/1/odds/acme"), 0, 0, image);
    world.subscribers.channel_opened(&image, 1);
    assert_eq!(world.settle(), [] as [Value; 0]);
    assert!(world.publish(1).is_empty());
}

/// Bought while connected: patterns cover more at once, and names can be subscribed to. Expired while
/// connected: one frame lists the names.
#[test]
fn permission_change_sends_one_frame_to_running_subscriptions() {
    let mut world = World::new(permission(&[(0, Classes::NONE, &["websocket"])]));
    world.subscribe("*/*");
    world.subscribe("*/*/odds/*");
    assert_eq!(world.publish(1), ["football/1"]);

    let all = permission(&[(0, SPORTS.and(BOOKS), &["websocket", "sports", "odds"])]);
    let frames = world.permit(all.clone());
    let expected = json!({
        "type": "entitlement", "addons": ["websocket", "sports", "odds"], "ended": [], "channels": 0
    });
    assert_eq!(of_type(&frames, "entitlement"), [&expected]);
    let images = of_type(&frames, "image").into_iter();
    let images: BTreeSet<_> = images.filter_map(|frame| frame["ch"].as_str()).collect();
    assert_eq!(images, BTreeSet::from(["football/1/odds/acme", "darts/2/odds/acme", "darts/2"]));
    assert_eq!(world.publish(2), CHANNELS.map(|(name, _)| name));
    assert_eq!(world.permit(all), [] as [Value; 0], "the same permission again sends nothing");

    assert_eq!(of_type(&world.subscribe("darts/2"), "subscribed").len(), 1);
    let frames = world.permit(permission(&[(0, BOOKS, &["websocket", "odds"])]));
    let expected = json!({
        "type": "entitlement", "addons": ["websocket", "odds"], "ended": ["darts/2", "darts/2/odds/acme"],
        "channels": 2
    });
    assert_eq!(frames, [expected]);
    assert_eq!(world.publish(3), ["football/1", "football/1/odds/acme"]);
    let refused = world.subscribe("darts/2");
    assert_eq!(refused[0]["code"], "not_entitled", "{refused:?}");
}

#[test]
fn expired_addon_ends_its_channels() {
    let periods: [(Micros, Classes, &[&str]); 2] =
        [(0, BOOKS, &["odds"]), (100, Classes::NONE, &[])];
    let mut world = World::new(permission(&periods));
    world.subscribe("football/1");
    world.subscribe("football/1/odds/acme");
    world.now = 99;
    world.subscribers.renew_permission(0, 99, 99);
    assert_eq!(world.settle(), [] as [Value; 0]);
    assert_eq!(world.publish(1), ["football/1", "football/1/odds/acme"]);
    world.now = 100;
    world.subscribers.renew_permission(0, 100, 100);
    let ended = world.settle();
    assert_eq!(ended[0]["ended"], json!(["football/1/odds/acme"]), "{ended:?}");
    assert_eq!(world.publish(2), ["football/1"]);
}

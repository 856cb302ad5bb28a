//! What a film gives back of what was recorded, after any cut and from any position.

mod faults;

use std::{collections::BTreeMap, fs};

use bytes::Bytes;
use facts::merge_patch;
use fanout::{
    ChannelId, Classes, Epoch, Micros, Seq,
    encode::payload,
    replay::{ReplayChange, ReplayPosition, ReplayRefusal, ReplaySpeed},
};
use proptest::prelude::*;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::{
    Entry, EntryKind, FilmError, FilmQuery, FilmReader, FilmSettings, FilmWriter, Films,
    NextFrames, Player, ReadFrom,
};
use crate::record::{Output, Record};

/// Small blocks, so that a short recording has many.
const SETTINGS: FilmSettings = FilmSettings {
    block_bytes: 600,
    block_age_us: 1_000_000,
    buffered_bytes_max: 2_000,
    key_frame_bytes: 3_000,
    sync_every_us: 5_000_000,
    keep_us: 1_000_000_000_000,
    bytes_max: u64::MAX,
};

const NAMES: [&str; 4] = ["football/1", "football/1/odds", "football/1/odds/acme", "tennis/2"];

/// The hub as a log sees it: channels with documents and numbers.
#[derive(Debug, Default)]
struct World {
    records: Vec<Record>,
    channels: BTreeMap<usize, (Epoch, Seq, Value)>,
    epochs: u32,
    now: Micros,
}

impl World {
    /// Each step is a record: a channel, what to set, and how much time passes.
    fn play(steps: &[(usize, u8, u8)]) -> Self {
        let mut world = Self { now: 1_000_000, ..Self::default() };
        for (channel, value, passed) in steps {
            world.now += Micros::from(*passed) * 10_000;
            let mut outputs = world.change(*channel, *value);
            if value.is_multiple_of(3) {
                outputs.extend(world.change((channel + 1) % NAMES.len(), value / 2));
            }
            let number = world.records.len() as u64 + 1;
            let inputs = Bytes::new();
            world.records.push(Record { number, at: world.now, inputs, outputs });
        }
        world
    }

    fn change(&mut self, number: usize, value: u8) -> Vec<Output> {
        let channel = ChannelId::new(NAMES[number]);
        let now = self.now;
        let Some((epoch, seq, document)) = self.channels.get_mut(&number) else {
            self.epochs += 1;
            let (epoch, document) = (Epoch(self.epochs), json!({"life": "prematch"}));
            let payload = image(&channel, epoch, 0, now, &document);
            self.channels.insert(number, (epoch, 0, document));
            return vec![Output::Opened { channel, epoch, seq: 0, payload }];
        };
        if value == 251 {
            let epoch = *epoch;
            self.channels.remove(&number);
            return vec![Output::Closed { channel, epoch }];
        }
        let key = format!("k{}", value % 5);
        let patch = match value % 4 {
            0 => json!({key: null}),
            1 => json!({key: {"price": format!("{value}.10"), "name": "a \"name\" {with} signs"}}),
            2 => json!({key: {"price": null, "n": value}}),
            _ => json!({key: [value, {"a": null}]}),
        };
        merge_patch(document, &patch);
        let prev = *seq;
        *seq += 1;
        let at = json!({"src": null, "in": now, "pub": now});
        let frame = json!({"type": "update", "ch": channel.as_str(), "seq": *seq, "prev": prev,
            "at": at, "patch": patch});
        vec![Output::Published {
            channel,
            epoch: *epoch,
            prev,
            seq: *seq,
            urgent: value.is_multiple_of(7),
            has_events: value.is_multiple_of(5),
            payload: frame.to_string().into(),
        }]
    }

    /// The entries of the film with this name.
    fn entries(&self, film: &str) -> Vec<Entry> {
        let outputs = self.records.iter().flat_map(|record| {
            record.outputs.iter().map(|output| (record.number, record.at, output))
        });
        let entries = outputs.map(|(number, at, output)| match output.clone() {
            Output::Opened { channel, epoch, seq, payload } => {
                Entry { number, at, channel, epoch, kind: EntryKind::Image { seq, payload } }
            }
            Output::Published { channel, epoch, prev, seq, urgent, has_events, payload } => {
                let kind = EntryKind::Update { prev, seq, urgent, has_events, payload };
                Entry { number, at, channel, epoch, kind }
            }
            Output::Closed { channel, epoch } => {
                Entry { number, at, channel, epoch, kind: EntryKind::Closed }
            }
        });
        entries.filter(|entry| entry.channel.as_str().starts_with(film)).collect()
    }
}

fn image(channel: &ChannelId, epoch: Epoch, seq: Seq, at: Micros, data: &Value) -> Bytes {
    let at = json!({"src": null, "in": at, "pub": at});
    let frame = json!({"type": "image", "ch": channel.as_str(), "epoch": epoch.to_string(),
        "seq": seq, "at": at, "data": data});
    frame.to_string().into()
}

fn steps(max: usize) -> impl Strategy<Value = Vec<(usize, u8, u8)>> {
    prop::collection::vec((0..NAMES.len(), any::<u8>(), 0..60_u8), 1..max)
}

/// Changes of one channel only.
fn single(count: u8) -> Vec<(usize, u8, u8)> {
    (0..count).map(|step| (0, step % 20 * 12 + 1, 5)).collect()
}

fn write(folder: &TempDir, records: &[Record]) -> FilmWriter {
    let mut writer = FilmWriter::open(folder.path(), SETTINGS).expect("a writer");
    records.iter().for_each(|record| writer.record(record).expect("room"));
    writer
}

fn read(films: &Films, name: &str, from: &ReadFrom) -> (Vec<Entry>, Vec<Entry>) {
    let Ok(mut reader) = films.reader(name) else { return (Vec::new(), Vec::new()) };
    let images = reader.seek(from).expect("a position");
    let entries = std::iter::from_fn(|| reader.next_entry().expect("an entry")).collect();
    (images, entries)
}

/// The documents after some entries, by channel.
fn documents(entries: &[Entry]) -> BTreeMap<String, (Epoch, Seq, Value)> {
    let mut documents: BTreeMap<String, (Epoch, Seq, Value)> = BTreeMap::new();
    for entry in entries {
        let name = entry.channel.to_string();
        match &entry.kind {
            EntryKind::Image { seq, payload } => {
                let frame: Value = serde_json::from_slice(payload).expect("JSON");
                documents.insert(name, (entry.epoch, *seq, frame["data"].clone()));
            }
            EntryKind::Update { seq, payload, .. } => {
                let frame: Value = serde_json::from_slice(payload).expect("JSON");
                let (_, last, document) = documents.get_mut(&name).expect("it is open");
                merge_patch(document, &frame["patch"]);
                *last = *seq;
            }
            EntryKind::Closed => drop(documents.remove(&name)),
        }
    }
    documents
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// However a crash cuts the files, and from wherever the log is fed again, the films have the same
    /// entries as without the crash.
    #[test]
    fn film_after_a_crash_is_the_film_without_it(
        steps in steps(120),
        crash_at in 0..120_usize,
        cut in 0..2_000_u64,
        flip in any::<bool>(),
    ) {
        let world = World::play(&steps);
        let crash_at = crash_at.min(world.records.len());
        let folder = tempfile::tempdir().expect("a folder");
        let writer = write(&folder, &world.records[..crash_at]);
        let synced = writer.sync_position();
        let sizes = |films: &Films| -> Vec<_> {
            films.list(FilmQuery::default()).into_iter().map(|it| (it.name.clone(), it.bytes)).collect()
        };
        let films = writer.films().clone();
        drop(writer);
        // A power cut takes what was not synced: anything of the last block at least.
        for (name, bytes) in sizes(&films) {
            let path = films.path(name.as_str());
            let ends = block_ends(&films, name.as_str(), synced);
            let keep = bytes.saturating_sub(cut).max(ends);
            let mut content = fs::read(&path).expect("a film");
            if flip && keep < bytes && let Some(byte) = content.last_mut() {
                *byte ^= 1;
            } else {
                content.truncate(usize::try_from(keep).expect("small"));
            }
            fs::write(&path, content).expect("written");
        }
        let mut writer = FilmWriter::open(folder.path(), SETTINGS).expect("a writer");
        prop_assert_eq!(writer.sync_position(), synced);
        for record in &world.records[usize::try_from(synced).expect("small")..] {
            writer.record(record).expect("room");
        }
        writer.sync().expect("synced");
        prop_assert_eq!(writer.sync_position(), world.records.len() as u64);
        for film in ["football/1", "tennis/2"] {
            let (_, entries) = read(writer.films(), film, &ReadFrom::Start);
            prop_assert_eq!(entries, world.entries(film));
        }
        // A list made from the files is the writer's own.
        let again = Films::open(folder.path()).expect("films");
        prop_assert_eq!(again.list(FilmQuery::default()), writer.films().list(FilmQuery::default()));
    }

    /// From any position, the images and the entries after it lead to the same documents.
    #[test]
    fn seek_gives_the_documents_of_its_position(steps in steps(150), fraction in 0.0..1.0_f64) {
        let world = World::play(&steps);
        let folder = tempfile::tempdir().expect("a folder");
        let mut writer = write(&folder, &world.records);
        writer.sync().expect("synced");
        for film in ["football/1", "tennis/2"] {
            let all = world.entries(film);
            if all.is_empty() {
                continue;
            }
            let chosen = &all[(fraction * all.len() as f64) as usize];
            let at = |from: &ReadFrom, is_before: &dyn Fn(&Entry) -> bool| {
                let split = all.iter().rposition(is_before).map_or(0, |last| last + 1);
                let (images, entries) = read(writer.films(), film, from);
                prop_assert_eq!(documents(&images), documents(&all[..split]), "{:?}", from);
                prop_assert_eq!(entries, &all[split..], "{:?}", from);
                Ok(())
            };
            at(&ReadFrom::At(chosen.at), &|entry| entry.at <= chosen.at)?;
            at(&ReadFrom::Record(chosen.number), &|entry| entry.number <= chosen.number)?;
            if let Some(seq) = chosen.kind.seq() {
                let (channel, epoch) = (chosen.channel.clone(), Some(chosen.epoch));
                let from = ReadFrom::Seq { channel, epoch, seq };
                at(&from, &|entry| entry == chosen)?;
            }
        }
    }
}

/// The end of the last block of a film that has nothing after this record.
fn block_ends(films: &Films, name: &str, synced: u64) -> u64 {
    films.reader(name).expect("a film").end_of(synced)
}

#[test]
fn ended_film_is_known_by_its_summary_and_continues() {
    let mut steps = single(40);
    steps.push((0, 251, 5));
    let world = World::play(&steps);
    let folder = tempfile::tempdir().expect("a folder");
    let mut writer = write(&folder, &world.records);
    writer.sync().expect("synced");
    let film = writer.films().find("football/1").expect("a film");
    assert!(!film.is_running());
    assert_eq!(Films::open(folder.path()).expect("films").find("football/1"), Some(film.clone()));
    // The channel opens again in another epoch.
    let mut continued = World::play(&[steps, vec![(0, 1, 5), (0, 5, 5)]].concat());
    let rest = continued.records.split_off(world.records.len());
    let mut writer = FilmWriter::open(folder.path(), SETTINGS).expect("a writer");
    rest.iter().for_each(|record| writer.record(record).expect("room"));
    writer.sync().expect("synced");
    continued.records.extend(rest);
    let (_, entries) = read(writer.films(), "football/1", &ReadFrom::Start);
    assert_eq!(entries, continued.entries("football/1"));
    let continued = writer.films().find("football/1").expect("a film");
    assert!(continued.is_running() && continued.channels.len() == film.channels.len() + 1);
}

#[test]
fn channel_without_image_is_filmed_from_the_image_that_is_given() {
    let world = World::play(&single(20));
    let folder = tempfile::tempdir().expect("a folder");
    let mut writer = FilmWriter::open(folder.path(), SETTINGS).expect("a writer");
    let (before, after) = world.records.split_at(10);
    let entries = world.entries("football/1");
    let (epoch, seq, document) = &documents(&entries[..10])["football/1"];
    let channel = ChannelId::new("football/1");
    let payload = image(&channel, *epoch, *seq, before[9].at, document);
    writer.record(&after[0]).expect("room");
    assert_eq!(writer.films().find("football/1"), None, "there is nothing to apply it to");
    let at = (before[9].number, before[9].at);
    let mut writer = FilmWriter::open(folder.path(), SETTINGS).expect("a writer");
    writer.image(at, &channel, (*epoch, *seq), payload);
    after.iter().for_each(|record| writer.record(record).expect("room"));
    writer.sync().expect("synced");
    let (_, filmed) = read(writer.films(), "football/1", &ReadFrom::Start);
    assert_eq!(filmed[1..], entries[10..]);
}

#[test]
fn missing_update_closes_the_channel_of_the_film() {
    let world = World::play(&single(10));
    let folder = tempfile::tempdir().expect("a folder");
    let mut writer = write(&folder, &world.records[..5]);
    world.records[6..].iter().for_each(|record| writer.record(record).expect("room"));
    writer.sync().expect("synced");
    let (_, entries) = read(writer.films(), "football/1", &ReadFrom::Start);
    assert_eq!(entries[..5], world.entries("football/1")[..5]);
    assert_eq!(entries[5..].iter().map(|it| &it.kind).collect::<Vec<_>>(), [&EntryKind::Closed]);
}

#[test]
fn old_films_and_too_many_bytes_are_deleted() {
    let steps: Vec<(usize, u8, u8)> = (0..60).map(|step| (step / 30 * 3, 1, 50)).collect();
    let world = World::play(&steps);
    let check = |settings: FilmSettings, expected: &[&str]| {
        let folder = tempfile::tempdir().expect("a folder");
        let mut writer = FilmWriter::open(folder.path(), settings).expect("a writer");
        world.records.iter().for_each(|record| writer.record(record).expect("room"));
        writer.sync().expect("synced");
        let listed = Films::open(folder.path()).expect("films").list(FilmQuery::default());
        let names: Vec<&str> = listed.iter().map(|film| film.name.as_str()).collect();
        assert_eq!(names, expected);
        listed.first().map_or(0, |film| film.bytes)
    };
    let bytes_max = check(SETTINGS, &["tennis/2", "football/1"]);
    check(FilmSettings { keep_us: 10_000_000, ..SETTINGS }, &["tennis/2"]);
    check(FilmSettings { bytes_max, ..SETTINGS }, &["tennis/2"]);
    check(FilmSettings { bytes_max: 10, ..SETTINGS }, &[]);
}

// ------------------------------------------------------------------------------------ playing

fn player(films: &Films, names: &[&str], from: &ReplayPosition, speed: ReplaySpeed) -> Player {
    let channels: Vec<ChannelId> = names.iter().map(|name| ChannelId::new(*name)).collect();
    let needs = |_: &ChannelId| Classes::NONE;
    Player::open(films, (&channels, Classes::ALL), needs, (7, from, speed), 0).expect("a player")
}

fn texts(player: &mut Player, room: usize, now: Micros) -> (Vec<String>, NextFrames) {
    let taken = player.take((room, 0), now).expect("a film");
    let texts =
        taken.frames.iter().map(|it| String::from_utf8(payload(&it.frame).to_vec()).expect("text"));
    (texts.collect(), taken.next)
}

fn as_replayed(entry: &Entry) -> String {
    let (EntryKind::Image { payload, .. } | EntryKind::Update { payload, .. }) = &entry.kind else {
        return format!(
            r#"{{"type":"unsubscribed","ch":"{}","why":"gone","replay":"r7"}}"#,
            entry.channel
        );
    };
    let text = str::from_utf8(payload).expect("text");
    format!(r#"{},"replay":"r7"}}"#, text.strip_suffix('}').expect("an object"))
}

fn recorded(steps: usize) -> (World, TempDir, Films) {
    let steps = (0..steps).map(|step| (step % 4, u8::try_from(step % 250).expect("small"), 10));
    let world = World::play(&steps.collect::<Vec<_>>());
    let folder = tempfile::tempdir().expect("a folder");
    let mut writer = write(&folder, &world.records);
    writer.sync().expect("synced");
    let films = writer.films().clone();
    (world, folder, films)
}

#[test]
fn frames_are_those_that_were_published_with_the_name_of_the_replay() {
    let (world, _folder, films) = recorded(200);
    let start = ReplayPosition::Start;
    let mut player = player(&films, &NAMES, &start, ReplaySpeed::Unlimited);
    let mut frames = Vec::new();
    loop {
        let (more, next) = texts(&mut player, 1_000, 0);
        assert!(more.iter().map(String::len).sum::<usize>() < 1_500, "there was room for 1000");
        frames.extend(more);
        match next {
            NextFrames::Ready => {}
            NextFrames::End => break,
            next => panic!("{next:?}"),
        }
    }
    let mut expected = world.entries("");
    // Outputs of one record go film by film.
    expected.sort_by_key(|entry| (entry.number, entry.channel.as_str().starts_with("tennis")));
    let expected: Vec<String> = expected.iter().map(as_replayed).collect();
    assert_eq!(frames, expected);
}

#[test]
fn clock_runs_at_its_speed_and_stands_when_paused() {
    let (world, _folder, films) = recorded(100);
    let all = world.entries("football/1");
    let first = all[0].at;
    let names = &NAMES[..3];
    let due = |passed: Micros| all.iter().filter(|it| it.at <= first + passed).count();
    let start = ReplayPosition::Start;
    let mut player = player(&films, names, &start, ReplaySpeed::Thousandths(2_000));
    let (mut seen, (frames, next)) = (0, texts(&mut player, usize::MAX, 0));
    seen += frames.len();
    assert_eq!(seen, due(0));
    assert!(matches!(next, NextFrames::At(at) if at > 0));
    seen += texts(&mut player, usize::MAX, 500_000).0.len();
    assert_eq!(seen, due(1_000_000));
    let pause = |pause| ReplayChange { pause: Some(pause), ..ReplayChange::default() };
    player.change(&pause(true), 600_000).expect("paused");
    assert_eq!(player.state(5_000_000).at, first + 1_200_000);
    assert_eq!(texts(&mut player, usize::MAX, 60_000_000), (Vec::new(), NextFrames::Paused));
    player.change(&pause(false), 60_000_000).expect("continued");
    let slower = ReplaySpeed::Thousandths(100);
    let slower = ReplayChange { speed: Some(slower), ..ReplayChange::default() };
    player.change(&slower, 60_100_000).expect("slower");
    seen += texts(&mut player, usize::MAX, 61_100_000).0.len();
    assert_eq!(seen, due(1_200_000 + 200_000 + 100_000));
}

#[test]
fn seek_shows_the_images_of_all_films_at_one_moment() {
    let (world, _folder, films) = recorded(200);
    let all = world.entries("");
    let start = ReplayPosition::Start;
    let mut player = player(&films, &NAMES, &start, ReplaySpeed::Unlimited);
    texts(&mut player, 3_000, 0);
    let is_chosen = |entry: &&Entry| entry.channel.as_str() == "tennis/2";
    let chosen = all.iter().filter(is_chosen).nth(20).expect("long enough");
    let seq = chosen.kind.seq().expect("it is open");
    let channel = Some(ChannelId::new("tennis/2"));
    let seek = |seek| ReplayChange { seek: Some(seek), ..ReplayChange::default() };
    let ambiguous = ReplayPosition::Seq { channel: None, epoch: None, seq };
    let refused = player.change(&seek(ambiguous), 0);
    assert_eq!(refused, Err(ReplayRefusal::AmbiguousSeq));
    for position in
        [ReplayPosition::Seq { channel, epoch: None, seq }, ReplayPosition::At(chosen.at)]
    {
        player.change(&seek(position), 0).expect("a position");
        assert_eq!(player.state(0).at, chosen.at);
        let (frames, _) = texts(&mut player, usize::MAX, 0);
        let frames: Vec<Value> =
            frames.iter().map(|text| serde_json::from_str(text).expect("JSON")).collect();
        let before: Vec<Entry> =
            all.iter().filter(|it| it.number <= chosen.number).cloned().collect();
        let expected = documents(&before);
        for image in &frames[..expected.len()] {
            assert_eq!((&image["type"], &image["replay"]), (&json!("image"), &json!("r7")));
            let (epoch, seq, document) = &expected[image["ch"].as_str().expect("a name")];
            assert_eq!(image["data"], *document);
            assert_eq!((&image["epoch"], &image["seq"]), (&json!(epoch.to_string()), &json!(seq)));
        }
        let rest = all.iter().filter(|it| it.number > chosen.number).count();
        assert_eq!(frames.len(), expected.len() + rest);
    }
}

#[test]
fn film_that_grows_is_played_as_far_as_it_goes() {
    let world = World::play(&single(60));
    let folder = tempfile::tempdir().expect("a folder");
    let mut writer = write(&folder, &world.records[..30]);
    writer.sync().expect("synced");
    let films = writer.films().clone();
    let start = ReplayPosition::Start;
    let mut player = player(&films, &["football/1"], &start, ReplaySpeed::Unlimited);
    let (first, _) = texts(&mut player, 1, 0);
    world.records[30..].iter().for_each(|record| writer.record(record).expect("room"));
    writer.sync().expect("synced");
    let (rest, next) = texts(&mut player, usize::MAX, 0);
    assert_eq!((first.len() + rest.len(), next), (60, NextFrames::End));
}

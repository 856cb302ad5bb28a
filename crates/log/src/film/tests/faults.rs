//! Gaps, damage and deleted files: one film that fails is the only one that is affected.

use super::*;

const FOOTBALL: usize = 0;
const TENNIS: usize = 3;

/// Changes of a football and a tennis channel in turn.
fn two_films(count: u8) -> World {
    let steps = (0..count).map(|step| {
        let channel = if step % 2 == 0 { FOOTBALL } else { TENNIS };
        // No value that closes a channel or changes another.
        (channel, step % 20 * 12 + 1, 10)
    });
    World::play(&steps.collect::<Vec<_>>())
}

fn feed(writer: &mut FilmWriter, records: &[Record]) {
    records.iter().for_each(|record| writer.record(record).expect("all films are written"));
}

fn start_of(writer: &FilmWriter, name: &str) -> Vec<Entry> {
    read(writer.films(), name, &ReadFrom::Start).1
}

/// Gives the writer the images of the channels that it lacks, as a follower's hub does. Returns the matches.
fn give_images(writer: &mut FilmWriter, world: &World, number: u64) -> Vec<String> {
    let lacking = writer.take_lacking();
    let record = &world.records[usize::try_from(number).expect("small") - 1];
    for film in &lacking {
        let mut before = world.entries(film.as_str());
        before.retain(|entry| entry.number <= number);
        for (name, (epoch, seq, document)) in documents(&before) {
            let channel = ChannelId::new(name);
            let payload = image(&channel, epoch, seq, record.at, &document);
            writer.image((number, record.at), &channel, (epoch, seq), payload);
        }
    }
    lacking.iter().map(ToString::to_string).collect()
}

#[test]
fn film_continues_with_an_image_after_a_missing_record() {
    let world = World::play(&single(30));
    let folder = tempfile::tempdir().expect("a folder");
    let mut writer = write(&folder, &world.records[..10]);
    assert!(writer.take_lacking().is_empty());
    feed(&mut writer, &world.records[15..16]);
    assert_eq!(give_images(&mut writer, &world, 16), ["football/1"]);
    feed(&mut writer, &world.records[16..]);
    assert!(writer.take_lacking().is_empty());
    writer.sync().expect("synced");
    let (all, filmed) = (world.entries("football/1"), start_of(&writer, "football/1"));
    assert_eq!(filmed[..10], all[..10]);
    assert_eq!(filmed[10].kind, EntryKind::Closed);
    assert!(matches!(filmed[11].kind, EntryKind::Image { seq: 15, .. }), "{:?}", filmed[11]);
    assert_eq!(filmed[12..], all[16..]);
}

#[test]
fn film_begins_again_after_it_has_expired() {
    let world = World::play(&single(30));
    let folder = tempfile::tempdir().expect("a folder");
    let settings = FilmSettings { keep_us: 0, sync_every_us: 1, ..SETTINGS };
    let mut writer = FilmWriter::open(folder.path(), settings).expect("a writer");
    feed(&mut writer, &world.records[..10]);
    // The film ends with this record, so it is too old at the next one, although its channel is open.
    let mut later = world.records[10].clone();
    later.outputs.clear();
    later.at += 1_000_000;
    feed(&mut writer, &[later]);
    assert_eq!(writer.films().find("football/1"), None);
    feed(&mut writer, &world.records[11..12]);
    assert_eq!(give_images(&mut writer, &world, 12), ["football/1"]);
    let mut later = world.records[12].clone();
    later.at += 1_000_000;
    feed(&mut writer, &[later]);
    let filmed = start_of(&writer, "football/1");
    assert!(matches!(filmed[0].kind, EntryKind::Image { seq: 11, .. }), "{filmed:?}");
    assert_eq!(filmed[1].kind, world.entries("football/1")[12].kind);
}

#[test]
fn film_that_cannot_be_written_is_tried_again_and_stops_no_other() {
    let world = two_films(120);
    let folder = tempfile::tempdir().expect("a folder");
    let settings = FilmSettings { buffered_bytes_max: usize::MAX, ..SETTINGS };
    let mut writer = FilmWriter::open(folder.path(), settings).expect("a writer");
    // There can be no folder with this name.
    let blocked = folder.path().join("football");
    fs::write(&blocked, "").expect("written");
    let failed = world.records[..60].iter().filter(|record| writer.record(record).is_err());
    assert_eq!(failed.count(), 1, "a failure is reported once");
    assert!(
        writer.films().find("tennis/2").is_some() && writer.films().find("football/1").is_none()
    );
    assert!(writer.sync().is_err());
    assert!(writer.sync_position() < 60, "what is only in memory is fed again after a restart");
    fs::remove_file(&blocked).expect("removed");
    feed(&mut writer, &world.records[60..]);
    writer.sync().expect("synced");
    for film in ["football/1", "tennis/2"] {
        assert_eq!(start_of(&writer, film), world.entries(film));
    }
    assert_eq!(writer.sync_position(), 120);
}

#[test]
fn film_without_room_in_memory_closes_its_channels_and_begins_again() {
    let world = two_films(250);
    let folder = tempfile::tempdir().expect("a folder");
    let settings = FilmSettings { buffered_bytes_max: 1_500, ..SETTINGS };
    let mut writer = FilmWriter::open(folder.path(), settings).expect("a writer");
    feed(&mut writer, &world.records[..40]);
    writer.sync().expect("synced");
    let (blocked, moved) = (folder.path().join("football"), folder.path().join("moved"));
    fs::rename(&blocked, &moved).expect("moved");
    fs::write(&blocked, "").expect("written");
    for record in &world.records[40..120] {
        writer.record(record).ok();
    }
    assert_eq!(writer.take_lacking(), []);
    fs::remove_file(&blocked).expect("removed");
    fs::rename(&moved, &blocked).expect("moved");
    let mut lacking = Vec::new();
    for record in &world.records[120..] {
        writer.record(record).expect("written");
        lacking.extend(give_images(&mut writer, &world, record.number));
    }
    assert_eq!(lacking, ["football/1"]);
    writer.sync().expect("synced");
    assert_eq!(start_of(&writer, "tennis/2"), world.entries("tennis/2"));
    let (all, filmed) = (world.entries("football/1"), start_of(&writer, "football/1"));
    let gap = filmed.iter().position(|it| it.kind == EntryKind::Closed).expect("a gap");
    assert_eq!(filmed[..gap], all[..gap]);
    let EntryKind::Image { seq, .. } = filmed[gap + 1].kind else {
        panic!("{:?}", filmed[gap + 1])
    };
    let next = usize::try_from(seq).expect("small") + 1;
    assert_eq!(filmed[gap + 2..], all[next..]);
    assert!(all.len() - next > 10, "it has continued");
}

#[test]
fn deleted_file_begins_again_and_ends_its_readers() {
    let world = two_films(80);
    let folder = tempfile::tempdir().expect("a folder");
    let mut writer = write(&folder, &world.records[..40]);
    writer.sync().expect("synced");
    let films = writer.films().clone();
    let mut reader = films.reader("football/1").expect("a film");
    fs::remove_file(films.path("football/1")).expect("deleted");
    for record in &world.records[40..] {
        writer.record(record).expect("written");
        give_images(&mut writer, &world, record.number);
    }
    writer.sync().expect("synced");
    assert!(reader.is_deleted());
    assert!(matches!(reader.refresh(), Err(FilmError::Deleted { .. })));
    assert_eq!(start_of(&writer, "tennis/2"), world.entries("tennis/2"));
    let (all, filmed) = (world.entries("football/1"), start_of(&writer, "football/1"));
    let EntryKind::Image { seq, .. } = filmed[0].kind else { panic!("{:?}", filmed[0]) };
    assert_eq!(filmed[1..], all[usize::try_from(seq).expect("small") + 1..]);
}

/// The offsets of the blocks of a film.
fn blocks(films: &Films, name: &str) -> Vec<u64> {
    films.reader(name).expect("a film").offsets()
}

fn flip(path: &std::path::Path, at: u64) {
    let mut content = fs::read(path).expect("a film");
    content[usize::try_from(at).expect("small")] ^= 1;
    fs::write(path, content).expect("written");
}

#[test]
fn blocks_after_the_synced_position_are_verified_at_a_start() {
    let world = World::play(&single(60));
    let folder = tempfile::tempdir().expect("a folder");
    let settings = FilmSettings { sync_every_us: Micros::MAX / 2, ..SETTINGS };
    let mut writer = FilmWriter::open(folder.path(), settings).expect("a writer");
    feed(&mut writer, &world.records);
    let films = writer.films().clone();
    drop(writer);
    let offsets = blocks(&films, "football/1");
    assert!(offsets.len() > 4);
    let path = films.path("football/1");
    let length = fs::metadata(&path).expect("a film").len();
    // A byte of the body of the third block from the end.
    flip(&path, offsets[offsets.len() - 2] - 1);
    let mut writer = FilmWriter::open(folder.path(), SETTINGS).expect("a writer");
    let cut = fs::metadata(&path).expect("a film").len();
    assert_eq!(cut, offsets[offsets.len() - 3]);
    let aside = fs::metadata(path.with_extension("damaged")).expect("what was cut is kept");
    assert_eq!(aside.len(), length - cut);
    feed(&mut writer, &world.records);
    writer.sync().expect("synced");
    assert_eq!(start_of(&writer, "football/1"), world.entries("football/1"));
}

#[test]
fn damaged_header_is_not_taken_for_a_block_that_is_being_written() {
    let world = World::play(&single(60));
    let folder = tempfile::tempdir().expect("a folder");
    let mut writer = write(&folder, &world.records);
    writer.sync().expect("synced");
    let films = writer.films().clone();
    let offsets = blocks(&films, "football/1");
    drop(writer);
    let path = films.path("football/1");
    // The magic, a length, and the header itself.
    for byte in [0, 8, 24] {
        let whole = fs::read(&path).expect("a film");
        flip(&path, offsets[3] + byte);
        let mut reader = FilmReader::open(&path).expect("its beginning is intact");
        let mut count = 0;
        let damaged = loop {
            match reader.next_entry() {
                Ok(Some(_)) => count += 1,
                Ok(None) => panic!("it looks complete after {count} entries"),
                Err(error) => break error,
            }
        };
        assert!(matches!(damaged, FilmError::Damaged { offset, .. } if offset == offsets[3]));
        assert!(count > 0);
        fs::write(&path, whole).expect("written");
    }
    // Half a block at the end may be one that is being written.
    let whole = fs::read(&path).expect("a film");
    let half = usize::try_from(offsets[offsets.len() - 1]).expect("small") + 30;
    fs::write(&path, &whole[..half]).expect("written");
    let mut reader = FilmReader::open(&path).expect("a film");
    while reader.next_entry().expect("an entry").is_some() {}
    fs::write(&path, &whole).expect("written");
    assert!(reader.refresh().is_ok());
}

#[test]
fn unreadable_film_is_the_only_one_that_is_not_played() {
    let (world, _folder, films) = recorded(100);
    fs::write(films.path("tennis/2"), "no film").expect("written");
    let start = ReplayPosition::Start;
    let mut player = player(&films, &["tennis/2", "football/1"], &start, ReplaySpeed::Unlimited);
    let state = player.state(0);
    let is_played: Vec<bool> = state.channels.iter().map(|it| it.is_played()).collect();
    assert_eq!(is_played, [false, true]);
    let frames = texts(&mut player, usize::MAX, 0).0;
    assert_eq!(frames.len(), filmed_of(&world, "football/1"));
}

fn filmed_of(world: &World, channel: &str) -> usize {
    world.entries("football/1").iter().filter(|entry| entry.channel.as_str() == channel).count()
}

#[test]
fn seek_that_fails_changes_nothing() {
    let (_world, _folder, films) = recorded(200);
    let (start, names) = (ReplayPosition::Start, ["football/1", "tennis/2"]);
    let mut sought = player(&films, &names, &start, ReplaySpeed::Unlimited);
    let mut other = player(&films, &names, &start, ReplaySpeed::Unlimited);
    let first = texts(&mut sought, 1_000, 0);
    assert_eq!(texts(&mut other, 1_000, 0), first);
    let (path, end) = (films.path("tennis/2"), films.reader("tennis/2").expect("a film").end());
    // The file itself changes, as a bad sector does.
    let whole = fs::read(&path).expect("a film");
    flip(&path, end - 1);
    let seek = |position| ReplayChange { seek: Some(position), ..ReplayChange::default() };
    let refused = sought.change(&seek(ReplayPosition::At(Micros::MAX / 2)), 0);
    assert!(matches!(refused, Err(ReplayRefusal::Limit(_))), "{refused:?}");
    fs::write(&path, whole).expect("written");
    assert_eq!(sought.state(0), other.state(0));
    assert_eq!(texts(&mut sought, usize::MAX, 0), texts(&mut other, usize::MAX, 0));
}

#[test]
fn replay_from_the_start_begins_with_the_first_frame_of_its_channel() {
    // One channel begins after far more frames of another than are skipped at a time.
    let mut records = World::play(&[(0, 1, 0)]).records;
    let (name, epoch) = (ChannelId::new(NAMES[0]), Epoch(1));
    let count = 45_000;
    for seq in 1..=count {
        let payload = Bytes::from_static(br#"{"patch":{}}"#);
        let update = Output::Published {
            channel: name.clone(),
            epoch,
            prev: seq - 1,
            seq,
            urgent: false,
            has_events: false,
            payload,
        };
        let at = 1_000_000 + Micros::try_from(seq).expect("small") * 10_000;
        records.push(Record { number: seq + 1, at, inputs: Bytes::new(), outputs: vec![update] });
    }
    let book = ChannelId::new(NAMES[2]);
    let last = records.last_mut().expect("records");
    let (payload, begin) = (image(&book, epoch, 0, last.at, &json!({})), last.at);
    last.outputs.push(Output::Opened { channel: book, epoch, seq: 0, payload });
    let folder = tempfile::tempdir().expect("a folder");
    // All of it in one block, which therefore must be read.
    let big = FilmSettings { block_bytes: usize::MAX, block_age_us: Micros::MAX / 4, ..SETTINGS };
    let big =
        FilmSettings { buffered_bytes_max: usize::MAX, sync_every_us: Micros::MAX / 4, ..big };
    let mut writer = FilmWriter::open(folder.path(), big).expect("a writer");
    feed(&mut writer, &records);
    writer.sync().expect("synced");
    let start = ReplayPosition::Start;
    let speed = ReplaySpeed::RECORDED;
    let mut player = player(writer.films(), &[NAMES[2]], &start, speed);
    let mut turns = 0;
    let frames = loop {
        let (frames, next) = texts(&mut player, usize::MAX, 0);
        turns += 1;
        match next {
            NextFrames::Ready => assert!(frames.is_empty() && turns < 10),
            NextFrames::End => break frames,
            next => panic!("{next:?}"),
        }
    };
    assert!(turns > 1, "others get their turn");
    assert_eq!((frames.len(), player.state(0).at), (1, begin));
}

#[test]
fn seek_to_the_start_shows_images_also_during_a_pause() {
    let (world, _folder, films) = recorded(100);
    let first = &world.entries("football/1")[0];
    let start = ReplayPosition::Start;
    let mut player = player(&films, &["football/1"], &start, ReplaySpeed::RECORDED);
    texts(&mut player, usize::MAX, 500_000);
    for seek in [start, ReplayPosition::At(5)] {
        let change =
            ReplayChange { pause: Some(true), seek: Some(seek), ..ReplayChange::default() };
        player.change(&change, 500_000).expect("a position");
        let state = player.state(500_000);
        assert_eq!(state.at, first.at);
        let frames = texts(&mut player, usize::MAX, 500_000);
        assert_eq!(frames, (vec![as_replayed(first)], NextFrames::Paused));
    }
}

#[test]
fn expired_film_ends_its_replay() {
    let (_world, _folder, films) = recorded(50);
    let start = ReplayPosition::Start;
    let player = player(&films, &["football/1"], &start, ReplaySpeed::RECORDED);
    assert!(!player.is_deleted());
    films.expire(Micros::MAX, 0);
    assert!(player.is_deleted());
}

#[test]
fn position_waits_for_a_film_that_cannot_be_synced() {
    let folder = TempDir::new().expect("a folder");
    // By the third step the first film is written, and not synced yet.
    let steps = [(FOOTBALL, 1, 1), (FOOTBALL, 1, 1), (TENNIS, 1, 200), (TENNIS, 1, 1)];
    let world = World::play(&steps);
    let mut writer = FilmWriter::open(folder.path(), SETTINGS).expect("an empty folder");
    feed(&mut writer, &world.records);
    let before = writer.sync_position();
    let path = writer.films().path("football/1");
    let away = path.with_extension("away");
    fs::rename(&path, &away).expect("it was written");
    std::os::unix::fs::symlink(&path, &path).expect("a link to itself");
    assert!(matches!(writer.sync(), Err(FilmError::Storage { .. })), "it is reported");
    assert_eq!(writer.sync_position(), before, "the film is not known to be on disk");
    fs::remove_file(&path).expect("the link");
    fs::rename(&away, &path).expect("it is back");
    writer.sync().expect("it can be synced");
    assert_eq!(writer.sync_position(), 4);
}

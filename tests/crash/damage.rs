//! What is done to a log while its hub is down: the states in which a process that is killed can leave it,
//! and damages of the disk.

use std::{
    fs::{self, OpenOptions},
    io::Write,
    path::{Path, PathBuf},
};

use crate::{observer::files, rng::Rng};

/// A write that was not finished. Nothing may be lost, and no epoch may change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum UnfinishedWrite {
    /// The beginning of a record.
    PartOfRecord,
    /// A new segment without a byte.
    EmptySegment,
    /// A new segment with a part of its header.
    PartOfHeader,
    /// A new segment without a record.
    SegmentWithoutRecord,
    /// The last records were written, and the head was not.
    OlderHead,
    /// The beginning of a snapshot.
    PartOfSnapshot,
}

/// A damage of the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Damage {
    /// The last bytes of the records are missing.
    Cut,
    /// A byte of the records is another one.
    Byte,
    /// A byte of the newest segment's header is another one.
    SegmentHeader,
    /// The file that says where the log ends is missing.
    NoHead,
    /// A byte of that file is another one.
    Head,
    /// A byte of the newest snapshot is another one.
    Snapshot,
    /// A byte of a segment that is older than the newest snapshot is another one.
    OlderSegment,
}

/// What was done, and how to undo it.
pub(crate) struct AppliedDamage {
    pub(crate) what: String,
    pub(crate) repair: Option<Repair>,
}

/// A file as it was. A segment that only a start without a head reads stays damaged for one start: another
/// damage would cut the log there.
pub(crate) struct Repair {
    path: PathBuf,
    bytes: Vec<u8>,
}

impl Repair {
    /// Writes the file as it was, unless the hub has changed it.
    pub(crate) fn apply(self) {
        let length = fs::metadata(&self.path).map(|file| file.len());
        if length.is_ok_and(|length| length == self.bytes.len() as u64) {
            fs::write(self.path, self.bytes).expect("the file of before");
        }
    }
}

/// The bytes of a segment before its records.
const SEGMENT_HEADER_BYTES: usize = 52;

impl UnfinishedWrite {
    pub(crate) const ALL: [Self; 6] = [
        Self::PartOfRecord,
        Self::EmptySegment,
        Self::PartOfHeader,
        Self::SegmentWithoutRecord,
        Self::OlderHead,
        Self::PartOfSnapshot,
    ];

    /// Leaves the log in this state. Returns what was done, or `None` if the log is not fit for it.
    /// `older_head`: the head shortly before the hub was killed.
    pub(crate) fn apply(
        self,
        log: &Path,
        older_head: Option<&[u8]>,
        rng: &mut Rng,
    ) -> Option<String> {
        match self {
            Self::PartOfRecord => {
                let (name, path) = newest(log, "segment-")?;
                let bytes = fs::read(&path).ok()?;
                let frame = first_frame(&bytes)?;
                let length = 1 + rng.index(frame.len() - 1);
                append(&path, &frame[..length])?;
                Some(format!("{length} bytes of a record of {} behind {name}", frame.len()))
            }
            Self::EmptySegment => new_segment(log, 0),
            Self::PartOfHeader => new_segment(log, 1 + rng.index(SEGMENT_HEADER_BYTES - 1)),
            Self::SegmentWithoutRecord => new_segment(log, SEGMENT_HEADER_BYTES),
            Self::OlderHead => {
                let (older, head) = (Head::parse(older_head?)?, Head::read(log)?);
                let (from, to) = (older.number, head.number);
                (0 < from && from < to).then_some(())?;
                fs::write(log.join("head"), older_head?).ok()?;
                Some(format!("the head at {from} in place of {to}"))
            }
            Self::PartOfSnapshot => {
                let (name, path) = newest(log, "snapshot-")?;
                let bytes = fs::read(path).ok()?;
                let length = rng.index(bytes.len());
                fs::write(log.join("snapshot.unfinished"), &bytes[..length]).ok()?;
                Some(format!("{length} bytes of a snapshot such as {name}"))
            }
        }
    }
}

impl Damage {
    pub(crate) const ALL: [Self; 7] = [
        Self::Cut,
        Self::Byte,
        Self::SegmentHeader,
        Self::NoHead,
        Self::Head,
        Self::Snapshot,
        Self::OlderSegment,
    ];

    /// Whether the hub cannot know that it has all records, so that epochs must change. If not, its state
    /// must be the same, and only tails may be shorter.
    pub(crate) fn loses_records(self) -> bool {
        !matches!(self, Self::Snapshot | Self::OlderSegment)
    }

    /// Damages the log, or returns `None` if the log is not fit for it.
    pub(crate) fn apply(self, log: &Path, rng: &mut Rng) -> Option<AppliedDamage> {
        if self == Self::OlderSegment {
            let path = older_segment(log)?;
            let bytes = fs::read(&path).ok()?;
            let what = change_byte(&path, SEGMENT_HEADER_BYTES, rng)?;
            return Some(AppliedDamage { what, repair: Some(Repair { path, bytes }) });
        }
        let what = self.damage_newest(log, rng)?;
        Some(AppliedDamage { what, repair: None })
    }

    fn damage_newest(self, log: &Path, rng: &mut Rng) -> Option<String> {
        match self {
            Self::NoHead => {
                fs::remove_file(log.join("head")).ok()?;
                Some("the head removed".to_owned())
            }
            Self::Head => change_byte(&log.join("head"), 0, rng),
            Self::Cut => {
                let (name, path) = newest(log, "segment-")?;
                let length = fs::metadata(&path).ok()?.len();
                // Past the header of the file.
                let rest = length.checked_sub(1_000)?;
                let cut = 1 + rng.below(rest.min(5_000));
                let file = OpenOptions::new().write(true).open(path).ok()?;
                file.set_len(length - cut).ok()?;
                Some(format!("{cut} bytes cut from {name}"))
            }
            Self::Byte => {
                let (_, path) = newest(log, "segment-")?;
                (fs::metadata(&path).ok()?.len() > 1_000).then_some(())?;
                change_byte(&path, SEGMENT_HEADER_BYTES, rng)
            }
            Self::SegmentHeader => {
                let (name, path) = newest(log, "segment-")?;
                let mut bytes = fs::read(&path).ok()?;
                (bytes.len() > SEGMENT_HEADER_BYTES).then_some(())?;
                let offset = rng.index(SEGMENT_HEADER_BYTES);
                bytes[offset] ^= 1 << rng.below(8);
                fs::write(path, bytes).ok()?;
                Some(format!("byte {offset} of the header changed in {name}"))
            }
            Self::Snapshot => {
                let all = named(log, "snapshot-");
                let [.., _, (_, newest)] = &all[..] else { return None };
                change_byte(newest, 0, rng)
            }
            Self::OlderSegment => None,
        }
    }
}

/// The last segment that a start with a head and the snapshots of before does not need.
fn older_segment(log: &Path) -> Option<PathBuf> {
    // The hub may have to start from the oldest snapshot.
    let (snapshot, _) = named(log, "snapshot-").into_iter().next()?;
    let snapshot = number(&snapshot)?;
    let mut segments = named(log, "segment-");
    // The last ones are copied again at the next end of the hub.
    segments.truncate(segments.len().saturating_sub(4));
    let mut older = segments
        .windows(2)
        .filter(|pair| number(&pair[1].0).is_some_and(|first| first <= snapshot));
    Some(older.next_back()?[0].1.clone())
}

/// What the head of a log says.
struct Head {
    number: u64,
    /// Chain and time of the last record.
    position: [u8; 24],
    segment: u64,
    offset: u64,
}

impl Head {
    fn read(log: &Path) -> Option<Self> {
        Self::parse(&fs::read(log.join("head")).ok()?)
    }

    fn parse(bytes: &[u8]) -> Option<Self> {
        let word = |at: usize| Some(u64::from_le_bytes(bytes.get(at..at + 8)?.try_into().ok()?));
        Some(Self {
            number: word(12)?,
            position: bytes.get(20..44)?.try_into().ok()?,
            segment: word(44)?,
            offset: word(52)?,
        })
    }
}

/// The next segment with so many bytes of its header.
fn new_segment(log: &Path, length: usize) -> Option<String> {
    let head = Head::read(log)?;
    let current = log.join(format!("segment-{:020}.log", head.segment));
    // Otherwise the log has records that its head does not know.
    (fs::metadata(current).ok()?.len() == head.offset).then_some(())?;
    let first = head.number + 1;
    let mut bytes = b"mwlog\n\x01\x00".to_vec();
    bytes.extend(first.to_le_bytes());
    bytes.extend(head.number.to_le_bytes());
    bytes.extend(head.position);
    bytes.extend(crc32(&bytes).to_le_bytes());
    assert_eq!(bytes.len(), SEGMENT_HEADER_BYTES);
    let name = format!("segment-{first:020}.log");
    let path = log.join(&name);
    (!path.exists()).then_some(())?;
    fs::write(path, &bytes[..length]).ok()?;
    Some(format!("{name} with {length} bytes"))
}

/// The first record of a segment, with its length before it.
fn first_frame(segment: &[u8]) -> Option<&[u8]> {
    let rest = segment.get(SEGMENT_HEADER_BYTES..)?;
    let body = u32::from_le_bytes(rest.get(..4)?.try_into().ok()?);
    rest.get(..8 + usize::try_from(body).ok()?)
}

/// CRC-32 of IEEE 802.3, which closes the header of a segment.
fn crc32(bytes: &[u8]) -> u32 {
    let step = |crc: u32| if crc & 1 == 1 { crc >> 1 ^ 0xedb8_8320 } else { crc >> 1 };
    !bytes
        .iter()
        .fold(u32::MAX, |crc, &byte| (0..8).fold(crc ^ u32::from(byte), |crc, _| step(crc)))
}

/// Changes one bit behind the first bytes of a file.
fn change_byte(path: &Path, from: usize, rng: &mut Rng) -> Option<String> {
    let mut bytes = fs::read(path).ok()?;
    let offset = from + rng.index(bytes.len().checked_sub(from + 1)?);
    bytes[offset] ^= 1 << rng.below(8);
    let (length, name) = (bytes.len(), path.file_name()?.to_string_lossy().into_owned());
    fs::write(path, bytes).ok()?;
    Some(format!("byte {offset} of {length} changed in {name}"))
}

fn append(path: &Path, bytes: &[u8]) -> Option<()> {
    OpenOptions::new().append(true).open(path).ok()?.write_all(bytes).ok()
}

fn named(log: &Path, prefix: &str) -> Vec<(String, PathBuf)> {
    let mut all = files(log);
    all.retain(|(name, _)| name.starts_with(prefix));
    all
}

fn newest(log: &Path, prefix: &str) -> Option<(String, PathBuf)> {
    named(log, prefix).pop()
}

/// The number in a name such as `segment-00000000000000000001.log`.
fn number(name: &str) -> Option<u64> {
    name.split_once('-')?.1.split_once('.')?.0.parse().ok()
}

#[test]
fn checksum_is_that_of_the_standard() {
    assert_eq!(crc32(b"123456789"), 0xcbf4_3926);
}

//! The host of the fan-out: channels with a number and a position, and nothing else.

use std::{
    collections::HashMap,
    io,
    net::TcpStream,
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError},
    thread,
};

use base::work::{Payer, Work};
use bytes::Bytes;
use fanout::{
    Change, ChannelId, Classes, Dialect, Epoch, Fanout, Limits, Owner, Permission, Publication,
    Seq, StartError,
    catch_up::{
        CatchUp, CatchUpFrame, Cost, Host, HostRequest, HostResponse, ShardRequest, Verdict,
    },
    channel::{Channel, ChannelInfo, Rate},
    dialect::HostDialect,
    encode::binary_frame,
    socket::{SocketOptions, Stream},
};

use crate::dialects::{Echo, Follower};

/// Bytes that may be queued for a follower.
const OUTBOX_BYTES: usize = 256 * 1024;

/// Bytes published in one batch, including the overhead of each frame: at most half of what may be queued for a follower.
pub(crate) const BATCH_BYTES_MAX: usize = OUTBOX_BYTES / 2;

/// The channels and the fan-out that serves them. Cheap to clone; all clones refer to the same.
#[derive(Debug, Clone, Default)]
pub(crate) struct Channels {
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    /// Set before the first connection is served.
    fanout: OnceLock<Fanout>,
    /// Those that were published to or followed, by their numbers. Held while something is published and while a
    /// follower is told its position, so that both reach the shards in the order of positions.
    channels: Mutex<HashMap<u32, Head>>,
}

#[derive(Debug)]
struct Head {
    channel: Channel,
    seq: Seq,
}

/// The hub's defaults, and messages as long as the longest of the Autobahn suite. The number of their fragments is
/// limited only by the bytes of their headers.
fn limits() -> Limits {
    Limits {
        shards: thread::available_parallelism().map_or(1, usize::from),
        outbox_bytes: OUTBOX_BYTES,
        outbox_age_ms: 1_000,
        write_bytes_max: 64 * 1024,
        channels_max: 1,
        channels_max_per_payer: usize::MAX,
        patterns_max: 0,
        command_bytes_max: 16 * 1024 * 1024,
        command_fragments_max: u32::MAX,
        from_bytes_max: 0,
        catch_up_burst: 20_000,
        catch_ups_per_second: 2_000,
        work: Work::unlimited(),
        mailbox_max: 65_536,
        beat_ms: 5_000,
        idle_ms: 90_000,
        stall_ms: 30_000,
        sockets: SocketOptions { send_buffer_bytes: 256 * 1024, unsent_bytes: 16 * 1024 },
    }
}

impl Channels {
    /// Starts the fan-out, without connections.
    pub(crate) fn start() -> Result<Self, StartError> {
        let channels = Self::default();
        let fanout = Fanout::start(limits(), "matchwire-bare", Box::new(channels.clone()))?;
        channels.shared.fanout.get_or_init(|| fanout);
        Ok(channels)
    }

    /// Waits until followers that read have room for a batch.
    pub(crate) async fn wait_for_room(&self) {
        if let Some(fanout) = self.shared.fanout.get() {
            fanout.wait_for_readers().await;
        }
    }

    /// Publishes messages, each with the number of its channel, at once. Followers get the payload as a binary message.
    pub(crate) fn publish(&self, messages: impl IntoIterator<Item = (u32, Bytes)>) {
        let Some(fanout) = self.shared.fanout.get() else { return };
        let mut channels = self.channels();
        let changes = messages.into_iter().map(|(number, payload)| {
            let Head { channel, seq } = head(&mut channels, number);
            let prev = *seq;
            *seq += 1;
            let frame = binary_frame(&payload);
            let publication = Publication::with_frame(channel.clone(), prev, *seq, frame);
            Change::Published(Rate::Each, Arc::new(publication))
        });
        let changes: Vec<Change> = changes.collect();
        fanout.publish(&changes);
    }

    /// Serves a follower. `answer`: the response to its upgrade, which is written once it follows the channel, so that
    /// it misses nothing that is published after it has got the response.
    pub(crate) fn follow(
        &self,
        tcp: TcpStream,
        read_ahead: &[u8],
        number: u32,
        answer: &str,
    ) -> io::Result<()> {
        let mut commands = client_message(&format!("{number:06}{answer}"))?;
        commands.extend_from_slice(read_ahead);
        self.serve(tcp, commands, &Follower);
        Ok(())
    }

    /// Serves a client whose upgrade was answered, and whose messages come back.
    pub(crate) fn echo(&self, tcp: TcpStream, read_ahead: Vec<u8>) {
        self.serve(tcp, read_ahead, &Echo);
    }

    fn serve(&self, tcp: TcpStream, read_ahead: Vec<u8>, dialect: &'static dyn HostDialect) {
        let owner = Owner {
            key: 0,
            payer: Payer::Hub,
            expiry: None,
            permission: Permission::EVERYTHING,
            deflates: false,
            peer: None,
            guard: Box::new(()),
        };
        if let Some(fanout) = self.shared.fanout.get() {
            fanout.serve(Stream::Tcp(tcp), read_ahead, owner, Dialect::Hosted(dialect));
        }
    }

    fn channels(&self) -> MutexGuard<'_, HashMap<u32, Head>> {
        // Each position is complete after each statement.
        self.shared.channels.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Host for Channels {
    /// A follower starts with the response to its upgrade. One that was slow goes on at the head: nothing is kept.
    fn submit(&self, ShardRequest { requester, request }: ShardRequest) {
        let Some(fanout) = self.shared.fanout.get() else { return };
        let mut channels = self.channels();
        let response = match &request {
            HostRequest::StartGroup { channel, .. } => number(channel.as_str())
                .map(|(number, answer)| start(head(&mut channels, number), answer)),
            HostRequest::CatchUp { channel, .. } => {
                number(channel.as_str()).map(|(number, _)| resume(head(&mut channels, number)))
            }
            HostRequest::MatchChannels { .. } | HostRequest::Locate { .. } => None,
        };
        fanout.respond(requester, response.unwrap_or(HostResponse::NotTracked), Cost::default());
    }
}

fn start(head: &Head, answer: &str) -> HostResponse {
    let frame = CatchUpFrame { frame: Bytes::copy_from_slice(answer.as_bytes()), to: head.seq };
    HostResponse::GroupStarted(catch_up(head, Verdict::Fresh, vec![frame]), None)
}

fn resume(head: &Head) -> HostResponse {
    HostResponse::CatchUp(catch_up(head, Verdict::Resumed, Vec::new()))
}

fn catch_up(head: &Head, verdict: Verdict, frames: Vec<CatchUpFrame>) -> CatchUp {
    let Head { channel, seq } = head;
    let channel = channel.clone();
    CatchUp { channel, head: *seq, verdict, frames, to: *seq, lease: None, hash: None }
}

fn head(channels: &mut HashMap<u32, Head>, number: u32) -> &mut Head {
    channels.entry(number).or_insert_with(|| Head {
        channel: ChannelInfo {
            number,
            name: ChannelId::new(format!("{number:06}")),
            epoch: Epoch(0),
            deliver_last: false,
            needs: Classes::NONE,
        }
        .into(),
        seq: 0,
    })
}

/// The number that a text begins with, and the rest.
fn number(text: &str) -> Option<(u32, &str)> {
    let (digits, rest) = text.split_at_checked(6)?;
    Some((six_digits(digits.as_bytes().try_into().ok()?)?, rest))
}

/// Parses six decimal digits.
pub(crate) fn six_digits(digits: [u8; 6]) -> Option<u32> {
    digits.iter().try_fold(0, |number, digit| {
        digit.is_ascii_digit().then(|| number * 10 + u32::from(digit - b'0'))
    })
}

/// A text message of 126 bytes to 64 KiB as a client sends it, masked with zeros.
fn client_message(text: &str) -> io::Result<Vec<u8>> {
    let length = u16::try_from(text.len()).map_err(io::Error::other)?.to_be_bytes();
    Ok([&[0x81, 0xfe], &length[..], &[0; 4], text.as_bytes()].concat())
}

//! Bounds the long frames that the event streams of one account hold, while they are assembled and until their readers have
//! taken them. A stream begins to read a long frame once its account has room for it; until then the frame waits in the
//! fan-out, which has its rules for slow readers.

use std::{
    collections::HashMap,
    io,
    pin::Pin,
    sync::{Arc, Mutex, PoisonError, Weak},
    task::{Context, Poll, ready},
    time::Duration,
};

use accounts::AccountId;
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    sync::{OwnedSemaphorePermit, Semaphore},
    time::{Sleep, sleep},
};
use tokio_util::sync::PollSemaphore;

/// Shorter frames are not counted: a stream holds few of them.
pub(super) const LONG_BYTES: usize = 64 * 1024;

/// The long frames of an account, in KiB. A longer one is read alone.
const KIB_PER_ACCOUNT: u32 = 8 * 1024;

/// How long a stream waits for room. Then it ends, and its client resumes. The fan-out closes the socket of a reader that stalls
/// for longer.
const ROOM_TIME: Duration = Duration::from_secs(20);

/// The longest header of a frame without a mask.
const HEADER_BYTES_MAX: usize = 10;

/// The room of each account with event streams.
#[derive(Debug, Default)]
pub(in crate::http) struct FrameRooms(Mutex<HashMap<AccountId, Weak<Semaphore>>>);

impl FrameRooms {
    /// The room of an account.
    pub(super) fn get(&self, account: AccountId) -> Arc<Semaphore> {
        let mut rooms = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(room) = rooms.get(&account).and_then(Weak::upgrade) {
            return room;
        }
        rooms.retain(|_, room| room.strong_count() > 0);
        let room = Arc::new(Semaphore::new(KIB_PER_ACCOUNT as usize));
        rooms.insert(account, Arc::downgrade(&room));
        room
    }
}

/// A connection whose other end sends frames without masks: passes all bytes on, those of a long frame once there is room.
#[derive(Debug)]
pub(super) struct FrameReader<T> {
    io: T,
    room: PollSemaphore,
    /// Until when it may wait for room.
    wait: Option<Pin<Box<Sleep>>>,
    /// The room of the long frames that were begun and not taken with [`Self::take_room`].
    held: Option<OwnedSemaphorePermit>,
    header: [u8; HEADER_BYTES_MAX],
    /// Bytes of the header that have come, and those of them that are to be passed on.
    header_bytes: usize,
    header_left: usize,
    payload_left: u64,
}

impl<T> FrameReader<T> {
    pub(super) fn new(io: T, room: Arc<Semaphore>) -> Self {
        Self {
            io,
            room: PollSemaphore::new(room),
            wait: None,
            held: None,
            header: [0; HEADER_BYTES_MAX],
            header_bytes: 0,
            header_left: 0,
            payload_left: 0,
        }
    }

    /// Gives up its turn for room while it is not polled.
    pub(super) fn stop_waiting(&mut self) {
        if self.wait.take().is_some() {
            self.room = PollSemaphore::new(self.room.clone_inner());
        }
    }

    /// The room of the long frame that has come, to be kept as long as its bytes.
    pub(super) fn take_room(&mut self) -> Option<OwnedSemaphorePermit> {
        self.held.take()
    }
}

/// The length of a header by its first bytes.
fn header_len(begun: &[u8]) -> usize {
    match begun.get(1).map(|length| length & 0x7f) {
        Some(126) => 4,
        Some(127) => 10,
        _ => 2,
    }
}

fn payload_len(header: &[u8]) -> u64 {
    match header {
        [_, _, length @ ..] if !length.is_empty() => {
            length.iter().fold(0, |sum, byte| (sum << 8) | u64::from(*byte))
        }
        [_, length, ..] => u64::from(length & 0x7f),
        _ => 0,
    }
}

impl<T: AsyncRead + Unpin> FrameReader<T> {
    /// Reads the header of the next frame, and waits for the room of a long one; false at the end.
    fn poll_begin(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<bool>> {
        loop {
            let needed = header_len(&self.header[..self.header_bytes]);
            if self.header_bytes >= needed {
                break;
            }
            let mut rest = ReadBuf::new(&mut self.header[self.header_bytes..needed]);
            ready!(Pin::new(&mut self.io).poll_read(cx, &mut rest))?;
            let read = rest.filled().len();
            if read == 0 {
                return Poll::Ready(Ok(false));
            }
            self.header_bytes += read;
        }
        let payload = payload_len(&self.header[..self.header_bytes]);
        if payload > LONG_BYTES as u64 {
            let kib = u32::try_from(payload.div_ceil(1024)).unwrap_or(KIB_PER_ACCOUNT);
            let Poll::Ready(room) = self.room.poll_acquire_many(cx, kib.min(KIB_PER_ACCOUNT))
            else {
                let wait = self.wait.get_or_insert_with(|| Box::pin(sleep(ROOM_TIME)));
                ready!(wait.as_mut().poll(cx));
                return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
            };
            self.wait = None;
            let room = room.ok_or(io::ErrorKind::BrokenPipe)?;
            match &mut self.held {
                Some(held) => held.merge(room),
                None => self.held = Some(room),
            }
        }
        (self.header_left, self.payload_left) = (self.header_bytes, payload);
        Poll::Ready(Ok(true))
    }
}

impl<T: AsyncRead + Unpin> AsyncRead for FrameReader<T> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = &mut *self;
        let is_between = this.header_left == 0 && this.payload_left == 0;
        if is_between && !ready!(this.poll_begin(cx))? {
            return Poll::Ready(Ok(()));
        }
        if this.header_left > 0 {
            let begin = this.header_bytes - this.header_left;
            let bytes = this.header_left.min(buffer.remaining());
            buffer.put_slice(&this.header[begin..begin + bytes]);
            this.header_left -= bytes;
            if this.header_left == 0 {
                this.header_bytes = 0;
            }
            return Poll::Ready(Ok(()));
        }
        // Not beyond this frame: the next one may have to wait.
        let most = usize::try_from(this.payload_left).unwrap_or(usize::MAX);
        let most = most.min(buffer.remaining());
        let mut part = ReadBuf::new(buffer.initialize_unfilled_to(most));
        ready!(Pin::new(&mut this.io).poll_read(cx, &mut part))?;
        let read = part.filled().len();
        buffer.advance(read);
        this.payload_left -= read as u64;
        Poll::Ready(Ok(()))
    }
}

impl<T: AsyncWrite + Unpin> AsyncWrite for FrameReader<T> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.io).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, duplex};

    use super::*;

    fn frame(payload: usize) -> Vec<u8> {
        let mut frame = vec![0x81];
        match u16::try_from(payload) {
            Ok(short @ ..126) => frame.push(short as u8),
            Ok(middle) => {
                frame.push(126);
                frame.extend(middle.to_be_bytes());
            }
            Err(_) => {
                frame.push(127);
                frame.extend((payload as u64).to_be_bytes());
            }
        }
        frame.extend((0..payload).map(|at| at as u8));
        frame
    }

    const LONG: usize = LONG_BYTES + 1;

    /// Frames of all lengths are passed on as they came, in whatever parts they are read.
    #[tokio::test]
    async fn bytes_are_passed_on_unchanged() {
        let lengths = [0, 1, 125, 126, 65_535, 65_536, LONG, 3, 300_000, 0];
        let sent: Vec<u8> = lengths.into_iter().flat_map(frame).collect();
        for part_bytes in [1, 7, 4096, 1 << 20] {
            let room = Arc::new(Semaphore::new(KIB_PER_ACCOUNT as usize));
            let mut reader = FrameReader::new(sent.as_slice(), Arc::clone(&room));
            let (mut read, mut part) = (Vec::new(), vec![0; part_bytes]);
            loop {
                match reader.read(&mut part).await.expect("bytes") {
                    0 => break,
                    bytes => read.extend_from_slice(&part[..bytes]),
                }
            }
            assert!(read == sent, "in parts of {part_bytes}");
            let held = LONG.div_ceil(1024) + 300_000_usize.div_ceil(1024);
            assert_eq!(room.available_permits(), KIB_PER_ACCOUNT as usize - held);
            drop(reader.take_room());
            assert_eq!(room.available_permits(), KIB_PER_ACCOUNT as usize);
        }
    }

    #[tokio::test]
    async fn long_frame_waits_for_the_readers_of_others_and_short_ones_do_not() {
        let room = Arc::new(Semaphore::new(KIB_PER_ACCOUNT as usize));
        let (mut peer, local) = duplex(1 << 20);
        let mut reader = FrameReader::new(local, Arc::clone(&room));
        let taken = Arc::clone(&room).acquire_many_owned(KIB_PER_ACCOUNT).await.expect("room");
        peer.write_all(&[frame(1_000), frame(LONG)].concat()).await.expect("the peer writes");
        let mut short = vec![0; frame(1_000).len()];
        reader.read_exact(&mut short).await.expect("a short frame");
        let mut long = vec![0; frame(LONG).len()];
        assert!(reader.read(&mut long).now_or_never().is_none(), "there is no room");
        drop(taken);
        reader.read_exact(&mut long).await.expect("a long frame");
        assert!(long == frame(LONG));
        assert!(reader.take_room().is_some() && reader.take_room().is_none());
    }

    #[tokio::test(start_paused = true)]
    async fn stream_without_room_ends() {
        let room = Arc::new(Semaphore::new(0));
        let sent = frame(LONG);
        let mut reader = FrameReader::new(sent.as_slice(), room);
        let error = reader.read_u8().await.expect_err("there is no room");
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
    }

    #[tokio::test]
    async fn frame_that_is_longer_than_the_room_is_read_alone() {
        let bytes = KIB_PER_ACCOUNT as usize * 1024 + 1;
        let sent = frame(bytes);
        let room = Arc::new(Semaphore::new(KIB_PER_ACCOUNT as usize));
        let mut reader = FrameReader::new(sent.as_slice(), Arc::clone(&room));
        let mut read = Vec::new();
        reader.read_to_end(&mut read).await.expect("all of it");
        assert!(read == sent && room.available_permits() == 0);
    }

    #[test]
    fn room_is_that_of_the_account_while_it_has_streams() {
        let rooms = FrameRooms::default();
        let (first, other) = (rooms.get(AccountId(1)), rooms.get(AccountId(2)));
        assert!(Arc::ptr_eq(&first, &rooms.get(AccountId(1))) && !Arc::ptr_eq(&first, &other));
        drop((first, other));
        drop(rooms.get(AccountId(3)));
        assert_eq!(rooms.0.lock().expect("the rooms").len(), 1);
    }
}

//! A connection that never blocks, plain or over TLS: bytes in and out, no frames.
//!
//! Over TLS it behaves as a plain one does: a read that does not fill the buffer means that the
//! kernel has no more, and a write takes what the kernel takes.

use std::{
    io::{self, ErrorKind, IoSliceMut, Read, Write},
    os::fd::AsRawFd,
    sync::Arc,
};

use mio::net::TcpStream;
use nix::{
    cmsg_space,
    sys::{
        socket::{ControlMessageOwned, MsgFlags, recvmsg},
        time::TimeSpec,
    },
};
use rustls::{ClientConfig, ClientConnection, pki_types::ServerName};

/// The authorities that a connection trusts, and the name that the certificate has to have.
#[derive(Debug, Clone)]
pub(crate) struct CertificateVerification {
    pub(crate) config: Arc<ClientConfig>,
    pub(crate) name: ServerName<'static>,
}

impl CertificateVerification {
    /// A connection that begins with a handshake.
    ///
    /// # Errors
    ///
    /// If the configuration cannot be used.
    pub(crate) fn begin(&self) -> Result<ClientConnection, rustls::Error> {
        ClientConnection::new(Arc::clone(&self.config), self.name.clone())
    }
}

#[derive(Debug)]
pub(crate) struct Transport {
    pub(crate) stream: TcpStream,
    tls: Option<Box<ClientConnection>>,
}

impl Transport {
    pub(crate) fn new(stream: TcpStream, tls: Option<ClientConnection>) -> Self {
        Self { stream, tls: tls.map(Box::new) }
    }

    /// Reads bytes, and returns when the kernel received the last of them if the socket has
    /// timestamps and `has_timestamps` says so. `encrypted` is a buffer for what the kernel has,
    /// of any content.
    #[inline]
    pub(crate) fn read(
        &mut self,
        buffer: &mut [u8],
        encrypted: &mut Vec<u8>,
        has_timestamps: bool,
    ) -> io::Result<(usize, Option<u64>)> {
        match &mut self.tls {
            None => receive(&mut self.stream, buffer, has_timestamps),
            Some(tls) => decrypt(tls, &mut self.stream, buffer, encrypted, has_timestamps),
        }
    }

    /// Writes as many of these bytes as can be taken now.
    pub(crate) fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let Some(tls) = &mut self.tls else { return self.stream.write(bytes) };
        flush(tls, &mut self.stream)?;
        if tls.wants_write() {
            // More would only wait in memory.
            return Err(ErrorKind::WouldBlock.into());
        }
        let taken = tls.writer().write(bytes)?;
        flush(tls, &mut self.stream)?;
        Ok(taken)
    }

    /// Whether bytes that were taken wait until the kernel accepts more.
    pub(crate) fn has_output(&self) -> bool {
        self.tls.as_ref().is_some_and(|tls| tls.wants_write())
    }
}

/// Reads what the kernel has.
#[inline]
fn receive(
    stream: &mut TcpStream,
    buffer: &mut [u8],
    has_timestamps: bool,
) -> io::Result<(usize, Option<u64>)> {
    if !has_timestamps {
        return stream.read(buffer).map(|read| (read, None));
    }
    let mut control = cmsg_space!(TimeSpec);
    let mut slices = [IoSliceMut::new(buffer)];
    let message =
        recvmsg::<()>(stream.as_raw_fd(), &mut slices, Some(&mut control), MsgFlags::empty())?;
    let received = message.cmsgs()?.find_map(|control| match control {
        ControlMessageOwned::ScmTimestampns(at) => {
            let (seconds, nanos) = (at.tv_sec(), at.tv_nsec());
            u64::try_from(seconds * 1_000_000 + nanos / 1_000).ok()
        }
        _ => None,
    });
    Ok((message.bytes, received))
}

/// Reads until the buffer is full or the kernel has no more. The time is that of the last encrypted
/// bytes that this call read; it reads none if those of an earlier one fill the buffer.
fn decrypt(
    tls: &mut ClientConnection,
    stream: &mut TcpStream,
    buffer: &mut [u8],
    encrypted: &mut Vec<u8>,
    has_timestamps: bool,
) -> io::Result<(usize, Option<u64>)> {
    let mut filled = 0;
    let mut received = None;
    loop {
        match tls.reader().read(&mut buffer[filled..]) {
            // The peer has closed the connection. What came before is handled first.
            Ok(0) => return Ok((filled, received)),
            Ok(read) => filled += read,
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            Err(_) if filled > 0 => return Ok((filled, received)),
            Err(error) => return Err(error),
        }
        // Never more than there is room for, because decrypted bytes are fewer.
        let room = buffer.len() - filled;
        if room == 0 {
            return Ok((filled, received));
        }
        if encrypted.len() < room {
            encrypted.resize(room, 0);
        }
        let (read, at) = match receive(stream, &mut encrypted[..room], has_timestamps) {
            Err(error) if error.kind() == ErrorKind::WouldBlock && filled > 0 => {
                return Ok((filled, received));
            }
            other => other?,
        };
        received = at.or(received);
        filled += accept(tls, &encrypted[..read], &mut buffer[filled..]).inspect_err(|_| {
            // The alert that says why, if the peer still reads.
            flush(tls, stream).ok();
        })?;
        flush(tls, stream)?;
        // After a short read the kernel has no more bytes. If there is nothing to return, the
        // end may have come with them, and the event that reports it does not come again.
        if filled > 0 && read < room {
            return Ok((filled, received));
        }
    }
}

/// Decrypts all these bytes; none are the end of the connection. Returns how many bytes it has put
/// into the buffer. Others wait for the next read.
fn accept(tls: &mut ClientConnection, mut bytes: &[u8], buffer: &mut [u8]) -> io::Result<usize> {
    let mut filled = 0;
    loop {
        let taken = tls.read_tls(&mut bytes)?;
        tls.process_new_packets().map_err(|error| io::Error::new(ErrorKind::InvalidData, error))?;
        if filled < buffer.len() {
            // An end is reported by the next read.
            filled += tls.reader().read(&mut buffer[filled..]).unwrap_or(0);
        }
        if taken == 0 || bytes.is_empty() {
            return Ok(filled);
        }
    }
}

/// Writes encrypted bytes as far as the kernel accepts them.
fn flush(tls: &mut ClientConnection, stream: &mut TcpStream) -> io::Result<()> {
    while tls.wants_write() {
        match tls.write_tls(stream) {
            Ok(_) => {}
            Err(error) if error.kind() == ErrorKind::WouldBlock => break,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

//! The socket between a shard and a client.

use std::{
    cell::RefCell,
    io::{self, Write},
    rc::Rc,
};

/// A socket that accepts a limited number of bytes, and the client at its other end.
#[derive(Debug, Default, Clone)]
pub(crate) struct Pipe(pub(crate) Rc<RefCell<PipeState>>);

#[derive(Debug, Default)]
pub(crate) struct PipeState {
    pub(crate) takes: usize,
    unread: Vec<u8>,
}

impl Write for Pipe {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let PipeState { takes, unread } = &mut *self.0.borrow_mut();
        let count = bytes.len().min(*takes);
        *takes -= count;
        unread.extend_from_slice(&bytes[..count]);
        if count == 0 { Err(io::ErrorKind::WouldBlock.into()) } else { Ok(count) }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Pipe {
    /// The first byte and the payload of the next whole frame. Frames of the tests have fewer than 64 KiB.
    pub(crate) fn next_frame(&self) -> Option<(u8, Vec<u8>)> {
        let unread = &mut self.0.borrow_mut().unread;
        let (header, length) = match *unread.get(1)? {
            126 => (4, usize::from(u16::from_be_bytes([*unread.get(2)?, *unread.get(3)?]))),
            short => (2, usize::from(short)),
        };
        if unread.len() < header + length {
            return None;
        }
        let frame: Vec<u8> = unread.drain(..header + length).collect();
        Some((frame[0], frame[header..].to_vec()))
    }
}

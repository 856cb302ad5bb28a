//! The `image` frame, whose document the host renders.

use std::io::Write as _;

use crate::channel::{ChannelId, Epoch, Seq};

/// Appends an `image` frame. `write_at` appends the object with its times, and `write_data` its document.
pub fn image(
    out: &mut Vec<u8>,
    channel: &ChannelId,
    (epoch, seq): (Epoch, Seq),
    write_at: impl FnOnce(&mut Vec<u8>),
    write_data: impl FnOnce(&mut Vec<u8>),
) {
    let head = format_args!(r#"{{"type":"image","ch":"{channel}","epoch":"{epoch}","seq":{seq}"#);
    out.write_fmt(head).expect("writing to memory does not fail");
    out.extend_from_slice(br#","at":"#);
    write_at(out);
    out.extend_from_slice(br#","data":"#);
    write_data(out);
    out.push(b'}');
}

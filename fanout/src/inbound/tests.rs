use proptest::prelude::*;

use super::*;
use crate::deflate::Deflater;

const MAX: usize = 1000;
const LIMITS: MessageLimits =
    MessageLimits { bytes_max: MAX, fragments_max: 100, may_deflate: false };
const TEXT: u8 = 0x1;
const BINARY: u8 = 0x2;
const CLOSE: u8 = 0x8;
const PING: u8 = 0x9;
const PONG: u8 = 0xa;
const FIN: u8 = 0x80;

/// A masked frame of a client.
fn frame(first: u8, payload: &[u8]) -> Vec<u8> {
    let mut frame = vec![first];
    match u8::try_from(payload.len()) {
        Ok(short) if short < 126 => frame.push(0x80 | short),
        _ => {
            let length = u16::try_from(payload.len()).expect("short enough");
            frame.push(0x80 | 126);
            frame.extend(length.to_be_bytes());
        }
    }
    let mask = [7, 99, 31, 200];
    frame.extend(mask);
    frame.extend(payload.iter().zip(mask.iter().cycle()).map(|(byte, mask)| byte ^ mask));
    frame
}

fn text(payload: &str) -> Vec<u8> {
    frame(FIN | TEXT, payload.as_bytes())
}

fn close(payload: &[u8]) -> Vec<u8> {
    frame(FIN | CLOSE, payload)
}

/// The messages in these bytes, up to the one that ends the connection. The bytes arrive in pieces of
/// the given lengths, repeatedly.
fn received(bytes: &[u8], pieces: &[usize]) -> Vec<InboundEvent> {
    received_within(LIMITS, bytes, pieces)
}

fn received_within(limits: MessageLimits, bytes: &[u8], pieces: &[usize]) -> Vec<InboundEvent> {
    let (mut inbound, mut all, mut rest) = (Inbound::default(), Vec::new(), bytes);
    for piece in pieces.iter().cycle() {
        let (now, later) = rest.split_at((*piece).clamp(1, rest.len().max(1)).min(rest.len()));
        inbound.extend(now);
        while let Some(received) = inbound.next(limits) {
            let is_end = matches!(received, InboundEvent::End(_));
            all.push(received);
            if is_end {
                return all;
            }
        }
        if later.is_empty() {
            break;
        }
        rest = later;
    }
    all
}

/// Something that a client may send: a control frame, or a message in fragments with pings between
/// them.
fn sendable() -> impl Strategy<Value = Vec<u8>> {
    let fragments = prop::collection::vec(("[a-zäß€😀]{0,40}", any::<bool>()), 1..6);
    let message = (any::<bool>(), fragments).prop_map(|(is_text, fragments)| {
        let last = fragments.len() - 1;
        let mut bytes = Vec::new();
        for (at, (payload, has_ping)) in fragments.iter().enumerate() {
            let opcode = if at > 0 {
                0
            } else if is_text {
                TEXT
            } else {
                BINARY
            };
            let fin = if at == last { FIN } else { 0 };
            bytes.extend(frame(fin | opcode, payload.as_bytes()));
            if *has_ping {
                bytes.extend(frame(FIN | PING, &payload.as_bytes()[..payload.len().min(9)]));
            }
        }
        bytes
    });
    prop_oneof![message, Just(frame(FIN | PONG, b"late")), Just(text(""))]
}

proptest! {
    /// The messages do not depend on how the bytes are split into packets.
    #[test]
    fn splitting_does_not_matter(
        all_sent in prop::collection::vec(sendable(), 1..8),
        pieces in prop::collection::vec(1_usize..60, 1..20),
    ) {
        let bytes = all_sent.concat();
        let whole = received(&bytes, &[bytes.len()]);
        prop_assert!(!whole.iter().any(|it| matches!(it, InboundEvent::End(_))), "{whole:?}");
        prop_assert_eq!(&received(&bytes, &pieces), &whole);
        prop_assert_eq!(&received(&bytes, &[1]), &whole);
    }

    /// Any bytes are parsed without a panic and with the same result, however they are split.
    #[test]
    fn splitting_arbitrary_bytes_does_not_change_the_result(
        bytes in prop::collection::vec(any::<u8>(), 0..300),
        pieces in prop::collection::vec(1_usize..60, 1..20),
    ) {
        prop_assert_eq!(received(&bytes, &pieces), received(&bytes, &[300]));
    }

    /// Text that is not UTF-8 ends the connection, however it is split into frames and packets.
    #[test]
    fn text_is_checked_as_a_whole(
        bytes in prop::collection::vec(prop_oneof![any::<u8>(), 0xc0_u8..=0xf4, 0x80_u8..0xc0], 0..24),
        cut in 0_usize..24,
        piece in 1_usize..9,
    ) {
        let (first, second) = bytes.split_at(cut.min(bytes.len()));
        let sent = [frame(TEXT, first), frame(FIN, second)].concat();
        let expected = match String::from_utf8(bytes) {
            Ok(text) => InboundEvent::Text(text),
            Err(_) => InboundEvent::End(Close::NotText),
        };
        prop_assert_eq!(received(&sent, &[piece]), [expected]);
    }
}

#[test]
fn fragments_become_one_message_and_a_ping_between_them_comes_first() {
    let parts = [frame(TEXT, b"one "), frame(FIN | PING, b"p"), frame(FIN, b"message")];
    let expected =
        [InboundEvent::Ping(b"p".to_vec()), InboundEvent::Text("one message".to_owned())];
    assert_eq!(received(&parts.concat(), &[3]), expected);
}

fn check_end(bytes: &[u8], code: u16) {
    let all = received(bytes, &[7]);
    let Some(InboundEvent::End(close)) = all.last() else { panic!("{bytes:?}: {all:?}") };
    assert_eq!(close.code(), code, "{bytes:?}");
}

#[test]
fn violations_end_the_connection() {
    check_end(&text(&"x".repeat(MAX + 1)), 4413);
    check_end(&[frame(TEXT, &[b'x'; MAX]), frame(FIN, b"y")].concat(), 4413);
    check_end(&frame(FIN | TEXT, &[0xff]), 1007);
    check_end(&[0x81, 1, b'x'], 1002);
    for reserved in [0x10, 0x20, 0x40, 0x70] {
        check_end(&frame(FIN | reserved | TEXT, b""), 1002);
    }
    for opcode in (0x3..=0x7).chain(0xb..=0xf) {
        check_end(&frame(FIN | opcode, b""), 1002);
    }
    check_end(&frame(FIN, b"the rest of nothing"), 1002);
    check_end(&[frame(TEXT, b"one "), text("another")].concat(), 1002);
    check_end(&[frame(TEXT, b"one "), frame(FIN | BINARY, b"another")].concat(), 1002);
    check_end(&frame(PING, b"a fragment of a ping"), 1002);
    check_end(&frame(CLOSE, &[3, 232]), 1002);
    check_end(&[0x89, 0], 1002);
    check_end(&frame(FIN | PING, &[0; 126]), 1002);
    check_end(&[0x81, 0xff, 0x80, 0, 0, 0, 0, 0, 0, 0], 1002);
    // A close may come between fragments, and nothing counts behind it.
    check_end(&[frame(TEXT, b"one "), close(&[3, 233]), frame(FIN, b"more")].concat(), 1001);
}

/// RFC 6455, 5.2: a length has as few bytes as possible. A client that uses more is understood.
#[test]
fn length_may_have_more_bytes_than_needed() {
    let expected = [InboundEvent::Text("ok".to_owned())];
    let mask_and_text = [0, 0, 0, 0, b'o', b'k'];
    for header in [&[0x81, 0xfe, 0, 2][..], &[0x81, 0xff, 0, 0, 0, 0, 0, 0, 0, 2]] {
        assert_eq!(received(&[header, &mask_and_text].concat(), &[3]), expected);
    }
}

/// A sign of the order of bytes, NUL, and characters of any length are part of a text.
#[test]
fn text_keeps_every_character() {
    let sent = "\u{feff}{\"id\":\"ü\0\u{1f600}\u{10ffff}\"} \n";
    assert_eq!(received(&text(sent), &[1]), [InboundEvent::Text(sent.to_owned())]);
}

/// A message is compressed as a whole and then fragmented; only its first frame is marked.
#[test]
fn compressed_message_is_inflated_up_to_the_limit() {
    const MARK: u8 = 0x40;
    let deflating = MessageLimits { may_deflate: true, ..LIMITS };
    let end = |close| vec![InboundEvent::End(close)];
    let command = "{\"op\":\"ping\"}".repeat(20);
    let deflated = Deflater::default().deflate(command.as_bytes()).to_vec();
    let (head, tail) = deflated.split_at(9);
    let fragments = [frame(MARK | TEXT, head), frame(FIN, tail)].concat();
    for pieces in [1, 7, fragments.len()] {
        let received = received_within(deflating, &fragments, &[pieces]);
        assert_eq!(received, [InboundEvent::Text(command.clone())], "in pieces of {pieces}");
    }
    let whole = frame(FIN | MARK | TEXT, &deflated);
    assert_eq!(received(&whole, &[1000]), end(Close::Protocol), "it was not agreed to");
    let marked = [frame(MARK | TEXT, head), frame(FIN | MARK, tail)].concat();
    for wrong in [&marked, &frame(FIN | MARK | PING, b""), &frame(FIN | MARK | TEXT, b"no")] {
        assert_eq!(received_within(deflating, wrong, &[1000]), end(Close::Protocol));
    }
    let bomb = Deflater::default().deflate(&vec![b' '; 100 * MAX]).to_vec();
    let bomb = frame(FIN | MARK | TEXT, &bomb);
    assert_eq!(received_within(deflating, &bomb, &[1000]), end(Close::CommandTooLarge));
    let most = Deflater::default().deflate(&vec![b' '; MAX]).to_vec();
    let most = received_within(deflating, &frame(FIN | MARK | TEXT, &most), &[1000]);
    assert_eq!(most, [InboundEvent::Text(" ".repeat(MAX))]);
}

#[test]
fn close_is_echoed() {
    check_end(&close(b""), 1000);
    check_end(&close(b"\x03"), 1002);
    check_end(&close(&[3, 232, 0xc3, 0x28]), 1007);
    for code in 0..=u16::MAX {
        let may_be_sent = match code {
            1000..=1014 => ![1004, 1005, 1006].contains(&code),
            3000..=4999 => true,
            _ => false,
        };
        let expected = if may_be_sent { code } else { 1002 };
        check_end(&close(&[&code.to_be_bytes()[..], b"why"].concat()), expected);
    }
}

/// The first frame of a text message that never ends, and then the same fragment repeatedly.
fn endless(fragment: &[u8], count: usize) -> Vec<u8> {
    [frame(TEXT, b""), fragment.repeat(count)].concat()
}

#[test]
fn fragments_of_one_message_are_limited() {
    let empty = frame(0, b"");
    check_end(&endless(&empty, 100), 4413);
    let just_enough = [endless(&empty, 98), frame(FIN, b"x")].concat();
    assert_eq!(received(&just_enough, &[7]), [InboundEvent::Text("x".to_owned())]);
    // Headers count too: 60 times 6 and 12 bytes are more than 1,000.
    check_end(&endless(&frame(0, b"twelve bytes"), 60), 4413);
}

/// A client that splits a message into the smallest fragments and sends each byte separately.
#[test]
fn work_is_proportional_to_the_bytes() {
    let limits = MessageLimits { bytes_max: 1 << 20, fragments_max: u32::MAX, ..LIMITS };
    let per_byte = |count: usize| {
        let ping = frame(FIN | PING, b"");
        let fragment = [frame(0, b""), frame(0, b"x"), ping].concat();
        let bytes = endless(&fragment, count);
        let (mut inbound, mut pings, mut held) = (Inbound::default(), 0, 0);
        for byte in &bytes {
            inbound.extend(&[*byte]);
            while let Some(received) = inbound.next(limits) {
                assert_eq!(received, InboundEvent::Ping(Vec::new()));
                pings += 1;
            }
            held = held.max(inbound.held_bytes());
        }
        assert_eq!(pings, count);
        assert!(held <= 2 * count + 256, "{held} bytes held for {count} bytes of payload");
        inbound.work as f64 / bytes.len() as f64
    };
    let (few, many) = (per_byte(100), per_byte(10_000));
    assert!(many < 2.0 * few, "{many} steps a byte, {few} with a hundredth of the bytes");
    assert!(many < 4.0, "{many} steps a byte");
}

impl Inbound {
    fn held_bytes(&self) -> usize {
        self.state.as_ref().map_or(0, |state| {
            let message = state.message.as_ref().map_or(0, |it| it.payload.capacity());
            state.bytes.capacity() + state.control.capacity() + message
        })
    }
}

#[test]
fn idle_connection_uses_no_memory() {
    let mut inbound = Inbound::default();
    inbound.extend(&[text("hello"), frame(FIN | PING, b"?")].concat());
    assert_eq!(inbound.next(LIMITS), Some(InboundEvent::Text("hello".to_owned())));
    assert_eq!(inbound.next(LIMITS), Some(InboundEvent::Ping(b"?".to_vec())));
    assert_eq!(inbound.next(LIMITS), None);
    assert!(inbound.state.is_none());
}

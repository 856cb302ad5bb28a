//! Reads the JSON text of documents that the hub has written itself. What is read is written again as
//! the same bytes: the order of keys and every digit stay.

use std::{str, sync::Arc};

use rust_decimal::Decimal;

use super::{DEPTH_MAX, FieldKey, Node, Object};

/// The text is not one that a document has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("it is no document as the hub writes them")]
pub(crate) struct NotOurs;

/// Reads JSON values from the beginning of a text.
#[derive(Debug)]
pub(crate) struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    pub(crate) fn new(text: &'a [u8]) -> Self {
        Self { rest: text }
    }

    /// What is left.
    pub(crate) fn rest(&self) -> &'a [u8] {
        self.rest
    }

    /// Passes over this text, if it comes next.
    pub(crate) fn take(&mut self, text: &[u8]) -> bool {
        let rest = self.rest.strip_prefix(text);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    fn expect(&mut self, text: &[u8]) -> Result<(), NotOurs> {
        self.take(text).then_some(()).ok_or(NotOurs)
    }

    /// Reads an object.
    pub(crate) fn object(&mut self) -> Result<Object, NotOurs> {
        self.object_within(DEPTH_MAX)
    }

    /// Reads a list.
    pub(crate) fn list(&mut self) -> Result<Vec<Node>, NotOurs> {
        self.list_within(DEPTH_MAX)
    }

    /// Reads an integer.
    pub(crate) fn int(&mut self) -> Result<i64, NotOurs> {
        let text = self.number_text()?;
        text.parse().map_err(|_| NotOurs)
    }

    fn object_within(&mut self, depth: usize) -> Result<Object, NotOurs> {
        self.expect(b"{")?;
        let mut fields = Vec::new();
        while !self.take(b"}") {
            if !fields.is_empty() {
                self.expect(b",")?;
            }
            let key = FieldKey::Text(self.string()?);
            self.expect(b":")?;
            let node = self.node(depth)?;
            if fields.is_empty() {
                // Most objects of a patch only lead to the next one.
                fields.reserve_exact(1);
            }
            fields.push((key, node));
        }
        Ok(Object(fields))
    }

    fn list_within(&mut self, depth: usize) -> Result<Vec<Node>, NotOurs> {
        self.expect(b"[")?;
        let mut nodes = Vec::new();
        while !self.take(b"]") {
            if !nodes.is_empty() {
                self.expect(b",")?;
            }
            nodes.push(self.node(depth)?);
        }
        Ok(nodes)
    }

    fn node(&mut self, depth: usize) -> Result<Node, NotOurs> {
        let depth = depth.checked_sub(1).ok_or(NotOurs)?;
        Ok(match self.rest.first().ok_or(NotOurs)? {
            b'{' => Node::Object(self.object_within(depth)?),
            b'[' => Node::List(self.list_within(depth)?),
            b'"' => Node::Text(self.string()?),
            b'n' => self.expect(b"null").map(|()| Node::Null)?,
            b't' => self.expect(b"true").map(|()| Node::Bool(true))?,
            b'f' => self.expect(b"false").map(|()| Node::Bool(false))?,
            _ => self.number()?,
        })
    }

    fn string(&mut self) -> Result<Arc<str>, NotOurs> {
        let inner = self.rest.strip_prefix(b"\"").ok_or(NotOurs)?;
        let special = |byte: &u8| matches!(*byte, b'"' | b'\\' | 0..0x20);
        let end = inner.iter().position(special).ok_or(NotOurs)?;
        if inner[end] == b'"' {
            let text = str::from_utf8(&inner[..end]).map_err(|_| NotOurs)?;
            self.rest = &inner[end + 1..];
            return Ok(text.into());
        }
        self.escaped()
    }

    /// Reads a string with escapes, which must be those that the hub writes.
    fn escaped(&mut self) -> Result<Arc<str>, NotOurs> {
        let mut values = serde_json::Deserializer::from_slice(self.rest).into_iter::<String>();
        let text: Arc<str> = values.next().and_then(Result::ok).ok_or(NotOurs)?.into();
        let mut written = Vec::new();
        super::text::string(&mut written, &text);
        self.expect(&written)?;
        Ok(text)
    }

    fn number_text(&mut self) -> Result<&'a str, NotOurs> {
        let is_part = |byte: &u8| matches!(*byte, b'0'..=b'9' | b'-' | b'.');
        let end = self.rest.iter().position(|byte| !is_part(byte)).unwrap_or(self.rest.len());
        let (text, rest) = self.rest.split_at(end);
        self.rest = rest;
        str::from_utf8(text).map_err(|_| NotOurs)
    }

    fn number(&mut self) -> Result<Node, NotOurs> {
        let text = self.number_text()?;
        let node = match text.parse() {
            Ok(int) => Node::Int(int),
            Err(_) => Node::Number(Decimal::from_str_exact(text).map_err(|_| NotOurs)?),
        };
        let mut written = Vec::with_capacity(text.len());
        node.write(&mut written);
        if written == text.as_bytes() { Ok(node) } else { Err(NotOurs) }
    }
}

//! The binary form of documents, in which the hub's state is saved. Words come back as texts.

use std::{
    io::{Read, Result, Write},
    sync::Arc,
};

use borsh::{BorshDeserialize, BorshSerialize};
use facts::codec;

use super::{DEPTH_MAX, FieldKey, Node, Object};

impl BorshSerialize for Object {
    fn serialize<W: Write>(&self, writer: &mut W) -> Result<()> {
        (self.0.len() as u64).serialize(writer)?;
        self.0.iter().try_for_each(|(key, node)| {
            key.serialize(writer)?;
            node.serialize(writer)
        })
    }
}

impl BorshDeserialize for Object {
    fn deserialize_reader<R: Read>(reader: &mut R) -> Result<Self> {
        object(reader, DEPTH_MAX)
    }
}

impl BorshSerialize for FieldKey {
    fn serialize<W: Write>(&self, writer: &mut W) -> Result<()> {
        match self {
            Self::Word(text) => (0_u8, text).serialize(writer),
            Self::Text(text) => (0_u8, text).serialize(writer),
            Self::Int(number) => (1_u8, number).serialize(writer),
            Self::Price(price) => {
                2_u8.serialize(writer)?;
                codec::decimal::write(price, writer)
            }
        }
    }
}

impl BorshDeserialize for FieldKey {
    fn deserialize_reader<R: Read>(reader: &mut R) -> Result<Self> {
        match u8::deserialize_reader(reader)? {
            0 => Arc::deserialize_reader(reader).map(Self::Text),
            1 => u64::deserialize_reader(reader).map(Self::Int),
            2 => codec::decimal::read(reader).map(Self::Price),
            _ => Err(codec::invalid("there is no such kind of key")),
        }
    }
}

impl BorshSerialize for Node {
    fn serialize<W: Write>(&self, writer: &mut W) -> Result<()> {
        match self {
            Self::Null => 0_u8.serialize(writer),
            Self::Bool(value) => (1_u8, value).serialize(writer),
            Self::Int(value) => (2_u8, value).serialize(writer),
            Self::Number(value) => {
                3_u8.serialize(writer)?;
                codec::decimal::write(value, writer)
            }
            Self::Decimal(value) => {
                4_u8.serialize(writer)?;
                codec::decimal::write(value, writer)
            }
            Self::Text(text) => (5_u8, text).serialize(writer),
            Self::Word(text) => (5_u8, text).serialize(writer),
            Self::Object(object) => (6_u8, object).serialize(writer),
            Self::List(nodes) => {
                (7_u8, nodes.len() as u64).serialize(writer)?;
                nodes.iter().try_for_each(|node| node.serialize(writer))
            }
        }
    }
}

fn object<R: Read>(reader: &mut R, depth: usize) -> Result<Object> {
    let len = u64::deserialize_reader(reader)?;
    let fields =
        (0..len).map(|_| Ok((FieldKey::deserialize_reader(reader)?, node(reader, depth)?)));
    fields.collect::<Result<_>>().map(Object)
}

fn node<R: Read>(reader: &mut R, depth: usize) -> Result<Node> {
    let Some(depth) = depth.checked_sub(1) else {
        return Err(codec::invalid("a document is too deep"));
    };
    Ok(match u8::deserialize_reader(reader)? {
        0 => Node::Null,
        1 => Node::Bool(bool::deserialize_reader(reader)?),
        2 => Node::Int(i64::deserialize_reader(reader)?),
        3 => Node::Number(codec::decimal::read(reader)?),
        4 => Node::Decimal(codec::decimal::read(reader)?),
        5 => Node::Text(Arc::deserialize_reader(reader)?),
        6 => Node::Object(object(reader, depth)?),
        7 => {
            let len = u64::deserialize_reader(reader)?;
            Node::List((0..len).map(|_| node(reader, depth)).collect::<Result<_>>()?)
        }
        _ => return Err(codec::invalid("there is no such kind of value")),
    })
}

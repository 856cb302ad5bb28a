//! Helpers for the binary form of events and of the hub's state, where `borsh` cannot derive it.
//!
//! Used as `#[borsh(serialize_with = "codec::decimal::write", deserialize_with = "codec::decimal::read")]`.
//! The input is not trusted: every value is checked.

use std::io::{Error, ErrorKind, Read, Result, Write};

/// An error for bytes that no valid value has.
#[must_use]
pub fn invalid(what: &'static str) -> Error {
    Error::new(ErrorKind::InvalidData, what)
}

/// An unsigned number in groups of seven bits, the lowest first.
pub mod varint {
    use super::{Read, Result, Write, invalid};

    /// # Errors
    ///
    /// If the writer fails.
    pub fn write<W: Write>(mut number: u128, writer: &mut W) -> Result<()> {
        let (mut bytes, mut len) = ([0; 19], 0);
        loop {
            let group = (number & 0x7f) as u8;
            number >>= 7;
            bytes[len] = if number == 0 { group } else { group | 0x80 };
            len += 1;
            if number == 0 {
                return writer.write_all(&bytes[..len]);
            }
        }
    }

    /// # Errors
    ///
    /// If the reader fails, or the number has more than 126 bits.
    pub fn read<R: Read>(reader: &mut R) -> Result<u128> {
        let (mut number, mut shift, mut byte) = (0_u128, 0, [0]);
        loop {
            reader.read_exact(&mut byte)?;
            number |= u128::from(byte[0] & 0x7f) << shift;
            if byte[0] & 0x80 == 0 {
                return Ok(number);
            }
            shift += 7;
            if shift > 119 {
                return Err(invalid("a number is too long"));
            }
        }
    }
}

/// A decimal with its exact scale: sign and scale in one byte, then the digits as a number. Where an optional one is
/// absent, it is one byte.
pub mod decimal {
    use rust_decimal::Decimal;

    use super::{Read, Result, Write, invalid, varint};

    const NEGATIVE: u8 = 0x80;
    /// No decimal has this scale.
    const NONE: u8 = 0x7f;
    const DIGITS_MAX: u128 = (1 << 96) - 1;

    /// A decimal, or an optional one.
    pub trait Value: Copy {
        /// The decimal, if there is one.
        fn get(self) -> Option<Decimal>;

        /// The value of this decimal, or of none; `None` if there must be one.
        fn new(decimal: Option<Decimal>) -> Option<Self>;
    }

    impl Value for Decimal {
        fn get(self) -> Option<Decimal> {
            Some(self)
        }

        fn new(decimal: Option<Decimal>) -> Option<Self> {
            decimal
        }
    }

    impl Value for Option<Decimal> {
        fn get(self) -> Option<Decimal> {
            self
        }

        fn new(decimal: Option<Decimal>) -> Option<Self> {
            Some(decimal)
        }
    }

    /// # Errors
    ///
    /// If the writer fails.
    pub fn write<W: Write>(value: &impl Value, writer: &mut W) -> Result<()> {
        let Some(value) = value.get() else { return writer.write_all(&[NONE]) };
        let sign = if value.is_sign_negative() { NEGATIVE } else { 0 };
        // At most 28.
        writer.write_all(&[sign | value.scale() as u8])?;
        varint::write(value.mantissa().unsigned_abs(), writer)
    }

    /// # Errors
    ///
    /// If the reader fails, or no decimal has these bytes.
    pub fn read<R: Read, T: Value>(reader: &mut R) -> Result<T> {
        let mut head = [0];
        reader.read_exact(&mut head)?;
        let decimal = if head[0] == NONE { None } else { Some(read_digits(head[0], reader)?) };
        T::new(decimal).ok_or_else(|| invalid("a decimal is missing"))
    }

    fn read_digits<R: Read>(head: u8, reader: &mut R) -> Result<Decimal> {
        let scale = u32::from(head & !NEGATIVE);
        let digits = varint::read(reader)?;
        if scale > Decimal::MAX_SCALE || digits > DIGITS_MAX {
            return Err(invalid("a decimal is out of range"));
        }
        let mut value = Decimal::from_i128_with_scale(digits as i128, scale);
        value.set_sign_negative(head & NEGATIVE != 0);
        Ok(value)
    }
}

/// An optional day.
pub mod optional_day {
    use borsh::{BorshDeserialize, BorshSerialize};
    use jiff::civil::Date;

    use super::{Read, Result, Write, invalid};

    /// # Errors
    ///
    /// If the writer fails.
    pub fn write<W: Write>(day: &Option<Date>, writer: &mut W) -> Result<()> {
        day.map(|day| (day.year(), day.month(), day.day())).serialize(writer)
    }

    /// # Errors
    ///
    /// If the reader fails, or there is no such day.
    pub fn read<R: Read>(reader: &mut R) -> Result<Option<Date>> {
        let day = Option::<(i16, i8, i8)>::deserialize_reader(reader)?;
        let date = |(year, month, day)| Date::new(year, month, day);
        day.map(date).transpose().map_err(|_| invalid("there is no such day"))
    }
}

/// A word of the vocabulary, such as a status.
pub mod word {
    use std::{
        collections::BTreeSet,
        io::{Error, ErrorKind},
        sync::{Mutex, PoisonError},
    };

    use borsh::{BorshDeserialize, BorshSerialize};

    use super::{Read, Result, Write, invalid};

    /// The words that were read so far. A program has few; more of them are no vocabulary.
    static WORDS: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());
    const WORDS_MAX: usize = 1_024;
    const BYTES_MAX: u8 = 128;

    /// # Errors
    ///
    /// If the writer fails, or the word is longer than 128 bytes.
    pub fn write<W: Write>(word: &&'static str, writer: &mut W) -> Result<()> {
        let len = u8::try_from(word.len()).ok().filter(|len| *len <= BYTES_MAX);
        len.ok_or_else(|| Error::new(ErrorKind::InvalidInput, "a word is too long"))?
            .serialize(writer)?;
        writer.write_all(word.as_bytes())
    }

    /// Reads a word, which lives as long as the program: each one once, and a limited number of them.
    ///
    /// # Errors
    ///
    /// If the reader fails, or these bytes are no word.
    pub fn read<R: Read>(reader: &mut R) -> Result<&'static str> {
        let len = u8::deserialize_reader(reader)?;
        if len > BYTES_MAX {
            return Err(invalid("a word is too long"));
        }
        let mut bytes = [0; BYTES_MAX as usize];
        let bytes = &mut bytes[..usize::from(len)];
        reader.read_exact(bytes)?;
        let word = str::from_utf8(bytes).map_err(|_| invalid("a word is no text"))?;
        let mut words = WORDS.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(word) = words.get(word) {
            return Ok(word);
        }
        if words.len() >= WORDS_MAX {
            return Err(invalid("there are too many words"));
        }
        let word: &'static str = Box::leak(Box::from(word));
        words.insert(word);
        Ok(word)
    }
}

/// A word, if there is one.
pub mod optional_word {
    use borsh::{BorshDeserialize, BorshSerialize};

    use super::{Read, Result, Write, word};

    /// # Errors
    ///
    /// If the writer fails, or the word is longer than 128 bytes.
    pub fn write<W: Write>(word: &Option<&'static str>, writer: &mut W) -> Result<()> {
        word.is_some().serialize(writer)?;
        word.iter().try_for_each(|it| word::write(it, writer))
    }

    /// # Errors
    ///
    /// If the reader fails, or the bytes are no word.
    pub fn read<R: Read>(reader: &mut R) -> Result<Option<&'static str>> {
        bool::deserialize_reader(reader)?.then(|| word::read(reader)).transpose()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rust_decimal::Decimal;

    use super::*;

    fn written(value: &Decimal) -> Vec<u8> {
        let mut bytes = Vec::new();
        decimal::write(value, &mut bytes).unwrap();
        bytes
    }

    #[test]
    fn a_price_takes_few_bytes() {
        assert_eq!(written(&Decimal::new(190, 2)).len(), 3);
        assert_eq!(written(&Decimal::ZERO), [0, 0]);
    }

    proptest! {
        #[test]
        fn decimals_keep_every_digit(
            lo: u32, mid: u32, hi: u32, negative: bool, scale in 0..=28_u32,
        ) {
            let value = Decimal::from_parts(lo, mid, hi, negative, scale);
            let read: Decimal = decimal::read(&mut &written(&value)[..]).unwrap();
            prop_assert_eq!(read.serialize(), value.serialize());
        }
    }
}

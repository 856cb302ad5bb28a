//! Betfair's `listMarketBook`: the answer to a poll, whole markets at a time.
//!
//! It comes as JSON-RPC (`result` with the books), as a bare list of books (the REST form) or as one
//! bare book; a list of JSON-RPC answers is taken too. An answer that breaks in the middle gives the
//! books before that place. An answer that is an error is one.
//!
//! Ignored: the bets at starting price (`sp`), `orders` and `matches`, which are the asker's own, and
//! what else there is of a book that [`MarketBook`] does not name.

use std::borrow::Cow;

use rust_decimal::Decimal;

use super::{Decoder, Json, PriceSize, Read, RunnerKey, quoted, value};
use crate::error::{DecodeError, Result};

/// What one answer says.
#[derive(Debug, Default)]
pub struct Answer<'a> {
    pub books: Vec<MarketBook<'a>>,
    /// What could not be used; the rest of the answer can. Never more than
    /// [`super::REFUSED_MAX`].
    pub refused: Vec<DecodeError>,
    /// Why the answer ends before its end, if it does.
    pub broken: Option<DecodeError>,
}

/// One market as it stands; always complete.
#[derive(Debug, Default)]
pub struct MarketBook<'a> {
    pub id: Cow<'a, str>,
    pub status: Option<Cow<'a, str>>,
    pub in_play: bool,
    /// The key of the asker gets no live data.
    pub delayed: bool,
    /// Matched on the whole market so far.
    pub total_matched: Option<Decimal>,
    pub number_of_winners: Option<u32>,
    /// Seconds.
    pub bet_delay: Option<u32>,
    pub runners: Vec<RunnerBook<'a>>,
}

#[derive(Debug, Default)]
pub struct RunnerBook<'a> {
    pub key: RunnerKey,
    pub status: Option<Cow<'a, str>>,
    /// The reduction factor, in percent.
    pub adjustment_factor: Option<Decimal>,
    /// ISO 8601, UTC.
    pub removal_date: Option<Cow<'a, str>>,
    /// The starting prices: projected near and far, and actual; 0 where there is none.
    pub near_price: Option<Decimal>,
    pub far_price: Option<Decimal>,
    pub actual_sp: Option<Decimal>,
    pub last_price_traded: Option<Decimal>,
    pub total_matched: Option<Decimal>,
    /// Absent if no prices were requested, which is not the same as none on offer.
    pub back: Option<Vec<PriceSize>>,
    pub lay: Option<Vec<PriceSize>>,
    pub traded: Option<Vec<PriceSize>>,
}

/// Reads one answer.
///
/// # Errors
///
/// When no book of it can be used, or it is an error itself.
pub fn decode(bytes: &[u8]) -> Result<Answer<'_>> {
    let json = Json::new(bytes).map_err(|fault| *fault)?;
    let mut decoder = Decoder { json, price_changes: 0, refused: Vec::new() };
    let mut books = Vec::new();
    let read = decoder.answer(&mut books).and_then(|()| decoder.json.end());
    let broken = read.err().map(|fault| *fault);
    match broken {
        Some(error) if books.is_empty() => Err(error),
        broken => Ok(Answer { books, refused: decoder.refused, broken }),
    }
}

impl<'a> Decoder<'a> {
    /// A list of answers or books, or one of them.
    fn answer(&mut self, books: &mut Vec<MarketBook<'a>>) -> Read<()> {
        if self.json.peek() != Some(b'[') {
            return self.book_or_envelope(books);
        }
        self.json.open(b'[')?;
        while self.json.element()? {
            self.book_or_envelope(books)?;
        }
        Ok(())
    }

    fn book_or_envelope(&mut self, books: &mut Vec<MarketBook<'a>>) -> Read<()> {
        if !self.is(b'{', "market book")? {
            return Ok(());
        }
        let mut id = None;
        let mut book = MarketBook::default();
        let mut is_envelope = false;
        self.json.open(b'{')?;
        while let Some(key) = self.json.key()? {
            match key {
                "result" => {
                    is_envelope = true;
                    self.answer(books)?;
                }
                "error" | "faultstring" => return Err(self.error()?),
                "marketId" => id = self.text("marketId")?,
                "status" => book.status = self.text("market status")?,
                "inplay" => book.in_play = self.flag("inplay")?,
                "isMarketDataDelayed" => book.delayed = self.flag("isMarketDataDelayed")?,
                "numberOfWinners" => book.number_of_winners = self.integer("numberOfWinners")?,
                "betDelay" => book.bet_delay = self.integer("betDelay")?,
                "totalMatched" => book.total_matched = self.amount("totalMatched")?,
                "runners" => book.runners = self.list("runners", Self::runner_book)?,
                _ => self.json.skip()?,
            }
        }
        if !is_envelope && let Some(id) = self.or_refuse(id, "a market book has no marketId") {
            books.push(MarketBook { id, ..book });
        }
        Ok(())
    }

    /// The answer is an error: a text, or an object with one.
    fn error(&mut self) -> Read<super::BoxedDecodeError> {
        let mut error_text = None;
        if self.json.peek() == Some(b'{') {
            self.json.open(b'{')?;
            while let Some(key) = self.json.key()? {
                match key {
                    "message" => error_text = self.text("message")?,
                    _ => self.json.skip()?,
                }
            }
        } else {
            error_text = self.text("error")?;
        }
        let reason =
            format!("the answer is an error: {}", quoted(error_text.as_deref().unwrap_or("?")));
        Ok(Box::new(value(reason)))
    }

    fn runner_book(&mut self) -> Read<Option<RunnerBook<'a>>> {
        if !self.is(b'{', "runner")? {
            return Ok(None);
        }
        let (mut id, mut hc) = (None, Some(Decimal::ZERO));
        let mut runner = RunnerBook::default();
        self.json.open(b'{')?;
        while let Some(key) = self.json.key()? {
            match key {
                "selectionId" => id = self.integer("selectionId")?,
                "handicap" => hc = self.handicap("handicap")?,
                "status" => runner.status = self.text("runner status")?,
                "adjustmentFactor" => {
                    runner.adjustment_factor = self.amount("adjustmentFactor")?;
                }
                "removalDate" => runner.removal_date = self.text("removalDate")?,
                "sp" => self.starting_prices(&mut runner)?,
                "lastPriceTraded" => runner.last_price_traded = self.amount("lastPriceTraded")?,
                "totalMatched" => runner.total_matched = self.amount("runner totalMatched")?,
                "ex" => self.exchange(&mut runner)?,
                _ => self.json.skip()?,
            }
        }
        let Some(id) = self.or_refuse(id, "a runner has no selectionId") else { return Ok(None) };
        let Some(hc) = hc else { return Ok(None) };
        runner.key = RunnerKey { id, hc };
        Ok(Some(runner))
    }

    fn exchange(&mut self, runner: &mut RunnerBook<'a>) -> Read<()> {
        if !self.is(b'{', "ex")? {
            return Ok(());
        }
        self.json.open(b'{')?;
        while let Some(key) = self.json.key()? {
            match key {
                "availableToBack" => runner.back = self.offered("availableToBack")?,
                "availableToLay" => runner.lay = self.offered("availableToLay")?,
                "tradedVolume" => runner.traded = self.offered("tradedVolume")?,
                _ => self.json.skip()?,
            }
        }
        Ok(())
    }

    fn starting_prices(&mut self, runner: &mut RunnerBook<'a>) -> Read<()> {
        if !self.is(b'{', "sp")? {
            return Ok(());
        }
        self.json.open(b'{')?;
        while let Some(key) = self.json.key()? {
            match key {
                "nearPrice" => runner.near_price = self.starting_price("nearPrice")?,
                "farPrice" => runner.far_price = self.starting_price("farPrice")?,
                "actualSP" => runner.actual_sp = self.starting_price("actualSP")?,
                _ => self.json.skip()?,
            }
        }
        Ok(())
    }

    /// A whole ladder; `None` where there is no list.
    fn offered(&mut self, what: &str) -> Read<Option<Vec<PriceSize>>> {
        match self.json.peek() {
            Some(b'[') => self.list(what, Self::offer).map(Some),
            _ => self.is(b'[', what).map(|_| None),
        }
    }

    /// `{"price": 2.5, "size": 10.0}`, neither of them negative.
    fn offer(&mut self) -> Read<Option<PriceSize>> {
        if !self.is(b'{', "offer")? {
            return Ok(None);
        }
        let (mut price, mut size) = (None, None);
        self.json.open(b'{')?;
        while let Some(key) = self.json.key()? {
            match key {
                "price" => price = self.decimal("price")?,
                "size" => size = self.decimal("size")?,
                _ => self.json.skip()?,
            }
        }
        let usable = |number: &Decimal| !number.is_sign_negative();
        let offer = price.filter(usable).zip(size.filter(usable));
        let offer = offer.map(|(price, size)| PriceSize { price, size });
        Ok(self.or_refuse(offer, "an offer lacks its price or its size"))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const BOOK: &str = r#"{"marketId":"1.5","status":"OPEN","inplay":true,"totalMatched":10.50,
        "runners":[{"selectionId":7,"handicap":-0.5,"status":"ACTIVE","lastPriceTraded":2.0,
        "ex":{"availableToBack":[{"price":1.9,"size":3}],"availableToLay":[]}}]}"#;

    #[track_caller]
    fn check(text: &str, expected: &str) {
        let decoded = match decode(text.as_bytes()) {
            Err(error) => format!("! {}", error.reason),
            Ok(answer) => {
                let books = answer.books.iter().map(|book| format!("{} ", book.id));
                let notices = answer.refused.iter().chain(&answer.broken);
                books.chain(notices.map(|it| format!("({}) ", it.reason))).collect()
            }
        };
        assert_eq!(decoded.trim(), expected, "of {text}");
    }

    #[test]
    fn four_forms_of_a_book_are_decoded() {
        check(BOOK, "1.5");
        check(&format!("[{BOOK},{BOOK}]"), "1.5 1.5");
        check(&format!(r#"{{"jsonrpc":"2.0","result":[{BOOK}],"id":1}}"#), "1.5");
        check(&format!(r#"[{{"result":[{BOOK}]}}]"#), "1.5");
        check(r#"{"jsonrpc":"2.0","result":[]}"#, "");
        check("[]", "");
    }

    #[test]
    fn book_is_read_without_rounding() {
        let answer = decode(BOOK.as_bytes()).unwrap();
        let runner = &answer.books[0].runners[0];
        assert_eq!((runner.key.id, runner.key.hc), (7, Decimal::new(-5, 1)));
        assert_eq!(runner.back.as_ref().map(Vec::len), Some(1));
        assert_eq!(runner.lay.as_ref().map(Vec::len), Some(0));
        assert!(runner.traded.is_none(), "it was not asked for");
        assert_eq!(answer.books[0].total_matched, Some(Decimal::new(105, 1)));
    }

    #[test]
    fn errors_and_damaged_books_are_reported() {
        let error = r#"{"jsonrpc":"2.0","error":{"code":-32099,"message":"ANGX-0003"}}"#;
        check(error, "! the answer is an error: ANGX-0003");
        check(r#"{"faultstring":"DSC-0018"}"#, "! the answer is an error: DSC-0018");
        check(r#"{"status":"OPEN"}"#, "(a market book has no marketId)");
        check("[5,null]", "(market book is of another type)");
        let cut = format!("[{BOOK},{}", &BOOK[..40]);
        let decoded = decode(cut.as_bytes()).unwrap();
        assert_eq!((decoded.books.len(), decoded.broken.is_some()), (1, true));
        check("{", "! the text ends at byte 1: neither a comma nor the closing bracket");
        let strange = BOOK.replace("\"size\":3", "\"size\":-3");
        check(&strange, "1.5 (an offer lacks its price or its size)");
    }

    proptest! {
        #[test]
        fn arbitrary_bytes_do_not_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            drop(decode(&bytes));
        }

        #[test]
        fn damaged_input_does_not_panic(at in 0..BOOK.len(), with in "[\\[\\]{},:0-9\"a-z-]{0,3}") {
            let mut text = BOOK.to_owned();
            text.replace_range(at..(at + 1), &with);
            drop(decode(text.as_bytes()));
        }
    }
}

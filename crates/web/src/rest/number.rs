//! Exact numbers in responses.

use rust_decimal::Decimal;
use serde::{Serialize, Serializer, ser::Error};
use serde_json::value::RawValue;
use utoipa::ToSchema;

/// A JSON number with the digits of the decimal, no more and no fewer: `2.50` stays `2.50`.
///
/// A price that went through a float would come out as another one now and then, and clients of this
/// interface read numbers, not texts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, ToSchema)]
#[schema(value_type = f64)]
pub struct Number(pub Decimal);

impl Serialize for Number {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        let digits = RawValue::from_string(self.0.to_string());
        digits.map_err(S::Error::custom)?.serialize(out)
    }
}

#[cfg(test)]
mod tests {
    use rust_decimal::dec;

    use super::*;

    #[test]
    fn digits_are_written_unchanged() {
        let prices = [dec!(2.50), dec!(1.01), dec!(-0.25), dec!(1000), dec!(0.1234567890123456789)];
        let prices = prices.map(|price| Some(Number(price)));
        let text = serde_json::to_string(&prices).unwrap();
        assert_eq!(text, "[2.50,1.01,-0.25,1000,0.1234567890123456789]");
    }
}

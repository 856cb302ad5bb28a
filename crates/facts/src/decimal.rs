//! Comparisons of decimals, which are made several times for each level of a ladder.
//!
//! The results are those of [`Decimal`]'s own operators. Values of up to 64 bits, which nearly all are, take a multiplication at most.

use std::cmp::Ordering;

use rust_decimal::Decimal;

/// The powers of ten that fit 64 bits.
const POWERS: [i64; 19] = {
    let mut powers = [1; 19];
    let mut exponent = 1;
    while exponent < powers.len() {
        powers[exponent] = powers[exponent - 1] * 10;
        exponent += 1;
    }
    powers
};

/// Compares two values, whatever their trailing zeros.
#[must_use]
#[inline]
pub fn compare(one: Decimal, other: Decimal) -> Ordering {
    let (one_units, other_units) = (one.mantissa(), other.mantissa());
    let (one_scale, other_scale) = (one.scale(), other.scale());
    let compared = match one_scale.cmp(&other_scale) {
        Ordering::Equal => Some(one_units.cmp(&other_units)),
        Ordering::Less => {
            scaled(one_units, other_scale - one_scale).map(|units| units.cmp(&other_units))
        }
        Ordering::Greater => {
            scaled(other_units, one_scale - other_scale).map(|units| one_units.cmp(&units))
        }
    };
    compared.unwrap_or_else(|| one.cmp(&other))
}

/// Whether two values are equal, whatever their trailing zeros.
#[must_use]
#[inline]
pub fn is_equal(one: Decimal, other: Decimal) -> bool {
    compare(one, other) == Ordering::Equal
}

/// Whether both are absent, or equal.
#[must_use]
#[inline]
pub fn are_equal(one: Option<Decimal>, other: Option<Decimal>) -> bool {
    match (one, other) {
        (Some(one), Some(other)) => is_equal(one, other),
        (None, None) => true,
        (Some(_), None) | (None, Some(_)) => false,
    }
}

/// `units` times ten to the `places`, if both factors are short.
#[inline]
fn scaled(units: i128, places: u32) -> Option<i128> {
    let factor = POWERS.get(places as usize)?;
    Some(i128::from(i64::try_from(units).ok()?) * i128::from(*factor))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn decimals() -> impl Strategy<Value = Decimal> {
        let parts = (any::<u32>(), any::<u32>(), any::<u32>(), any::<bool>(), 0..=28_u32);
        let any_size = parts.prop_map(|(low, middle, high, negative, places)| {
            Decimal::from_parts(low, middle, high, negative, places)
        });
        let short = |(units, places)| Decimal::new(units, places);
        prop_oneof![
            any_size,
            (any::<i64>(), 0..28_u32).prop_map(short),
            (-120_i64..120, 0..4_u32).prop_map(short),
            Just(-Decimal::ZERO),
        ]
    }

    proptest! {
        #[test]
        fn comparison_is_that_of_the_type(one in decimals(), other in decimals()) {
            prop_assert_eq!(compare(one, other), one.cmp(&other));
            prop_assert_eq!(is_equal(one, other), one == other);
        }

        #[test]
        fn trailing_zeros_do_not_count(units in -9_000_i64..9_000, places in 0..5_u32, zeros in 0..9_u32) {
            let padded = Decimal::new(units * 10_i64.pow(zeros), places + zeros);
            prop_assert!(is_equal(Decimal::new(units, places), padded));
        }
    }
}

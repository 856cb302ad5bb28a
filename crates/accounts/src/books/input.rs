//! What an operator types about a customer, on the command line and on pages.

use rust_decimal::Decimal;

/// A note in the ledger is one printable line.
pub fn note(text: &str) -> Result<String, &'static str> {
    const LENGTH_MAX: usize = 500;
    let text = text.trim();
    let usable = !text.is_empty() && text.len() <= LENGTH_MAX && !text.contains(char::is_control);
    usable.then(|| text.to_owned()).ok_or("expected one line of 1 to 500 bytes")
}

/// Money is a plain decimal above zero, with two places at most.
pub fn amount(text: &str) -> Result<Decimal, &'static str> {
    let plain = text.bytes().all(|b| b.is_ascii_digit() || b == b'.');
    let amount = text.parse::<Decimal>().ok().filter(|_| plain);
    amount
        .filter(|it| *it > Decimal::ZERO && it.scale() <= 2)
        .ok_or("expected an amount such as 2.50")
}

//! Initials, and letters drawn as strokes, so that no font has to be shipped.

use unicode_normalization::UnicodeNormalization;

/// Common words in names of clubs, which are skipped.
const COMMON: [&str; 18] = [
    "AC", "AFC", "AS", "BC", "CD", "CF", "CLUB", "DE", "FC", "FK", "HC", "IF", "KC", "OF", "SC",
    "SK", "THE", "TEAM",
];

/// Up to three letters or digits that stand for a name; empty if it has none in Latin script.
pub(super) fn initials(name: &str) -> String {
    let mut plain = String::with_capacity(name.len());
    for c in name.chars().take(80).nfkd() {
        match c {
            'ß' => plain.push_str("SS"),
            'Æ' | 'æ' => plain.push('A'),
            'Œ' | 'œ' | 'Ø' | 'ø' => plain.push('O'),
            'Ł' | 'ł' => plain.push('L'),
            'Đ' | 'đ' | 'Ð' | 'ð' => plain.push('D'),
            c if c.is_ascii_alphanumeric() => plain.push(c.to_ascii_uppercase()),
            ' ' | '-' | '/' | '.' | ',' | '&' | '_' => plain.push(' '),
            // Drops accents and apostrophes; letters of other scripts have no strokes.
            _ => {}
        }
    }
    let words: Vec<&str> = plain.split_whitespace().collect();
    let distinctive: Vec<&str> = words.iter().copied().filter(|it| !COMMON.contains(it)).collect();
    let words = if distinctive.is_empty() { words } else { distinctive };
    match words.as_slice() {
        [one] => one.chars().take(3).collect(),
        words => words.iter().take(3).filter_map(|word| word.chars().next()).collect(),
    }
}

/// A letter's width and its strokes, 6 units high.
fn strokes(letter: char) -> Option<(f32, &'static str)> {
    Some(match letter {
        'A' => (4.4, "M0 6L2.2 0L4.4 6M.8 4H3.6"),
        'B' => (4.0, "M0 0V6H2.4A1.5 1.5 0 0 0 2.4 3H0M0 0H2.2A1.5 1.5 0 0 1 2.2 3"),
        'C' => (3.7, "M3.5.9A2 3 0 1 0 3.5 5.1"),
        'D' => (4.0, "M0 0V6H1.2A2.8 3 0 0 0 1.2 0Z"),
        'E' => (3.4, "M3.4 0H0V6H3.4M0 3H2.8"),
        'F' => (3.4, "M3.4 0H0V6M0 3H2.8"),
        'G' => (4.0, "M3.6.9A2 3 0 1 0 4 3.4H2.3"),
        'H' => (4.0, "M0 0V6M4 0V6M0 3H4"),
        'I' => (0.6, "M.3 0V6"),
        'J' => (3.0, "M3 0V4.4A1.5 1.6 0 0 1 0 4.4"),
        'K' => (4.0, "M0 0V6M3.8 0L0 3.7M1.3 2.5L4 6"),
        'L' => (3.2, "M0 0V6H3.2"),
        'M' => (4.6, "M0 6V0L2.3 4L4.6 0V6"),
        'N' => (4.0, "M0 6V0L4 6V0"),
        'O' => (4.2, "M2.1 0A2.1 3 0 1 0 2.1 6A2.1 3 0 1 0 2.1 0Z"),
        'P' => (3.9, "M0 6V0H2.3A1.6 1.6 0 0 1 2.3 3.2H0"),
        'Q' => (4.3, "M2.1 0A2.1 3 0 1 0 2.1 6A2.1 3 0 1 0 2.1 0ZM2.6 4.4L4.3 6.2"),
        'R' => (3.9, "M0 6V0H2.3A1.6 1.6 0 0 1 2.3 3.2H0M1.9 3.2L3.9 6"),
        'S' => (
            3.8,
            "M3.5.9C3 .2 2.4 0 1.9 0C.8 0 .2.7.2 1.5C.2 3.7 3.8 2.4 3.8 4.5C3.8 5.4 3 6 1.9 6C1.1 6 \
             .4 5.6 0 4.9",
        ),
        'T' => (4.0, "M0 0H4M2 0V6"),
        'U' => (4.0, "M0 0V4A2 2 0 0 0 4 4V0"),
        'V' => (4.2, "M0 0L2.1 6L4.2 0"),
        'W' => (5.8, "M0 0L1.5 6L2.9 1.6L4.3 6L5.8 0"),
        'X' => (4.0, "M0 0L4 6M4 0L0 6"),
        'Y' => (4.0, "M0 0L2 3L4 0M2 3V6"),
        'Z' => (3.8, "M0 0H3.8L0 6H3.8"),
        '0' => (3.6, "M1.8 0A1.8 3 0 1 0 1.8 6A1.8 3 0 1 0 1.8 0Z"),
        '1' => (1.6, "M0 1.2L1.6 0V6"),
        '2' => (3.8, "M.1 1.6C.2.5 1 0 1.9 0C3 0 3.6.8 3.6 1.7C3.6 3 2.4 3.8 0 6H3.8"),
        '3' => {
            (3.7, "M.2 0H3.6L1.6 2.4C3 2.4 3.7 3.2 3.7 4.2C3.7 5.3 2.9 6 1.8 6C1 6 .4 5.7 0 5.1")
        }
        '4' => (4.0, "M3 6V0L0 4.3H4"),
        '5' => (
            3.7,
            "M3.4 0H.6L.3 2.7C.8 2.3 1.3 2.2 1.8 2.2C3 2.2 3.7 3 3.7 4.1C3.7 5.3 2.9 6 1.8 6C1 6 .4 \
             5.7 0 5.1",
        ),
        '6' => (3.8, "M3.1 0C1.2.9.1 2.5.1 4.1A1.85 1.9 0 1 0 3.8 4.1A1.85 1.9 0 1 0 .1 4.1"),
        '7' => (3.8, "M0 0H3.8L1.3 6"),
        '8' => (
            3.8,
            "M1.9 0A1.5 1.4 0 1 0 1.9 2.8A1.5 1.4 0 1 0 1.9 0ZM1.9 2.8A1.9 1.6 0 1 0 1.9 6A1.9 1.6 \
             0 1 0 1.9 2.8Z",
        ),
        '9' => (3.8, "M.7 6C2.6 5.1 3.7 3.5 3.7 1.9A1.85 1.9 0 1 0 0 1.9A1.85 1.9 0 1 0 3.7 1.9"),
        _ => return None,
    })
}

/// The gap between two letters.
const GAP: f32 = 1.7;

/// Letters as SVG, centred in a box of this width and height.
pub(super) fn svg(
    text: &str,
    ink: &str,
    (x, y): (f32, f32),
    (width, height): (f32, f32),
) -> String {
    let letters: Vec<_> = text.chars().filter_map(strokes).collect();
    let gaps = GAP * (letters.len().saturating_sub(1) as f32);
    let own_width = letters.iter().map(|(width, _)| width).sum::<f32>() + gaps;
    // Including half a stroke on each side.
    let scale = (height / 7.2).min(width / (own_width + 1.2));
    let (left, top) = (x - own_width * scale / 2.0, y - 3.0 * scale);
    let mut at = 0.0;
    let mut svg = format!(
        r#"<g transform="translate({left:.2} {top:.2}) scale({scale:.3})" fill="none" stroke="{ink}" stroke-width="1.15" stroke-linecap="round" stroke-linejoin="round">"#
    );
    for (width, path) in letters {
        svg += &format!(r#"<path transform="translate({at:.2} 0)" d="{path}"/>"#);
        at += width + GAP;
    }
    svg + "</g>"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn initials_stand_for_names() {
        for (name, expected) in [
            ("Manchester United", "MU"),
            ("Arsenal FC", "ARS"),
            ("FC", "FC"),
            ("1. FC Köln", "1K"),
            ("Łódź Sport Klub Ost", "LSK"),
            ("O'Neil", "ONE"),
            ("Ελλάς", ""),
            ("<script>\"&", "SCR"),
            ("", ""),
        ] {
            assert_eq!(initials(name), expected, "{name}");
        }
    }

    #[test]
    fn every_letter_and_digit_has_strokes() {
        for letter in ('A'..='Z').chain('0'..='9') {
            assert!(strokes(letter).is_some(), "{letter}");
        }
    }
}

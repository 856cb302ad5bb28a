//! A receipt as a PDF.

use pdf_writer::{Content, Finish, Name, Pdf, Rect, Ref, Str, TextStr};

use super::Receipt;

/// A page of A4, and where its text begins, in points.
const PAGE: Rect = Rect { x1: 0.0, y1: 0.0, x2: 595.0, y2: 842.0 };
const LEFT: f32 = 72.0;
const TOP: f32 = 760.0;
/// Where values begin beside their names.
const VALUES: f32 = 150.0;
const LINE: f32 = 18.0;
const TITLE_SIZE: f32 = 20.0;
const TEXT_SIZE: f32 = 11.0;

/// A PDF of one page.
pub(super) fn render(receipt: &Receipt) -> Vec<u8> {
    let [catalog, pages, page, font, text, information] = [1, 2, 3, 4, 5, 6].map(Ref::new);
    let name = Name(b"F1");
    let mut pdf = Pdf::new();
    pdf.catalog(catalog).pages(pages);
    pdf.pages(pages).kids([page]).count(1);
    let mut writer = pdf.page(page);
    writer.media_box(PAGE).parent(pages).contents(text);
    writer.resources().fonts().pair(name, font);
    writer.finish();
    // One of the fonts that every reader has.
    let mut writer = pdf.type1_font(font);
    writer.base_font(Name(b"Helvetica")).encoding_predefined(Name(b"WinAnsiEncoding"));
    writer.finish();
    pdf.document_info(information).title(TextStr("Receipt"));
    pdf.stream(text, &page_content(receipt, name));
    pdf.finish()
}

fn page_content(receipt: &Receipt, font: Name<'_>) -> Vec<u8> {
    let mut content = Content::new();
    let mut y = TOP;
    let mut write = |x: f32, y: f32, size: f32, text: &str| {
        content.begin_text();
        content.set_font(font, size);
        content.next_line(x, y);
        content.show(Str(&win_ansi(text)));
        content.end_text();
    };
    write(LEFT, y, TITLE_SIZE, "Receipt");
    y -= 2.0 * LINE;
    for line in receipt.seller.lines() {
        write(LEFT, y, TEXT_SIZE, line);
        y -= LINE;
    }
    y -= LINE;
    for (name, value) in receipt.rows() {
        write(LEFT, y, TEXT_SIZE, &name);
        write(VALUES, y, TEXT_SIZE, &value);
        y -= LINE;
    }
    content.finish().to_vec()
}

/// Text in the encoding of the font.
fn win_ansi(text: &str) -> Vec<u8> {
    let byte = |character: char| match character {
        '€' => 0x80,
        '–' => 0x96,
        '\u{20}'..='\u{7e}' | '\u{a0}'..='\u{ff}' => {
            u8::try_from(u32::from(character)).unwrap_or(b'?')
        }
        _ => b'?',
    };
    text.chars().map(byte).collect()
}

#[cfg(test)]
mod tests {
    use super::{super::tests::receipt, *};

    #[test]
    fn pdf_has_the_same_in_the_encoding_of_its_font() {
        let pdf = render(&receipt("0", "19"));
        assert!(pdf.starts_with(b"%PDF-1.7") && pdf.ends_with(b"%%EOF"), "{pdf:?}");
        let has = |part: &[u8]| pdf.windows(part.len()).any(|window| window == part);
        assert!(has(b"(30.00 EUR) Tj") && has(b"(22 November 2026) Tj"));
        assert_eq!(win_ansi("Söhne × €–漢"), b"S\xf6hne \xd7 \x80\x96?");
    }
}

//! The options of a request for an image.

use std::borrow::Cow;

/// The format of an image.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    Png,
    Webp,
}

impl Format {
    #[must_use]
    pub fn mime(self) -> &'static str {
        match self {
            Self::Png => "image/png",
            Self::Webp => "image/webp",
        }
    }
}

/// Side lengths of images, in pixels. Requested sizes are rounded up to one of them, so that few are
/// rendered.
pub(super) const SIZES: [u32; 11] = [16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512];

const SIZE_DEFAULT: u32 = 128;

/// Size, format, and whether to remove the background.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ImageOptions {
    /// Pixels per side.
    pub size: u32,
    pub format: Format,
    pub cut_out: bool,
}

impl ImageOptions {
    /// Reads the query and the header `Accept`. Other parameters are ignored, as clients often add one to
    /// bypass caches.
    ///
    /// # Errors
    ///
    /// What is wrong with a value, as a sentence.
    pub fn read(query: Option<&str>, accept: &str) -> Result<Self, &'static str> {
        let mut options = Self { size: SIZE_DEFAULT, format: Format::Png, cut_out: false };
        let (mut format, mut is_transparent) = (None, false);
        for (name, value) in form_urlencoded::parse(query.unwrap_or_default().as_bytes()) {
            match (&*name, value.trim()) {
                ("size" | "format", "") => {}
                ("size", text) => options.size = size(text).ok_or(WRONG_SIZE)?,
                ("format", text) => format = Some(named(text).ok_or(WRONG_FORMAT)?),
                ("bg", text) => is_transparent = text.eq_ignore_ascii_case("transparent"),
                ("sor", text) => options.cut_out |= is_true(text),
                _ => {}
            }
        }
        options.cut_out |= is_transparent;
        // A cut-out is a PNG unless the URL says otherwise: SERVICE section 4.1.
        let takes_webp = accept.split(',').any(takes_webp) && !is_transparent;
        options.format = format.unwrap_or(if takes_webp { Format::Webp } else { Format::Png });
        Ok(options)
    }
}

const WRONG_SIZE: &str = "size is to be a number of pixels, from 16 to 512.";
const WRONG_FORMAT: &str = "format is to be png or webp.";

/// Sizes out of range become the smallest or the largest.
fn size(text: &str) -> Option<u32> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let requested = digits.then(|| text.parse().unwrap_or(u32::MAX))?;
    let largest = SIZES[SIZES.len() - 1];
    Some(SIZES.into_iter().find(|size| *size >= requested).unwrap_or(largest))
}

fn named(text: &str) -> Option<Format> {
    match text.to_ascii_lowercase().as_str() {
        "png" => Some(Format::Png),
        "webp" => Some(Format::Webp),
        _ => None,
    }
}

fn is_true(text: &str) -> bool {
    ["true", "1", "yes"].contains(&&*text.to_ascii_lowercase())
}

/// Whether an entry of `Accept` names WebP without rejecting it.
fn takes_webp(entry: &str) -> bool {
    let mut parts = entry.split(';').map(str::trim);
    let is_webp = parts.next().is_some_and(|kind| kind.eq_ignore_ascii_case("image/webp"));
    let quality = parts.find_map(|part| part.strip_prefix("q=").map(Cow::from));
    is_webp && quality.is_none_or(|quality| quality.parse::<f32>().is_ok_and(|it| it > 0.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(query: &str, accept: &str, expected: (u32, Format, bool)) {
        let options = ImageOptions::read(Some(query), accept).unwrap();
        assert_eq!((options.size, options.format, options.cut_out), expected, "{query} {accept}");
    }

    #[test]
    fn size_format_and_background_are_read() {
        check("", "", (128, Format::Png, false));
        check("", "image/avif,image/webp,*/*;q=0.8", (128, Format::Webp, false));
        check("", "image/webp;q=0, image/png", (128, Format::Png, false));
        check("format=png&size=64&v=3", "image/webp", (64, Format::Png, false));
        check("size=65", "", (96, Format::Png, false));
        check("size=1", "", (16, Format::Png, false));
        check("size=99999999999999999999", "", (512, Format::Png, false));
        check("bg=transparent", "image/webp", (128, Format::Png, true));
        check("bg=transparent&format=webp", "", (128, Format::Webp, true));
        check("sor=true", "image/webp", (128, Format::Webp, true));
        assert_eq!(ImageOptions::read(Some("size=large"), ""), Err(WRONG_SIZE));
        assert_eq!(ImageOptions::read(Some("size=-1"), ""), Err(WRONG_SIZE));
        assert_eq!(ImageOptions::read(Some("format=gif"), ""), Err(WRONG_FORMAT));
    }
}

//! SVG to pixels, and pixels to the bytes of an image.

use bytes::Bytes;
use image_webp::{ColorType, WebPEncoder};
use resvg::{
    tiny_skia::{Pixmap, Transform},
    usvg::{ImageHrefResolver, Options, Tree},
};

use super::{Format, ImageError};

fn failed(error: impl std::fmt::Display) -> ImageError {
    ImageError::Failed(error.to_string())
}

fn blank(size: u32) -> Result<Pixmap, ImageError> {
    Pixmap::new(size, size).ok_or_else(|| failed("no pixels"))
}

/// Renders a drawing in the centre of a square with this many pixels per side. External references are not
/// loaded.
pub(super) fn svg(text: &str, size: u32) -> Result<Pixmap, ImageError> {
    let image_href_resolver = ImageHrefResolver {
        resolve_data: Box::new(|_, _, _| None),
        resolve_string: Box::new(|_, _| None),
    };
    let options = Options { image_href_resolver, ..Options::default() };
    let tree = Tree::from_str(text, &options).map_err(failed)?;
    let (width, height) = (tree.size().width(), tree.size().height());
    let mut pixels = blank(size)?;
    let placed = placed(size, width, height);
    resvg::render(&tree, placed, &mut pixels.as_mut());
    Ok(pixels)
}

/// Scales pixels and centres them in a square.
pub(super) fn scaled(source: &Pixmap, size: u32) -> Result<Pixmap, ImageError> {
    use resvg::tiny_skia::{FilterQuality, PixmapPaint};

    // Shrinking by more than half at a time would skip pixels.
    let (mut width, mut height) = (source.width(), source.height());
    let mut halved = None::<Pixmap>;
    while width.max(height) >= size.saturating_mul(2) {
        (width, height) = (width.div_ceil(2), height.div_ceil(2));
        let smaller = half(halved.as_ref().unwrap_or(source), width, height)?;
        halved = Some(smaller);
    }
    let source = halved.as_ref().unwrap_or(source);
    let mut pixels = blank(size)?;
    let paint = PixmapPaint { quality: FilterQuality::Bicubic, ..PixmapPaint::default() };
    let placed = placed(size, width as f32, height as f32);
    pixels.draw_pixmap(0, 0, source.as_ref(), &paint, placed, None);
    Ok(pixels)
}

/// Averages blocks of four pixels.
fn half(source: &Pixmap, width: u32, height: u32) -> Result<Pixmap, ImageError> {
    let mut pixels = Pixmap::new(width, height).ok_or_else(|| failed("no pixels"))?;
    let (from_width, from_height) = (source.width() as usize, source.height() as usize);
    let from = source.data();
    for (index, to) in pixels.data_mut().chunks_exact_mut(4).enumerate() {
        let (x, y) = (2 * (index % width as usize), 2 * (index / width as usize));
        let (right, below) = ((x + 1).min(from_width - 1), (y + 1).min(from_height - 1));
        let corners = [(x, y), (right, y), (x, below), (right, below)];
        for (channel, to) in to.iter_mut().enumerate() {
            let at = |(x, y): (usize, usize)| u16::from(from[4 * (y * from_width + x) + channel]);
            let sum: u16 = corners.map(at).iter().sum();
            *to = u8::try_from((sum + 2) / 4).unwrap_or(u8::MAX);
        }
    }
    Ok(pixels)
}

fn placed(size: u32, width: f32, height: f32) -> Transform {
    let side = size as f32;
    let scale = side / width.max(height);
    let (left, top) = ((side - width * scale) / 2.0, (side - height * scale) / 2.0);
    Transform::from_scale(scale, scale).post_translate(left, top)
}

pub(super) fn encoded(pixels: Pixmap, format: Format) -> Result<Bytes, ImageError> {
    match format {
        Format::Png => pixels.encode_png().map(Bytes::from).map_err(failed),
        Format::Webp => {
            let (width, height) = (pixels.width(), pixels.height());
            let mut bytes = Vec::new();
            let encoder = WebPEncoder::new(&mut bytes);
            let data = pixels.take_demultiplied();
            encoder.encode(&data, width, height, ColorType::Rgba8).map_err(failed)?;
            Ok(bytes.into())
        }
    }
}

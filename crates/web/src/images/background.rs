//! Removes a flat background, from the edges inwards.

use resvg::tiny_skia::Pixmap;

/// The tolerance per channel.
const NEAR: u8 = 24;

/// Makes pixels transparent that match the corners and connect to an edge. Changes nothing if the corners
/// differ in colour or are transparent already.
pub(super) fn remove(pixels: &mut Pixmap) {
    let (width, height) = (pixels.width() as usize, pixels.height() as usize);
    let data = pixels.data_mut();
    let at = |x: usize, y: usize| 4 * (y * width + x);
    let pixel_at = |data: &[u8], offset: usize| {
        [data[offset], data[offset + 1], data[offset + 2], data[offset + 3]]
    };
    let corners = [at(0, 0), at(width - 1, 0), at(0, height - 1), at(width - 1, height - 1)];
    let ground = pixel_at(data, corners[0]);
    let is_like = |pixel: [u8; 4]| pixel.iter().zip(ground).all(|(a, b)| a.abs_diff(b) <= NEAR);
    if ground[3] != u8::MAX || !corners.iter().all(|offset| is_like(pixel_at(data, *offset))) {
        return;
    }
    let edges = (0..width).flat_map(|x| [(x, 0), (x, height - 1)]);
    let edges = edges.chain((0..height).flat_map(|y| [(0, y), (width - 1, y)]));
    let mut open: Vec<(usize, usize)> = edges.collect();
    while let Some((x, y)) = open.pop() {
        let offset = at(x, y);
        let pixel = pixel_at(data, offset);
        if pixel[3] == 0 || !is_like(pixel) {
            continue;
        }
        data[offset..offset + 4].fill(0);
        let steps = [(x.wrapping_sub(1), y), (x + 1, y), (x, y.wrapping_sub(1)), (x, y + 1)];
        open.extend(steps.into_iter().filter(|(x, y)| *x < width && *y < height));
    }
}

#[cfg(test)]
mod tests {
    use resvg::tiny_skia::{Color, Paint, Rect, Transform};

    use super::*;

    /// A red square with a white hole on a background of this colour.
    fn picture(ground: Color) -> Pixmap {
        let mut pixels = Pixmap::new(32, 32).unwrap();
        pixels.fill(ground);
        for (colour, near, side) in
            [(Color::from_rgba8(200, 0, 0, 255), 8.0, 16.0), (ground, 14.0, 4.0)]
        {
            let mut paint = Paint::default();
            paint.set_color(colour);
            let square = Rect::from_xywh(near, near, side, side).unwrap();
            pixels.fill_rect(square, &paint, Transform::identity(), None);
        }
        pixels
    }

    fn alpha(pixels: &Pixmap, x: u32, y: u32) -> u8 {
        pixels.pixel(x, y).unwrap().alpha()
    }

    #[test]
    fn flat_background_is_removed_and_the_subject_stays() {
        let mut pixels = picture(Color::WHITE);
        remove(&mut pixels);
        let alphas = [(0, 0), (31, 31), (10, 10), (15, 15)].map(|(x, y)| alpha(&pixels, x, y));
        assert_eq!(alphas, [0, 0, 255, 255], "the hole cannot be reached from an edge");
    }

    #[test]
    fn background_of_several_colours_stays() {
        let mut pixels = picture(Color::WHITE);
        pixels.data_mut()[..4].copy_from_slice(&[0, 0, 90, 255]);
        let before = pixels.data().to_vec();
        remove(&mut pixels);
        assert_eq!(pixels.data(), before);
    }
}

//! An operator's own images: `{type}/{id}.png`, `.webp` or `.svg` below a folder.
//!
//! Paths consist of a known type and a number, so that no request leads outside the folder.

use std::{
    fs::{self, File},
    io::{Cursor, Read as _},
    path::PathBuf,
    time::UNIX_EPOCH,
};

use image_webp::WebPDecoder;
use resvg::tiny_skia::{IntSize, Pixmap};

use super::{ImageError, ImageKind, ImageOptions, background, render};
use record::Key;

/// Maximum pixels per side. A small file may declare many, and each takes four bytes here.
const SIDE_MAX: u32 = 4096;

#[derive(Debug, Clone)]
pub(super) struct Files {
    folder: PathBuf,
    bytes_max: u64,
}

/// The format of a file.
#[derive(Debug, Clone, Copy)]
enum FileFormat {
    Png,
    Webp,
    Svg,
}

impl FileFormat {
    const ALL: [(Self, &'static str); 3] =
        [(Self::Png, "png"), (Self::Webp, "webp"), (Self::Svg, "svg")];
}

/// An existing file.
#[derive(Debug)]
pub(super) struct ImageFile {
    path: PathBuf,
    format: FileFormat,
    length: u64,
    changed: u128,
    bytes_max: u64,
}

impl Files {
    pub(super) fn new(folder: PathBuf, bytes_max: usize) -> Self {
        Self { folder, bytes_max: bytes_max as u64 }
    }

    pub(super) fn find(&self, kind: ImageKind, id: Key) -> Option<ImageFile> {
        FileFormat::ALL.into_iter().find_map(|(format, ending)| {
            let path = self.folder.join(kind.path()).join(format!("{id}.{ending}"));
            let about = fs::metadata(&path).ok().filter(fs::Metadata::is_file)?;
            let changed = about.modified().ok()?.duration_since(UNIX_EPOCH).ok()?.as_nanos();
            Some(ImageFile {
                path,
                format,
                length: about.len(),
                changed,
                bytes_max: self.bytes_max,
            })
        })
    }
}

impl ImageFile {
    /// Changes with the file.
    pub(super) fn version(&self) -> Vec<u8> {
        let path = self.path.as_os_str().as_encoded_bytes();
        [&self.length.to_be_bytes()[..], &self.changed.to_be_bytes()[..], path].concat()
    }

    pub(super) fn pixels(&self, options: ImageOptions) -> Result<Pixmap, ImageError> {
        let bytes = self.read()?;
        let mut pixels = match self.format {
            FileFormat::Svg => {
                let text = String::from_utf8(bytes).map_err(|error| self.wrong(error))?;
                return render::svg(&text, options.size);
            }
            FileFormat::Png => self.png(&bytes)?,
            FileFormat::Webp => self.webp(bytes)?,
        };
        if options.cut_out {
            background::remove(&mut pixels);
        }
        render::scaled(&pixels, options.size)
    }

    fn read(&self) -> Result<Vec<u8>, ImageError> {
        let file = File::open(&self.path).map_err(|error| self.wrong(error))?;
        let mut bytes = Vec::new();
        let mut read = file.take(self.bytes_max + 1);
        read.read_to_end(&mut bytes).map_err(|error| self.wrong(error))?;
        if bytes.len() as u64 > self.bytes_max {
            return Err(self.wrong("larger than images.file_bytes_max"));
        }
        Ok(bytes)
    }

    /// The first block of a PNG has the size, which is checked before memory for pixels is allocated.
    fn png(&self, bytes: &[u8]) -> Result<Pixmap, ImageError> {
        let side = |offset: usize| {
            let four = bytes.get(offset..offset + 4)?;
            Some(u32::from_be_bytes(four.try_into().ok()?))
        };
        self.check_sides(side(16).unwrap_or(0), side(20).unwrap_or(0))?;
        Pixmap::decode_png(bytes).map_err(|error| self.wrong(error))
    }

    fn webp(&self, bytes: Vec<u8>) -> Result<Pixmap, ImageError> {
        let mut decoder =
            WebPDecoder::new(Cursor::new(bytes)).map_err(|error| self.wrong(error))?;
        let (width, height) = decoder.dimensions();
        self.check_sides(width, height)?;
        let length = decoder.output_buffer_size().ok_or_else(|| self.wrong("no pixels"))?;
        let mut colours = vec![0; length];
        decoder.read_image(&mut colours).map_err(|error| self.wrong(error))?;
        let pixels = if decoder.has_alpha() {
            colours
        } else {
            colours.chunks_exact(3).flat_map(|it| [it[0], it[1], it[2], u8::MAX]).collect()
        };
        let size = IntSize::from_wh(width, height).ok_or_else(|| self.wrong("no pixels"))?;
        let premultiplied = pixels.chunks_exact(4).flat_map(|pixel| {
            let alpha = u16::from(pixel[3]);
            let scaled = |part: u8| u8::try_from(u16::from(part) * alpha / 255).unwrap_or(u8::MAX);
            [scaled(pixel[0]), scaled(pixel[1]), scaled(pixel[2]), pixel[3]]
        });
        Pixmap::from_vec(premultiplied.collect(), size).ok_or_else(|| self.wrong("no pixels"))
    }

    fn check_sides(&self, width: u32, height: u32) -> Result<(), ImageError> {
        let fits = |side: u32| (1..=SIDE_MAX).contains(&side);
        if fits(width) && fits(height) {
            return Ok(());
        }
        Err(self.wrong(format!("{width} by {height} pixels, more than {SIDE_MAX} a side")))
    }

    fn wrong(&self, problem: impl std::fmt::Display) -> ImageError {
        ImageError::Failed(format!("{}: {problem}", self.path.display()))
    }
}

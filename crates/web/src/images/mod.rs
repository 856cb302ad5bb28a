//! Images of teams, people, competitions and venues: an operator's own files, otherwise drawings.
//!
//! In: a [`Subject`] and [`ImageOptions`]. Out: the bytes of a PNG or WebP. A drawing depends only on the id
//! and the name, so it never changes and is the same on every hub, and no real crest or face is copied. The
//! number of concurrent renders is limited, and the most recently used images are cached, up to a number of
//! bytes. This module knows neither HTTP nor the archive.

mod background;
mod cache;
mod crest;
mod files;
mod initials;
mod kind;
mod palette;
mod pitch;
mod portrait;
mod render;
mod request;

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use base::work::{self, Busy, FairQueue, Pool, QueueLimits};
use bytes::Bytes;
use data_encoding::HEXLOWER;
use sha2::{Digest, Sha256};
use tokio::time::timeout;

use self::{
    cache::Cache,
    files::{Files, ImageFile},
    palette::Seed,
};
pub use self::{
    kind::ImageKind,
    request::{Format, ImageOptions},
};
use crate::config::ImagesConfig;
use record::Key;

/// Incremented when drawings change, since clients cache them for a year.
const VERSION: u8 = 1;

/// How long a request waits for a render slot, and how many wait.
const PATIENCE: Duration = Duration::from_secs(5);
const WAITING_MAX: usize = 512;

/// What the image shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Subject {
    pub kind: ImageKind,
    pub id: Key,
    /// `None` if the id is unknown; then only a file can exist.
    pub name: Option<Arc<str>>,
}

/// The result of a look-up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ImageLookup {
    Image {
        /// Changes if and only if the bytes change.
        tag: String,
        /// `None` if the caller has the image with this tag.
        bytes: Option<Bytes>,
    },
    /// The subject is known, but has no image.
    Missing,
    Unknown,
}

/// Why there is no image right now.
#[derive(Debug, thiserror::Error)]
pub enum ImageError {
    #[error("too many images are being rendered")]
    Busy,
    #[error("cannot render an image: {0}")]
    Failed(String),
}

/// A handle; clones share it.
#[derive(Debug, Clone)]
pub struct Images {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    files: Option<Files>,
    draws: bool,
    slots: FairQueue,
    cache: Mutex<Cache>,
}

/// What an image is made from.
#[derive(Debug)]
enum ImageSource {
    File(ImageFile),
    Drawing { name: Arc<str> },
}

/// Renders a drawing of the program as a PNG with this many pixels per side.
///
/// # Errors
///
/// If it is not a valid SVG.
pub fn icon(svg: &str, size: u32) -> Result<Bytes, ImageError> {
    render::encoded(render::svg(svg, size)?, Format::Png)
}

impl Images {
    /// Creates it from the settings.
    #[must_use]
    pub fn new(config: &ImagesConfig) -> Self {
        let folder = Some(&config.folder).filter(|folder| !folder.as_os_str().is_empty());
        let inner = Inner {
            files: folder.map(|folder| Files::new(folder.clone(), config.file_bytes_max)),
            draws: config.draw,
            slots: FairQueue::new(QueueLimits::shared(config.renders_max, WAITING_MAX)),
            cache: Cache::new(config.cache_bytes).into(),
        };
        Self { inner: Arc::new(inner) }
    }

    /// Returns the image of a subject; `is_known` returns whether the caller has the image with a tag.
    ///
    /// # Errors
    ///
    /// If too many images are being rendered, or a file is not a valid image.
    pub async fn find(
        &self,
        subject: Subject,
        options: ImageOptions,
        is_known: impl FnOnce(&str) -> bool,
    ) -> Result<ImageLookup, ImageError> {
        let Some(source) = self.source(&subject).await? else {
            let is_known = subject.name.is_some();
            return Ok(if is_known { ImageLookup::Missing } else { ImageLookup::Unknown });
        };
        let tag = tag(&subject, options, &source);
        if is_known(&tag) {
            return Ok(ImageLookup::Image { tag, bytes: None });
        }
        if let Some(bytes) = self.cache(|cache| cache.get(&tag)) {
            return Ok(ImageLookup::Image { tag, bytes: Some(bytes) });
        }
        let bytes = self.rendered(subject, options, source).await?;
        self.cache(|cache| cache.put(tag.clone(), bytes.clone()));
        Ok(ImageLookup::Image { tag, bytes: Some(bytes) })
    }

    fn cache<T>(&self, act: impl FnOnce(&mut Cache) -> T) -> T {
        act(&mut self.inner.cache.lock().unwrap_or_else(PoisonError::into_inner))
    }

    async fn source(&self, subject: &Subject) -> Result<Option<ImageSource>, ImageError> {
        if let Some(files) = self.inner.files.clone() {
            let (kind, id) = (subject.kind, subject.id);
            let found = work::run_blocking(Pool::Images, move || files.find(kind, id));
            if let Some(found) = found.await.map_err(failed)? {
                return Ok(Some(ImageSource::File(found)));
            }
        }
        let name = subject.name.clone().filter(|_| self.inner.draws);
        Ok(name.map(|name| ImageSource::Drawing { name }))
    }

    async fn rendered(
        &self,
        subject: Subject,
        options: ImageOptions,
        source: ImageSource,
    ) -> Result<Bytes, ImageError> {
        let slot = timeout(PATIENCE, self.inner.slots.enter_current(Pool::Images)).await;
        let Ok(Ok(slot)) = slot else { return Err(ImageError::Busy) };
        let rendered = slot.run(move || {
            let pixels = match source {
                ImageSource::File(found) => found.pixels(options)?,
                ImageSource::Drawing { name } => {
                    render::svg(&drawing(&subject, &name, options), options.size)?
                }
            };
            render::encoded(pixels, options.format)
        });
        rendered.await.map_err(failed)?
    }
}

/// The drawing as SVG, on a canvas of 128 by 128.
fn drawing(subject: &Subject, name: &str, options: ImageOptions) -> String {
    let seed = Seed::new(subject.kind, subject.id);
    match subject.kind {
        ImageKind::Player | ImageKind::TennisPlayer | ImageKind::Manager => {
            portrait::svg(seed, subject.kind == ImageKind::Manager, !options.cut_out)
        }
        ImageKind::Venue => pitch::svg(seed, !options.cut_out),
        ImageKind::League | ImageKind::CsgoTournament => {
            crest::svg(seed, name, crest::Shape::Rosette)
        }
        ImageKind::Team
        | ImageKind::CsgoTeam
        | ImageKind::BasketballTeam
        | ImageKind::HockeyTeam => crest::svg(seed, name, crest::Shape::new(seed)),
    }
}

/// Computed before rendering, from everything that the image depends on.
fn tag(subject: &Subject, options: ImageOptions, source: &ImageSource) -> String {
    let mut digest = Sha256::new();
    digest.update([VERSION, u8::from(options.cut_out)]);
    digest.update(options.size.to_be_bytes());
    digest.update(options.format.mime());
    digest.update(subject.kind.path());
    digest.update(subject.id.to_be_bytes());
    match source {
        ImageSource::File(found) => digest.update(found.version()),
        ImageSource::Drawing { name } => digest.update(initials::initials(name)),
    }
    let digest = digest.finalize();
    format!("\"{}\"", HEXLOWER.encode(&digest[..12]))
}

fn failed(busy: Busy) -> ImageError {
    ImageError::Failed(busy.to_string())
}

#[cfg(test)]
mod tests;

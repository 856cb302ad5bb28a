//! Images of whom and what matches are of: an operator's own files, else drawings of ours.
//!
//! In: a [`Subject`] and what is [`ImageOptions`] of it. Out: the bytes of a PNG or WebP. A drawing is made of the
//! id and the name alone, so it is the same for ever and everywhere, and nobody's crest or face is copied.
//! At most so many are rendered at a time, and those that were rendered last are kept, up to a number of
//! bytes. It knows neither HTTP nor the archive.

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

use bytes::Bytes;
use sha2::{Digest, Sha256};
use tokio::{sync::Semaphore, time::timeout};

use self::{
    cache::Cache,
    files::{Files, ImageFile},
    palette::Seed,
};
pub use self::{
    kind::ImageKind,
    request::{Format, ImageOptions},
};
use crate::{config::ImagesConfig, record::Key};

/// Counts up when drawings change, since clients keep them for a year.
const VERSION: u8 = 1;

/// How long a request waits for its turn to be rendered.
const PATIENCE: Duration = Duration::from_secs(5);

/// Whose image it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Subject {
    pub kind: ImageKind,
    pub id: Key,
    /// `None` where the id is not known, and there can be a file alone.
    pub name: Option<Arc<str>>,
}

/// What there is to answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ImageLookup {
    Image {
        /// Changes with the bytes, and with nothing else.
        tag: String,
        /// `None` where the caller has what this tag is of.
        bytes: Option<Bytes>,
    },
    /// It is known, but there is no image of it.
    Missing,
    Unknown,
}

/// Why there is no image now.
#[derive(Debug, thiserror::Error)]
pub enum ImageError {
    #[error("too many images are being rendered")]
    Busy,
    #[error("an image could not be rendered: {0}")]
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
    slots: Arc<Semaphore>,
    cache: Mutex<Cache>,
}

/// What an image is made of.
#[derive(Debug)]
enum ImageSource {
    File(ImageFile),
    Drawing { name: Arc<str> },
}

/// A drawing of the program's own as a PNG of so many pixels a side.
///
/// # Errors
///
/// If it is no SVG.
pub fn icon(svg: &str, size: u32) -> Result<Bytes, ImageError> {
    render::encoded(render::svg(svg, size)?, Format::Png)
}

impl Images {
    /// As the settings say.
    #[must_use]
    pub fn new(config: &ImagesConfig) -> Self {
        let folder = Some(&config.folder).filter(|folder| !folder.as_os_str().is_empty());
        let inner = Inner {
            files: folder.map(|folder| Files::new(folder.clone(), config.file_bytes_max)),
            draws: config.draw,
            slots: Arc::new(Semaphore::new(config.renders_max)),
            cache: Cache::new(config.cache_bytes).into(),
        };
        Self { inner: Arc::new(inner) }
    }

    /// The image of a subject; `is_known` says whether the caller has what a tag is of.
    ///
    /// # Errors
    ///
    /// If too many are being rendered, or a file is no image.
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
            if let Some(found) = in_background(move || Ok(files.find(kind, id))).await? {
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
        let slot = timeout(PATIENCE, Arc::clone(&self.inner.slots).acquire_owned()).await;
        let Ok(Ok(slot)) = slot else { return Err(ImageError::Busy) };
        in_background(move || {
            // Held by the work itself, which goes on when whoever asked has gone.
            let _slot = slot;
            let pixels = match source {
                ImageSource::File(found) => found.pixels(options)?,
                ImageSource::Drawing { name } => {
                    render::svg(&drawing(&subject, &name, options), options.size)?
                }
            };
            render::encoded(pixels, options.format)
        })
        .await
    }
}

/// A drawing of ours as SVG, on a field of 128 by 128.
fn drawing(subject: &Subject, name: &str, options: ImageOptions) -> String {
    let seed = Seed::of(subject.kind, subject.id);
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
        | ImageKind::HockeyTeam => crest::svg(seed, name, crest::Shape::of(seed)),
    }
}

/// Known before the image is rendered, since all that it depends on is in it.
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
    let hex: String = digest.iter().take(12).map(|byte| format!("{byte:02x}")).collect();
    format!("\"{hex}\"")
}

/// Work that takes a core or waits for a disk.
async fn in_background<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, ImageError> + Send + 'static,
) -> Result<T, ImageError> {
    let done = tokio::task::spawn_blocking(work).await;
    done.map_err(|error| ImageError::Failed(error.to_string()))?
}

#[cfg(test)]
mod tests;

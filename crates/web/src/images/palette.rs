//! The choices for a drawing: the same for an id, independent of its name.

use sha2::{Digest, Sha256};

use super::ImageKind;
use record::Key;

/// A hash of the id, from which everything is chosen.
#[derive(Debug, Clone, Copy)]
pub(super) struct Seed([u8; 32]);

impl Seed {
    pub(super) fn new(kind: ImageKind, id: Key) -> Self {
        let mut digest = Sha256::new();
        // Uses the kind of entity, not the URL: a team looks the same under each of its URLs.
        digest.update(kind.entity().as_str());
        digest.update(id.to_be_bytes());
        Self(digest.finalize().into())
    }

    /// Chooses one by the byte at this position.
    pub(super) fn pick<T: Copy, const N: usize>(self, index: usize, all: [T; N]) -> T {
        all[usize::from(self.0[index % self.0.len()]) % N]
    }

    /// Two distinguishable colours.
    pub(super) fn colours(self) -> Colours {
        let dark = self.pick(0, DARK);
        let light = self.pick(1, LIGHT);
        // Which of them is the ground affects the look more than the colours themselves.
        if self.pick(2, [true, true, false]) {
            Colours { ground: dark, figure: light, ink: light, plate: dark }
        } else {
            Colours { ground: light, figure: dark, ink: light, plate: dark }
        }
    }
}

/// The colours of a drawing.
#[derive(Debug, Clone, Copy)]
pub(super) struct Colours {
    pub(super) ground: &'static str,
    pub(super) figure: &'static str,
    /// For letters, on the plate.
    pub(super) ink: &'static str,
    pub(super) plate: &'static str,
}

const DARK: [&str; 12] = [
    "#9b1c31", "#0b3d91", "#0f5132", "#3b1f6b", "#1f2933", "#7a1f5c", "#0d5c63", "#8a3b12",
    "#14213d", "#5b1a1a", "#134e4a", "#4a3f0b",
];

const LIGHT: [&str; 10] = [
    "#ffffff", "#ffd23f", "#f4f1de", "#a8dadc", "#ffb4a2", "#d8f3dc", "#e0e1dd", "#fcbf49",
    "#cdb4db", "#bde0fe",
];

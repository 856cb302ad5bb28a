//! Silhouettes of people, without a face; only the clothing differs.

use super::palette::{Colours, Seed};

/// The skin colour of every silhouette, neutral for everyone.
const TONE: &str = "#a7b0bb";

pub(super) fn svg(seed: Seed, is_manager: bool, with_background: bool) -> String {
    let Colours { plate, ink, .. } = seed.colours();
    let background =
        if with_background { r##"<path d="M0 0H128V128H0Z" fill="#e4e7eb"/>"## } else { "" };
    let trunk = "M14 128C14 100 34 88 52 86H76C94 88 114 100 114 128Z";
    let clothing = if is_manager {
        let suit = seed.pick(12, ["#23272f", "#1f2a44", "#3a3a3f", "#2d2a26", "#0f3b3a"]);
        format!(
            r##"<path d="{trunk}" fill="{suit}"/><path d="M52 86L64 108L76 86Z" fill="#ffffff"/><path d="M61 92H67L70 114L64 122L58 114Z" fill="{plate}"/><path d="M52 86L44 96L60 124L64 128L68 124L84 96L76 86L64 112Z" fill="#14171c"/>"##
        )
    } else {
        let stripes = seed.pick(
            7,
            ["", "M40 84H52V128H40ZM76 84H88V128H76Z", "M10 104H118V114H10Z", "M64 84H120V128H64Z"],
        );
        format!(
            r##"<defs><clipPath id="t"><path d="{trunk}"/></clipPath></defs><g clip-path="url(#t)"><path d="M0 80H128V128H0Z" fill="{plate}"/><path d="{stripes}" fill="{ink}"/></g><path d="M50 86C54 98 74 98 78 86" fill="none" stroke="{ink}" stroke-width="4"/>"##
        )
    };
    format!(
        r##"<svg xmlns="http://www.w3.org/2000/svg" width="128" height="128" viewBox="0 0 128 128">{background}<path d="M52 70H76V88C76 96 52 96 52 88Z" fill="{TONE}"/>{clothing}<path d="M40 48C40 28 50 20 64 20C78 20 88 28 88 48C88 66 76 80 64 80C52 80 40 66 40 48Z" fill="{TONE}"/></svg>"##
    )
}

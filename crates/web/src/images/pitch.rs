//! Venues: stands around a pitch, and floodlights.

use super::palette::{Colours, Seed};

pub(super) fn svg(seed: Seed, with_background: bool) -> String {
    let Colours { plate, ink, .. } = seed.colours();
    let sky = seed.pick(9, ["#cfe3f5", "#dfe7ee", "#f3dfc8", "#c9d6e8"]);
    let background = if with_background {
        format!(
            r##"<path d="M0 0H128V84H0Z" fill="{sky}"/><path d="M0 84H128V128H0Z" fill="#b9c2a5"/>"##
        )
    } else {
        String::new()
    };
    let roof = seed.pick(
        10,
        [
            "M8 56C26 36 102 36 120 56V64C102 46 26 46 8 64Z",
            "M8 54L34 40H94L120 54V62L94 50H34L8 62Z",
            "M8 58C8 30 120 30 120 58V64C110 44 18 44 8 64Z",
        ],
    );
    let light = |x: u8| {
        format!(
            r##"<path d="M{x} 26V72" stroke="#4b5563" stroke-width="3"/><path d="M{} 16H{}V28H{}Z" fill="#fff7d6" stroke="#4b5563" stroke-width="1.5"/>"##,
            x - 8,
            x + 8,
            x - 8,
        )
    };
    let lights = seed.pick(11, [[18, 110], [26, 102], [14, 114]]).map(light).concat();
    format!(
        r##"<svg xmlns="http://www.w3.org/2000/svg" width="128" height="128" viewBox="0 0 128 128">{background}{lights}<path d="M8 60H120V96C104 116 24 116 8 96Z" fill="{plate}"/><path d="{roof}" fill="{ink}" stroke="{plate}" stroke-width="2"/><path d="M18 74C34 64 94 64 110 74V90C94 102 34 102 18 90Z" fill="#374151"/><path d="M28 82C44 72 84 72 100 82C84 94 44 94 28 82Z" fill="#3f8f4f"/><path d="M64 75V90M34 82C46 75 82 75 94 82C82 90 46 90 34 82Z" fill="none" stroke="#ffffff" stroke-width="1.5"/><ellipse cx="64" cy="82" rx="9" ry="3.6" fill="none" stroke="#ffffff" stroke-width="1.5"/></svg>"##
    )
}

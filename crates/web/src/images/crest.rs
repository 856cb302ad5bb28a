//! Crests of teams and rosettes of competitions: a shape, a pattern in it, and initials on a plate.

use super::{
    initials,
    palette::{Colours, Seed},
};

/// The outline.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    Shield,
    Heater,
    Roundel,
    Hexagon,
    Diamond,
    /// Only for competitions.
    Rosette,
}

impl Shape {
    /// The outline of a team's crest.
    pub(super) fn new(seed: Seed) -> Self {
        seed.pick(3, [Self::Shield, Self::Heater, Self::Roundel, Self::Hexagon, Self::Diamond])
    }

    fn outline(self) -> &'static str {
        match self {
            Self::Shield => "M14 12H114V64C114 94 90 112 64 122C38 112 14 94 14 64Z",
            Self::Heater => {
                "M64 8C80 18 98 20 112 18C116 66 104 102 64 122C24 102 12 66 16 18C30 20 48 18 64 8Z"
            }
            Self::Roundel => "M64 6A58 58 0 1 0 64 122A58 58 0 1 0 64 6Z",
            Self::Hexagon => "M64 6L114 34V94L64 122L14 94V34Z",
            Self::Diamond => {
                "M64 4C78 26 98 46 124 64C98 82 78 102 64 124C50 102 30 82 4 64C30 46 50 26 64 4Z"
            }
            Self::Rosette => "M64 14A50 50 0 1 0 64 114A50 50 0 1 0 64 14Z",
        }
    }
}

/// The pattern within the outline.
#[derive(Debug, Clone, Copy)]
enum Pattern {
    Plain,
    Stripes,
    Hoops,
    Halves,
    Quarters,
    Sash,
    Chevron,
    Saltire,
}

impl Pattern {
    const ALL: [Self; 8] = [
        Self::Plain,
        Self::Stripes,
        Self::Hoops,
        Self::Halves,
        Self::Quarters,
        Self::Sash,
        Self::Chevron,
        Self::Saltire,
    ];

    fn path(self) -> &'static str {
        match self {
            Self::Plain => "",
            Self::Stripes => "M20 0H38V128H20ZM55 0H73V128H55ZM90 0H108V128H90Z",
            Self::Hoops => "M0 16H128V32H0ZM0 88H128V104H0ZM0 52H128V68H0Z",
            Self::Halves => "M64 0H128V128H64Z",
            Self::Quarters => "M64 0H128V64H64ZM0 64H64V128H0Z",
            Self::Sash => "M0 0H26L128 102V128H102L0 26Z",
            Self::Chevron => "M0 28L64 84L128 28V56L64 112L0 56Z",
            Self::Saltire => {
                "M0 0H18L64 46L110 0H128V18L82 64L128 110V128H110L64 82L18 128H0V110L46 64L0 18Z"
            }
        }
    }
}

pub(super) fn svg(seed: Seed, name: &str, shape: Shape) -> String {
    let Colours { ground, figure, ink, plate } = seed.colours();
    let (outline, pattern) = (shape.outline(), seed.pick(4, Pattern::ALL).path());
    let points = if shape == Shape::Rosette { rosette(plate) } else { String::new() };
    let initials = initials::initials(name);
    let middle = if initials.is_empty() {
        star(ink, plate)
    } else {
        let letters = initials::svg(&initials, ink, (64.0, 61.0), (66.0, 30.0));
        format!(
            r#"<rect x="22" y="40" width="84" height="42" rx="10" fill="{plate}" stroke="{ink}" stroke-width="2"/>{letters}"#
        )
    };
    format!(
        r##"<svg xmlns="http://www.w3.org/2000/svg" width="128" height="128" viewBox="0 0 128 128"><defs><clipPath id="o"><path d="{outline}"/></clipPath></defs>{points}<g clip-path="url(#o)"><path d="M0 0H128V128H0Z" fill="{ground}"/><path d="{pattern}" fill="{figure}"/>{middle}</g><path d="{outline}" fill="none" stroke="{plate}" stroke-width="5" stroke-linejoin="round"/></svg>"##
    )
}

/// Sixteen points around the ring.
fn rosette(colour: &str) -> String {
    let turned = |turn: u16| {
        format!(
            r#"<path transform="rotate({turn} 64 64)" d="M54 16L64 3L74 16Z" fill="{colour}"/>"#
        )
    };
    (0..360).step_by(24).map(turned).collect()
}

/// For names without initials in Latin letters.
fn star(ink: &str, plate: &str) -> String {
    format!(
        r#"<circle cx="64" cy="61" r="30" fill="{plate}"/><path fill="{ink}" d="M64 37L70.2 53.5L87.8 54.3L74 65.2L78.7 82.2L64 72.5L49.3 82.2L54 65.2L40.2 54.3L57.8 53.5Z"/>"#
    )
}

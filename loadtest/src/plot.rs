//! Plots as inline SVG: lines over axes with round numbers. Colours are the page's, by class, so
//! that light and dark are one picture.
//!
//! The hub's dashboard has a chart of its own: bars of whole numbers by day, drawn by a template. The
//! two share no axis, shape or format, and this tool does not depend on the hub. `plotters` writes
//! colours into the SVG, which would take a picture each for light and dark.

use std::fmt::Write;

/// A line of a plot.
#[derive(Debug)]
pub(crate) struct PlotLine {
    pub(crate) name: &'static str,
    pub(crate) points: Vec<(f64, f64)>,
}

/// How a value maps to a coordinate, and which coordinates have labels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Axis {
    /// Seconds, from the least to the greatest.
    Seconds,
    /// The share of messages that took longer: 90 %, 99 %, 99.9 %, .. at equal distances.
    Percentile,
    /// Microseconds, logarithmic.
    Micros,
    /// From zero up, with a unit.
    Linear(&'static str),
}

#[derive(Debug, Clone, Copy)]
struct Scale {
    axis: Axis,
    from: f64,
    to: f64,
}

const WIDTH: f64 = 640.0;
const HEIGHT: f64 = 280.0;
const LEFT: f64 = 68.0;
const RIGHT: f64 = 30.0;
const TOP: f64 = 18.0;
const BOTTOM: f64 = 34.0;

/// Draws the lines, or nothing if no line has two points. Marks are labelled positions on the first
/// axis.
pub(crate) fn plot(
    title: &str,
    x: Axis,
    y: Axis,
    lines: &[PlotLine],
    marks: &[(f64, &str)],
) -> String {
    let all = || lines.iter().flat_map(|line| &line.points);
    if all().count() < 2 {
        return String::new();
    }
    let x = Scale::over(x, all().map(|point| point.0));
    let y = Scale::over(y, all().map(|point| point.1));
    let mut svg = format!(
        "<figure><figcaption>{title}</figcaption><svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" \
         aria-label=\"{title}\">"
    );
    for (value, name) in y.ticks() {
        let at = y.vertical(value);
        write!(
            svg,
            "<line class=grid x1={LEFT} x2={} y1={at:.1} y2={at:.1} /><text x={} y={:.1} \
             text-anchor=end>{name}</text>",
            WIDTH - RIGHT,
            LEFT - 8.0,
            at + 4.0
        )
        .ok();
    }
    for (value, name) in x.ticks() {
        let at = x.horizontal(value);
        write!(
            svg,
            "<line class=grid x1={at:.1} x2={at:.1} y1={TOP} y2={} /><text x={at:.1} y={} \
             text-anchor=middle>{name}</text>",
            HEIGHT - BOTTOM,
            HEIGHT - BOTTOM + 18.0
        )
        .ok();
    }
    for (value, name) in marks {
        let at = x.horizontal(*value).max(LEFT);
        write!(
            svg,
            "<line class=mark x1={at:.1} x2={at:.1} y1={TOP} y2={} /><text x={:.1} y={:.1}>{name}\
             </text>",
            HEIGHT - BOTTOM,
            at + 4.0,
            TOP - 6.0
        )
        .ok();
    }
    for (nth, line) in lines.iter().enumerate() {
        let points = line.points.iter().fold(String::new(), |mut points, &(at, value)| {
            write!(points, "{:.1},{:.1} ", x.horizontal(at), y.vertical(value)).ok();
            points
        });
        write!(svg, "<polyline class=line{nth} points=\"{}\" />", points.trim_end()).ok();
    }
    svg.push_str("</svg><p class=legend>");
    for (nth, line) in lines.iter().enumerate() {
        write!(svg, "<span><i class=key{nth}></i>{}</span>", line.name).ok();
    }
    svg.push_str("</p></figure>");
    svg
}

impl Scale {
    fn over(axis: Axis, values: impl Iterator<Item = f64>) -> Self {
        let (mut from, mut to) = (f64::INFINITY, f64::NEG_INFINITY);
        for value in values.map(|value| scaled(axis, value)) {
            from = from.min(value);
            to = to.max(value);
        }
        match axis {
            Axis::Seconds => {}
            Axis::Percentile => from = 0.0,
            Axis::Micros => (from, to) = (from.floor(), to.ceil()),
            Axis::Linear(_) => (from, to) = (0.0, to * 1.08),
        }
        let to = if to - from < 1e-9 { from + 1.0 } else { to };
        Self { axis, from, to }
    }

    fn share(self, value: f64) -> f64 {
        (scaled(self.axis, value) - self.from) / (self.to - self.from)
    }

    fn horizontal(self, value: f64) -> f64 {
        LEFT + self.share(value) * (WIDTH - LEFT - RIGHT)
    }

    fn vertical(self, value: f64) -> f64 {
        HEIGHT - BOTTOM - self.share(value) * (HEIGHT - TOP - BOTTOM)
    }

    /// The labelled values and their labels.
    fn ticks(self) -> Vec<(f64, String)> {
        match self.axis {
            Axis::Percentile => {
                let names = ["0 %", "90 %", "99 %", "99.9 %", "99.99 %", "99.999 %"];
                let ticks =
                    (0..).zip(names).map(|(nth, name)| (0.1_f64.powi(nth), name.to_owned()));
                ticks.filter(|(value, _)| scaled(self.axis, *value) <= self.to + 0.01).collect()
            }
            Axis::Micros => (0..=9)
                .map(|power| (10_f64.powi(power), micros(power)))
                .filter(|(value, _)| {
                    (self.from - 0.01..=self.to + 0.01).contains(&scaled(self.axis, *value))
                })
                .collect(),
            Axis::Seconds => even(self.from, self.to)
                .map(|value| (value, format!("{} s", round(value))))
                .collect(),
            Axis::Linear(unit) => even(self.from, self.to)
                .map(|value| (value, format!("{} {unit}", short(value))))
                .collect(),
        }
    }
}

fn scaled(axis: Axis, value: f64) -> f64 {
    match axis {
        Axis::Seconds | Axis::Linear(_) => value,
        Axis::Percentile => -value.max(1e-9).log10(),
        Axis::Micros => value.max(1.0).log10(),
    }
}

fn micros(power: i32) -> String {
    let (number, unit) = match power {
        0..=2 => (power, "µs"),
        3..=5 => (power - 3, "ms"),
        _ => (power - 6, "s"),
    };
    format!("{} {unit}", 10_i32.pow(number.unsigned_abs()))
}

/// About four to eight round values in a range.
fn even(from: f64, to: f64) -> impl Iterator<Item = f64> {
    let rough = (to - from) / 6.0;
    let power = 10_f64.powf(rough.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0]
        .into_iter()
        .map(|factor| factor * power)
        .find(|step| *step >= rough)
        .unwrap_or(rough);
    let first = (from / step).ceil();
    (0_u32..20).map(move |nth| (first + f64::from(nth)) * step).take_while(move |tick| *tick <= to)
}

/// The shortest form of a number.
fn short(value: f64) -> String {
    match value {
        value if value >= 1e6 => format!("{}M", round(value / 1e6)),
        value if value >= 1e4 => format!("{}k", round(value / 1e3)),
        value => round(value),
    }
}

fn round(value: f64) -> String {
    let text = format!("{value:.2}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axis_labels_are_round() {
        let ticks = |from, to| even(from, to).map(round).collect::<Vec<_>>().join(" ");
        assert_eq!(ticks(0.0, 10.0), "0 2 4 6 8 10");
        assert_eq!(ticks(2.3, 12.1), "4 6 8 10 12");
        assert_eq!(ticks(0.0, 0.9), "0 0.2 0.4 0.6 0.8");
        assert_eq!([4, 6, 2].map(micros), ["10 ms", "1 s", "100 µs"]);
    }

    #[test]
    fn empty_plot_draws_nothing() {
        let line = |points| PlotLine { name: "one", points };
        assert_eq!(plot("t", Axis::Seconds, Axis::Micros, &[line(vec![])], &[]), "");
        assert!(
            plot("t", Axis::Seconds, Axis::Micros, &[line(vec![(0.0, 5.0), (1.0, 5.0)])], &[])
                .contains("polyline")
        );
    }

    #[test]
    fn single_value_has_a_position() {
        let lines = [PlotLine { name: "one", points: vec![(3.0, 0.0), (3.0, 0.0)] }];
        let svg = plot("t", Axis::Seconds, Axis::Linear("MiB"), &lines, &[]);
        assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
    }
}

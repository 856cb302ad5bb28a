//! A bar chart of the last thirty days, as numbers for an SVG. Pure; `dashboard.html` draws it.

use crate::usage::Day;

/// Days shown.
pub(super) const DAYS: i64 = 30;

/// The size of the drawing, in its own units.
const WIDTH: i64 = 480;
const HEIGHT: i64 = 170;
/// Where the bars begin; the labels of the scale are to their left.
const LEFT: i64 = 48;
/// The height of the tallest bar, and the base line.
const TOP: i64 = 8;
const GROUND: i64 = 148;
/// The gap between two bars.
const GAP: i64 = 3;

/// A chart ready to be drawn.
#[derive(Debug)]
pub(super) struct Chart {
    pub(super) title: &'static str,
    /// The total of all days.
    pub(super) sum: String,
    /// The chart in one sentence, for screen readers.
    pub(super) summary: String,
    pub(super) width: i64,
    pub(super) height: i64,
    pub(super) left: i64,
    pub(super) bars: Vec<Bar>,
    pub(super) lines: Vec<GridLine>,
    pub(super) days: Vec<Label>,
}

/// One day.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Bar {
    pub(super) x: i64,
    pub(super) y: i64,
    pub(super) width: i64,
    pub(super) height: i64,
    pub(super) text: String,
}

/// A line of the scale.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct GridLine {
    pub(super) y: i64,
    pub(super) text: String,
}

/// The label of a day below the bars.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Label {
    pub(super) x: i64,
    pub(super) text: String,
    /// Its alignment: `start`, `middle` or `end`.
    pub(super) side: &'static str,
}

impl Chart {
    /// The days up to and including `today`; `count` returns the count of a day.
    pub(super) fn new(title: &'static str, today: Day, count: impl Fn(Day) -> u64) -> Self {
        let counts: Vec<(Day, u64)> =
            (1 - DAYS..=0).map(|back| Day(today.0 + back)).map(|day| (day, count(day))).collect();
        let most = counts.iter().map(|&(_, count)| count).max().unwrap_or(0);
        let scale = round_up(most);
        let sum = counts.iter().fold(0_u64, |sum, &(_, count)| sum.saturating_add(count));
        Self {
            title,
            sum: grouped(sum),
            summary: format!(
                "{title} per day, from {} to {}: {} total, {} on the busiest day",
                date(Day(today.0 + 1 - DAYS)),
                date(today),
                grouped(sum),
                grouped(most),
            ),
            width: WIDTH,
            height: HEIGHT,
            left: LEFT,
            bars: bars(&counts, scale),
            lines: [0, scale / 2, scale].map(|count| line(count, scale)).into(),
            days: labels(today),
        }
    }
}

fn bars(counts: &[(Day, u64)], scale: u64) -> Vec<Bar> {
    let step = (WIDTH - LEFT) / DAYS;
    let used = counts.iter().zip(0..).filter(|&(&(_, count), _)| count > 0);
    let bar = |(&(day, count), index): (&(Day, u64), i64)| {
        // Every use is visible, even one call among thousands.
        let height = height(count, scale).max(1);
        let text = format!("{}: {}", date(day), grouped(count));
        Bar { x: LEFT + index * step, y: GROUND - height, width: step - GAP, height, text }
    };
    used.map(bar).collect()
}

fn line(count: u64, scale: u64) -> GridLine {
    GridLine { y: GROUND - height(count, scale), text: short(count) }
}

fn labels(today: Day) -> Vec<Label> {
    let step = (WIDTH - LEFT) / DAYS;
    let label = |index: i64, side| Label {
        x: LEFT + index * step + (step - GAP) / 2,
        text: short_date(Day(today.0 + 1 - DAYS + index)),
        side,
    };
    let first = Label { x: LEFT, ..label(0, "start") };
    let last = Label { x: WIDTH, ..label(DAYS - 1, "end") };
    vec![first, label(DAYS / 2 - 1, "middle"), last]
}

fn height(count: u64, scale: u64) -> i64 {
    let room = u128::from((GROUND - TOP).unsigned_abs());
    let height = u128::from(count) * room / u128::from(scale.max(1));
    i64::try_from(height).unwrap_or(GROUND - TOP)
}

/// The next number in the series 2, 4, 10, 20, 40, 100 …, whose halves are whole.
fn round_up(count: u64) -> u64 {
    let mut tens = 1_u64;
    loop {
        for digit in [2, 4, 10] {
            let scale = tens.saturating_mul(digit);
            if scale >= count || scale == u64::MAX {
                return scale;
            }
        }
        tens = tens.saturating_mul(10);
    }
}

/// `1,234,567`.
pub(super) fn grouped(count: u64) -> String {
    let digits = count.to_string();
    let mut grouped = String::with_capacity(digits.len() * 4 / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

/// `40`, `2k`, `10M`: numbers of [`round_up`] and their halves.
fn short(count: u64) -> String {
    match count {
        0..1_000 => count.to_string(),
        1_000..1_000_000 => format!("{}k", count / 1_000),
        1_000_000..1_000_000_000 => format!("{}M", count / 1_000_000),
        _ => format!("{}G", count / 1_000_000_000),
    }
}

/// `2026-11-22`.
pub(super) fn date(day: Day) -> String {
    day_of(day).map_or_else(String::new, |date| date.to_string())
}

fn short_date(day: Day) -> String {
    day_of(day).map_or_else(String::new, |date| date.strftime("%-d %b").to_string())
}

fn day_of(day: Day) -> Option<jiff::civil::Date> {
    let midnight = jiff::Timestamp::from_second(day.0.checked_mul(24 * 60 * 60)?).ok()?;
    Some(midnight.to_zoned(jiff::tz::TimeZone::UTC).date())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_day_has_a_bar_inside_the_chart() {
        let today = Day(20_000);
        let chart = Chart::new("Calls", today, |day| (day.0 - 19_970).unsigned_abs() * 7);
        assert_eq!(chart.bars.len(), 30);
        for bar in &chart.bars {
            assert!(bar.x >= LEFT && bar.x + bar.width <= WIDTH, "{bar:?}");
            assert!(bar.y >= TOP && bar.y + bar.height == GROUND, "{bar:?}");
        }
        let rising = chart.bars.windows(2).all(|pair| pair[0].height <= pair[1].height);
        assert!(rising, "the bars do not follow the counts");
        assert_eq!(chart.bars[29].text, "2024-10-04: 210");
        assert_eq!(chart.days[2].text, "4 Oct");
    }

    #[test]
    fn days_without_usage_have_no_bar_and_the_lowest_has_one() {
        let chart = Chart::new("Calls", Day(20_000), |day| match day.0 {
            20_000 => 1_000_000,
            19_999 => 1,
            _ => 0,
        });
        let heights: Vec<i64> = chart.bars.iter().map(|bar| bar.height).collect();
        assert_eq!(heights, [1, GROUND - TOP]);
        assert!(chart.summary.ends_with("1,000,001 total, 1,000,000 on the busiest day"));
    }

    #[test]
    fn empty_month_is_drawn_too() {
        let chart = Chart::new("Calls", Day(20_000), |_| 0);
        assert!(chart.bars.is_empty());
        assert_eq!(chart.sum, "0");
    }

    #[test]
    fn numbers_are_grouped_by_thousands() {
        assert_eq!([0, 999, 1_000, 1_234_567].map(grouped), ["0", "999", "1,000", "1,234,567"]);
        assert_eq!([0, 3, 5, 41, 101, 7_500].map(round_up), [2, 4, 10, 100, 200, 10_000]);
        assert_eq!(round_up(u64::MAX), u64::MAX);
        assert_eq!([2, 5_000, 20_000_000].map(short), ["2", "5k", "20M"]);
    }
}

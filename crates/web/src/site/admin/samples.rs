//! Parses the metrics from the text that `/metrics` renders.
//!
//! The metrics library offers no other way to read them. The parser supports only what this program writes:
//! no exemplars, no timestamps.

use std::collections::BTreeMap;

/// Every sample of a rendered text.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Samples(Vec<Sample>);

#[derive(Debug, Clone, PartialEq)]
struct Sample {
    name: String,
    labels: Vec<(String, String)>,
    value: f64,
}

impl Samples {
    /// Parses a text. Invalid lines are skipped: a page without one figure is better than no page.
    pub(super) fn parse(text: &str) -> Self {
        Self(text.lines().filter_map(sample).collect())
    }

    /// The sum of all samples of this name; `None` if nothing was counted yet.
    pub(super) fn sum(&self, name: &str) -> Option<f64> {
        self.named(name).map(|sample| sample.value).reduce(|one, other| one + other)
    }

    /// The sums by a label's value.
    pub(super) fn by(&self, name: &str, label: &str) -> BTreeMap<String, f64> {
        let mut sums = BTreeMap::new();
        for sample in self.named(name) {
            if let Some(value) = sample.label(label) {
                *sums.entry(value.to_owned()).or_default() += sample.value;
            }
        }
        sums
    }

    /// The buckets of a histogram without its own labels; empty if nothing was counted yet.
    pub(super) fn histogram(&self, name: &str) -> Histogram {
        let name = format!("{name}_bucket");
        let buckets =
            self.named(&name).filter_map(|it| Some((it.label("le")?.parse().ok()?, it.value)));
        Histogram(buckets.collect())
    }

    fn named(&self, name: &str) -> impl Iterator<Item = &Sample> {
        self.0.iter().filter(move |sample| sample.name == name)
    }
}

/// A cumulative histogram: the upper bound of each bucket, and the number of values up to it.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Histogram(Vec<(f64, f64)>);

impl Histogram {
    /// The counts since an earlier reading.
    pub(super) fn since(&self, earlier: &Self) -> Self {
        let before = |end: f64| {
            earlier
                .0
                .iter()
                .find(|(bound, _)| bound.total_cmp(&end).is_eq())
                .map_or(0.0, |(_, count)| *count)
        };
        Self(self.0.iter().map(|(end, count)| (*end, count - before(*end))).collect())
    }

    pub(super) fn count(&self) -> f64 {
        self.0.last().map_or(0.0, |(_, count)| *count)
    }

    /// The quantile, from 0 to 1, estimated as by Prometheus' `histogram_quantile`; `None` if nothing was
    /// counted.
    pub(super) fn quantile(&self, share: f64) -> Option<f64> {
        let wanted = share * self.count();
        let index = self.0.iter().position(|(_, count)| *count >= wanted && *count > 0.0)?;
        let (begin, below) = index.checked_sub(1).map_or((0.0, 0.0), |index| self.0[index]);
        let (end, count) = self.0[index];
        // Beyond the last bucket nothing is known.
        if end.is_infinite() {
            return Some(begin);
        }
        Some(begin + (end - begin) * (wanted - below) / (count - below))
    }
}

impl Sample {
    fn label(&self, name: &str) -> Option<&str> {
        self.labels.iter().find(|(key, _)| key == name).map(|(_, value)| &**value)
    }
}

/// `name{label="value",..} 1.5`, or without labels.
fn sample(line: &str) -> Option<Sample> {
    let line = line.trim();
    if line.starts_with('#') {
        return None;
    }
    let (name, rest) = line.split_at(line.find(['{', ' '])?);
    let (labels, rest) = match rest.strip_prefix('{') {
        Some(rest) => labels(rest)?,
        None => (Vec::new(), rest),
    };
    Some(Sample { name: name.to_owned(), labels, value: rest.trim().parse().ok()? })
}

type Labels = Vec<(String, String)>;

/// Parses the labels up to the closing brace; returns the rest as well. Values are quoted and may contain any
/// of the delimiters.
fn labels(mut rest: &str) -> Option<(Labels, &str)> {
    let mut labels = Vec::new();
    loop {
        rest = rest.trim_start_matches([',', ' ']);
        if let Some(behind) = rest.strip_prefix('}') {
            return Some((labels, behind));
        }
        let (name, quoted) = rest.split_once("=\"")?;
        let (value, behind) = unquoted(quoted)?;
        labels.push((name.to_owned(), value));
        rest = behind;
    }
}

/// Unescapes a value up to its closing quote; returns the rest as well.
fn unquoted(text: &str) -> Option<(String, &str)> {
    let mut value = String::new();
    let mut signs = text.char_indices();
    while let Some((index, sign)) = signs.next() {
        match sign {
            '"' => return Some((value, &text[index + 1..])),
            '\\' => value.push(match signs.next()?.1 {
                'n' => '\n',
                other => other,
            }),
            other => value.push(other),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use metrics::{counter, gauge, histogram, with_local_recorder};
    use metrics_exporter_prometheus::PrometheusBuilder;
    use proptest::prelude::*;

    use super::*;

    /// Renders counted values with the library.
    fn rendered(counted: impl FnOnce()) -> Samples {
        let recorder = PrometheusBuilder::new().build_recorder();
        with_local_recorder(&recorder, counted);
        Samples::parse(&recorder.handle().render())
    }

    #[test]
    fn counters_and_gauges_are_read_with_their_labels() {
        let samples = rendered(|| {
            counter!("closes", "reason" => "idle", "door" => "a").increment(2);
            counter!("closes", "reason" => "idle", "door" => "b").increment(3);
            counter!("closes", "reason" => "slow", "door" => "a").increment(7);
            gauge!("sockets").set(12.5);
        });
        assert_eq!(samples.sum("closes"), Some(12.0));
        assert_eq!(samples.sum("sockets"), Some(12.5));
        assert_eq!(samples.sum("nothing"), None);
        let by_reason = samples.by("closes", "reason");
        assert_eq!(
            by_reason.into_iter().collect::<Vec<_>>(),
            [("idle".to_owned(), 5.0), ("slow".to_owned(), 7.0)]
        );
        assert!(samples.by("closes", "no label").is_empty());
    }

    #[test]
    fn quantiles_of_a_histogram_are_estimated() {
        let rendered = |counted: &dyn Fn()| {
            let builder = PrometheusBuilder::new().set_buckets(&[0.1, 0.2, 0.4]).expect("buckets");
            let recorder = builder.build_recorder();
            with_local_recorder(&recorder, counted);
            Samples::parse(&recorder.handle().render()).histogram("delay")
        };
        let record = |value: f64, times| (0..times).for_each(|_| histogram!("delay").record(value));
        let early = rendered(&|| record(0.05, 10));
        let late = rendered(&|| {
            record(0.05, 10);
            record(0.3, 4);
        });
        let near = |value: Option<f64>, expected: f64| {
            let value = value.expect("something was counted");
            assert!((value - expected).abs() < 1e-9, "{value}, not {expected}");
        };
        near(early.quantile(0.5), 0.05);
        near(late.since(&early).quantile(0.5), 0.3);
        near(rendered(&|| record(7.0, 1)).quantile(0.5), 0.4);
        assert_eq!(late.since(&late).quantile(0.5), None);
        assert_eq!(rendered(&|| ()).quantile(0.5), None);
    }

    proptest! {
        /// Source names come from operators and appear in labels. Except for a backslash, of which the
        /// library may write one or two.
        #[test]
        fn label_values_round_trip(value in r"[^\\\p{C}]*") {
            let source = value.clone();
            let samples = rendered(move || counter!("refused", "source" => source).increment(4));
            let read = samples.by("refused", "source");
            prop_assert_eq!(read.into_iter().collect::<Vec<_>>(), [(value, 4.0)]);
        }

        #[test]
        fn parser_accepts_any_text(text in "(?s).*") {
            Samples::parse(&text);
        }
    }
}

//! The report as one self-contained HTML page.

use std::fmt::Write;

use crate::{
    latency::Percentiles,
    machine::Machine,
    outcome::Outcome,
    plot::{Axis, PlotLine, plot},
    profile::Extra,
    report::Report,
    verdict::Status,
};

const STYLE: &str = include_str!("page.css");

/// The page of a `follow` run, which measures no latency: the report as printed in the terminal.
pub(crate) fn of_report(report: &Report) -> String {
    let class = if report.is_clean() { "ok" } else { "failed" };
    format!(
        "<!doctype html><html lang=en><head><meta charset=utf-8>\
         <meta name=viewport content=\"width=device-width, initial-scale=1\">\
         <title>follow</title><style>{STYLE}</style></head><body><main><header><h1>follow</h1>\
         <div class=\"verdict {class}\"><pre>{}</pre></div></header></main></body></html>\n",
        escape(&report.to_string())
    )
}

/// The whole page.
pub(crate) fn render(outcome: &Outcome) -> String {
    let mut page = format!(
        "<!doctype html><html lang=en><head><meta charset=utf-8>\
         <meta name=viewport content=\"width=device-width, initial-scale=1\">\
         <title>{}</title><style>{STYLE}</style></head><body><main>",
        escape(&outcome.command)
    );
    head(&mut page, outcome);
    cards(&mut page, outcome);
    page.push_str("<section class=plots>");
    plots(&mut page, outcome);
    page.push_str("</section>");
    latencies(&mut page, outcome);
    page.push_str("<div class=columns>");
    arrivals(&mut page, outcome);
    resources(&mut page, outcome);
    page.push_str("</div>");
    extra(&mut page, outcome);
    page.push_str("</main></body></html>\n");
    page
}

fn head(page: &mut String, outcome: &Outcome) {
    let class = match outcome.verdict.status {
        Status::Ok => "ok",
        Status::Wrong | Status::GeneratorBound => "failed",
    };
    write!(
        page,
        "<header><h1>{} <small>on {}</small></h1><p class=command><code>{}</code></p>\
         <p class=facts>{} · {}</p><div class=\"verdict {class}\"><strong>{}</strong>",
        escape(outcome.profile),
        escape(outcome.target),
        escape(&outcome.command),
        escape(&outcome.at),
        escape(&machine(&outcome.machine)),
        outcome.verdict
    )
    .ok();
    let messages = [&outcome.verdict.reasons, &outcome.verdict.notes, &outcome.faults];
    if messages.iter().any(|messages| !messages.is_empty()) {
        page.push_str("<ul>");
        for line in messages.into_iter().flatten() {
            write!(page, "<li>{}</li>", escape(line)).ok();
        }
        page.push_str("</ul>");
    }
    page.push_str("</div></header>");
}

fn machine(machine: &Machine) -> String {
    let mut facts = vec![format!("{} cores", machine.cores)];
    facts.extend(machine.cpu.clone());
    facts.extend(machine.kernel.as_ref().map(|kernel| format!("Linux {kernel}")));
    facts.extend(machine.governor.as_ref().map(|governor| format!("governor {governor}")));
    facts.push(machine.network.to_owned());
    facts.join(" · ")
}

fn cards(page: &mut String, outcome: &Outcome) {
    let corrected = &outcome.latency.corrected;
    // Without messages there is no latency and no reach.
    let if_any = |text: String| if corrected.count == 0 { "–".to_owned() } else { text };
    let mut cards = vec![
        ("sockets", number(outcome.connections.joined)),
        ("messages per second", rounded(outcome.throughput.messages_per_s)),
        ("p50", if_any(ms(corrected.p50_us))),
        ("p99", if_any(ms(corrected.p99_us))),
        ("slowest", if_any(ms(corrected.max_us))),
        ("reach", if_any(percent(outcome.reach))),
    ];
    if let Some(each) = outcome.server.as_ref().and_then(|server| server.messages_per_cpu_s) {
        cards.push(("messages per CPU-second", rounded(each)));
    }
    page.push_str("<section class=cards>");
    for (name, value) in cards {
        write!(page, "<div><b>{value}</b><span>{name}</span></div>").ok();
    }
    page.push_str("</section>");
}

/// A step of `ramp`, as in the JSON file.
struct RampStep {
    value: f64,
    p99_ms: f64,
    is_ok: bool,
    reasons: String,
}

/// The steps, ordered by the value that grew; empty for other profiles.
fn steps(extra: &Extra) -> Vec<RampStep> {
    let read = |step: &serde_json::Value| {
        let reasons = step["reasons"].as_array().into_iter().flatten();
        Some(RampStep {
            value: step["value"].as_f64()?,
            p99_ms: step["p99_ms"].as_f64()?,
            is_ok: step["ok"].as_bool()?,
            reasons: reasons.filter_map(|it| it.as_str()).collect::<Vec<_>>().join("; "),
        })
    };
    let listed = extra.get("steps").and_then(|steps| steps.as_array());
    let mut steps: Vec<_> = listed.into_iter().flatten().filter_map(read).collect();
    steps.sort_by(|one, other| one.value.total_cmp(&other.value));
    steps
}

/// The main plot of `ramp`: p99 over the value that grew, with the target.
fn ramp(page: &mut String, extra: &Extra) {
    let steps = steps(extra);
    let Some(last) = steps.last() else { return };
    let target = extra.get("p99_ms_target").and_then(serde_json::Value::as_f64);
    let target = target.map_or_else(Vec::new, |ms| vec![(0.0, ms), (last.value, ms)]);
    let over = if extra.contains_key("most_rate") { "messages/s" } else { "sockets" };
    page.push_str(&plot(
        &format!("Corrected p99 over {over}"),
        Axis::Linear(""),
        Axis::Linear("ms"),
        &[
            PlotLine {
                name: "p99",
                points: steps.iter().map(|it| (it.value, it.p99_ms)).collect(),
            },
            PlotLine { name: "target", points: target },
        ],
        &[],
    ));
    write!(
        page,
        "<section><h2>Steps</h2><div class=wide><table><thead><tr><th>{over}</th><th>p99</th>\
         <th>kept</th><th>why not</th></tr></thead><tbody>"
    )
    .ok();
    for RampStep { value, p99_ms, is_ok, reasons } in steps {
        let kept = if is_ok { "yes" } else { "no" };
        let value = rounded(value);
        let reasons = escape(&reasons);
        write!(
            page,
            "<tr><th>{value}</th><td>{p99_ms:.2} ms</td><td>{kept}</td><td>{reasons}</td></tr>"
        )
        .ok();
    }
    page.push_str("</tbody></table></div></section>");
}

fn plots(page: &mut String, outcome: &Outcome) {
    ramp(page, &outcome.extra);
    let curve = |name, points: &[(f64, u64)]| PlotLine {
        name,
        points: points.iter().map(|&(rest, value)| (rest, value as f64)).collect(),
    };
    let curves = &outcome.curves;
    // A run with one phase needs no phase labels.
    let marks: Vec<(f64, &str)> = match outcome.phases.as_slice() {
        [_] => Vec::new(),
        phases => phases.iter().map(|phase| (phase.t_s, phase.name)).collect(),
    };
    page.push_str(&plot(
        "Latency by percentile",
        Axis::Percentile,
        Axis::Micros,
        &[
            curve("from when it was to be sent", &curves.corrected),
            curve("from when it was sent", &curves.uncorrected),
        ],
        &[],
    ));
    let over_time = |name, field: fn(&crate::outcome::Point) -> u64| PlotLine {
        name,
        points: outcome
            .series
            .iter()
            .filter(|point| point.max_us > 0)
            .map(|point| (point.t_s, field(point) as f64))
            .collect(),
    };
    page.push_str(&plot(
        "Latency over time",
        Axis::Seconds,
        Axis::Micros,
        &[
            over_time("p50", |point| point.p50_us),
            over_time("p99", |point| point.p99_us),
            over_time("slowest", |point| point.max_us),
        ],
        &marks,
    ));
    page.push_str(&plot(
        "From the first receiver to the last, by percentile of messages",
        Axis::Percentile,
        Axis::Micros,
        &[curve("spread", &curves.spread)],
        &[],
    ));
    // The last interval is usually incomplete.
    let whole = outcome.series.len().saturating_sub(1).max(1);
    let received = outcome.series.iter().take(whole);
    page.push_str(&plot(
        "Messages received",
        Axis::Seconds,
        Axis::Linear("/s"),
        &[PlotLine {
            name: "by all sockets",
            points: received.map(|point| (point.t_s, point.received_per_s)).collect(),
        }],
        &marks,
    ));
    let mib = |bytes: Option<u64>| bytes.map(|bytes| bytes as f64 / f64::from(1 << 20));
    let memory = |name, field: &dyn Fn(&crate::outcome::Memory) -> Option<f64>| PlotLine {
        name,
        points: outcome.memory.iter().filter_map(|at| Some((at.t_s, field(at)?))).collect(),
    };
    page.push_str(&plot(
        "Memory",
        Axis::Seconds,
        Axis::Linear("MiB"),
        &[
            memory("server, resident", &|at| mib(at.rss_bytes)),
            memory("kernel, all TCP buffers", &|at| mib(at.tcp_bytes)),
        ],
        &marks,
    ));
    page.push_str(&plot(
        "Cores used by the server",
        Axis::Seconds,
        Axis::Linear(""),
        &[memory("cores", &|at| at.cores)],
        &marks,
    ));
    page.push_str(&plot(
        "How late the tool itself read",
        Axis::Percentile,
        Axis::Micros,
        &[curve("from the kernel's receipt to ours", &curves.lag)],
        &[],
    ));
}

fn latencies(page: &mut String, outcome: &Outcome) {
    page.push_str(
        "<section><h2>Durations</h2><div class=wide><table><thead><tr><th></th><th>count</th>\
         <th>p50</th><th>p90</th><th>p99</th><th>p99.9</th><th>p99.99</th><th>slowest</th></tr>\
         </thead><tbody>",
    );
    for phase in &outcome.phases {
        for class in &phase.classes {
            let name = format!("{}: {}", phase.name, class.class);
            row(page, &format!("{name}, corrected"), &class.latency.corrected);
            row(page, &format!("{name}, uncorrected"), &class.latency.uncorrected);
            row(page, &format!("{name}, oldest unseen"), &class.unseen);
        }
    }
    row(page, "first to last receiver", &outcome.spread);
    row(page, "connect", &outcome.connections.connect);
    row(page, "join", &outcome.connections.join);
    row(page, "resume", &outcome.connections.resume);
    row(page, "caught up", &outcome.connections.caught_up);
    if let Some(publisher) = &outcome.publisher {
        row(page, "slip of the publisher", &publisher.slip);
    }
    row(page, "lag of the generator", &outcome.generator.lag);
    page.push_str("</tbody></table></div></section>");
}

fn row(page: &mut String, name: &str, percentiles: &Percentiles) {
    if percentiles.count == 0 {
        return;
    }
    write!(page, "<tr><th>{}</th><td>{}</td>", escape(name), number(percentiles.count)).ok();
    for value in percentiles.ascending() {
        write!(page, "<td>{}</td>", ms(value)).ok();
    }
    page.push_str("</tr>");
}

fn arrivals(page: &mut String, outcome: &Outcome) {
    let totals = &outcome.totals;
    let facts = [
        ("changes expected", totals.expected),
        ("received", totals.received),
        ("covered by an image", totals.by_image),
        ("missing", totals.missing),
        ("gaps", totals.gaps),
        ("duplicates", totals.duplicates),
        ("out of order", totals.reorders),
        ("merged updates", totals.merged),
        ("resyncs", totals.resyncs),
        ("errors", totals.errors),
        ("connections refused", totals.refused),
        ("connections ended", totals.closed),
        ("documents compared", outcome.documents.compared as u64),
        ("documents different", outcome.documents.different as u64),
    ];
    let facts = facts.map(|(name, count)| (name.to_owned(), number(count)));
    list(page, "What arrived", &facts);
}

fn resources(page: &mut String, outcome: &Outcome) {
    let share = |share: f64| format!("{:.1} %", share * 100.0);
    let generator = &outcome.generator;
    let mut facts = vec![
        ("generator busy, at most".to_owned(), share(generator.busy_max)),
        ("generator without a core".to_owned(), share(generator.starved_max)),
        ("upgrades a second".to_owned(), rounded(outcome.connections.upgrades_per_s)),
    ];
    if let Some(publisher) = &outcome.publisher {
        facts.push(("published a second".to_owned(), rounded(publisher.sent_per_s)));
        facts.push(("publisher waited for the server".to_owned(), share(publisher.blocked)));
    }
    if outcome.hubs.len() > 1 {
        facts.extend(outcome.hubs.iter().map(|hub| (hub.url.clone(), hub.summary())));
    }
    if let Some(server) = &outcome.server {
        if let Some(cores) = server.cores {
            facts.push(("cores used by the server".to_owned(), format!("{cores:.2}")));
        }
        let kib = |bytes: Option<u64>| bytes.map_or_else(|| "?".to_owned(), |b| number(b >> 10));
        for mark in &server.marks {
            let name = format!("server at {:.1} s, PSS / TCP", mark.t_s);
            let memory = format!("{} / {} KiB", kib(mark.pss_bytes), kib(mark.tcp_bytes));
            facts.push((name, memory));
        }
    }
    list(page, "What it took", &facts);
}

fn extra(page: &mut String, outcome: &Outcome) {
    if outcome.extra.is_empty() {
        return;
    }
    let fact = |(name, value): (&String, &serde_json::Value)| {
        let value = value.as_str().map_or_else(|| value.to_string(), ToOwned::to_owned);
        (name.replace('_', " "), value)
    };
    // Steps have their own table.
    let facts: Vec<_> = outcome.extra.iter().filter(|(_, it)| !it.is_array()).map(fact).collect();
    list(page, "Of this profile", &facts);
}

fn list(page: &mut String, title: &str, facts: &[(String, String)]) {
    write!(page, "<section><h2>{title}</h2><table class=facts><tbody>").ok();
    for (name, value) in facts {
        write!(page, "<tr><th>{}</th><td>{}</td></tr>", escape(name), escape(value)).ok();
    }
    page.push_str("</tbody></table></section>");
}

fn ms(us: u64) -> String {
    match us {
        0..1_000 => format!("{us} µs"),
        1_000..100_000 => format!("{:.2} ms", us as f64 / 1e3),
        100_000..10_000_000 => format!("{:.0} ms", us as f64 / 1e3),
        _ => format!("{:.1} s", us as f64 / 1e6),
    }
}

/// A percentage with as many digits as it needs, never rounded up to 100 %.
fn percent(share: f64) -> String {
    let floor = (share * 1e6).floor() / 1e4;
    format!("{floor} %")
}

/// A number in groups of three digits.
fn number(value: u64) -> String {
    let digits = value.to_string();
    let mut grouped = String::new();
    for (nth, digit) in digits.chars().enumerate() {
        if nth > 0 && (digits.len() - nth).is_multiple_of(3) {
            grouped.push('\u{202f}');
        }
        grouped.push(digit);
    }
    grouped
}

fn rounded(value: f64) -> String {
    number(value.max(0.0).round() as u64)
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_rounded_for_display() {
        assert_eq!(number(1_234_567).replace('\u{202f}', " "), "1 234 567");
        assert_eq!(
            [ms(7), ms(7_123), ms(712_345), ms(71_234_500)],
            ["7 µs", "7.12 ms", "712 ms", "71.2 s"]
        );
    }

    #[test]
    fn steps_of_a_ramp_are_plotted_and_listed() {
        let steps = serde_json::json!([
            {"value": 200, "p99_ms": 31.5, "ok": false, "verdict": "wrong", "reasons": ["2 gaps"]},
            {"value": 100, "p99_ms": 2.25, "ok": true, "verdict": "ok", "reasons": []},
        ]);
        let extra = [("steps".to_owned(), steps), ("p99_ms_target".to_owned(), 10.0.into())];
        let mut page = String::new();
        ramp(&mut page, &extra.into());
        assert!(
            page.contains("Corrected p99 over sockets") && page.contains("class=line1"),
            "{page}"
        );
        let (first, second) = (page.find("<th>100</th>"), page.find("<th>200</th>"));
        assert!(first.is_some() && first < second, "not in order: {page}");
        assert!(page.contains("<td>31.50 ms</td><td>no</td><td>2 gaps</td>"), "{page}");
    }

    #[test]
    fn almost_all_is_not_shown_as_all() {
        assert_eq!([1.0, 0.999_999_9, 0.5].map(percent), ["100 %", "99.9999 %", "50 %"]);
    }

    #[test]
    fn command_is_escaped_in_html() {
        assert_eq!(escape("<b a=\"1\">&"), "&lt;b a=&quot;1&quot;&gt;&amp;");
    }
}

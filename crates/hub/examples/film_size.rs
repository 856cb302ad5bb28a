//! The bytes of films: plays simulated matches through a hub, from the announcement to the end, records them
//! and prints what each film takes on disk, and what a Saturday of 1,000 football matches like them would.
//! The argument is the time, in minutes, within which the matches start.
//!
//! ```console
//! $ cargo run -p matchwire-hub --example film_size -- 10
//! ```

use std::{collections::HashSet, io::Write as _};

use bytes::Bytes;
use facts::event::{Id, Timed};
use fanout::{Change, Epoch, Publication, channel::Rate, encode::payload};
use hub::{
    Epochs, Hub, HubSettings, feeds::SourcePolicy, identity::Identity, sequence::TailWindow,
};
use log::{
    config::LogConfig,
    film::{FilmQuery, FilmSettings, FilmWriter},
    record::{Output, Record},
};
use simulator::Simulator;

const START: i64 = 1_788_280_000_000_000;
const MINUTE: i64 = 60_000_000;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let start_within = std::env::args().nth(1).map_or(Ok(10), |it| it.parse::<i64>())?;
    let settings = HubSettings {
        window: TailWindow { bytes: 1 << 20, age_us: 300_000_000 },
        matches_max: 20_000,
        matches_max_per_source: usize::MAX,
        ended_keep_us: 7_200_000_000,
        stale_after_ms: 10_000,
        hold_us: 10_000_000,
    };
    let epochs = Epochs { matches: Epoch(1), feeds: Epoch(2) };
    let mut hub = Hub::new(settings, epochs, Identity::default());
    let source = hub.source("simulator".into(), "simulator", SourcePolicy::default());
    let folder = tempfile::tempdir()?;
    let mut films =
        FilmWriter::open(folder.path(), FilmSettings::from_config(&LogConfig::default()))?;
    let truth = Simulator::truth(3, START);
    let soon = truth.matches.into_iter().filter(|it| it.start < START + start_within * MINUTE);
    let ids: HashSet<Id> = soon.map(|it| it.id).collect();
    let (mut changes, mut number, mut published) = (Vec::new(), 0, 0_usize);
    for Timed { clock_us, batch } in Simulator::new(3, START) {
        if clock_us > START + (170 + start_within) * MINUTE {
            break;
        }
        if !batch.events.first().is_some_and(|event| ids.contains(&event.match_id)) {
            continue;
        }
        hub.apply(source, &batch, clock_us, clock_us, &mut changes);
        let outputs: Vec<Output> = changes.drain(..).filter_map(output).collect();
        number += 1;
        published += outputs.len();
        films.record(&Record { number, at: clock_us, inputs: Bytes::new(), outputs })?;
    }
    films.sync()?;
    let mut out = std::io::stdout().lock();
    writeln!(out, "{number} records, {published} outputs")?;
    let (mut football, mut football_bytes) = (0, 0);
    for film in films.films().list(FilmQuery::default()) {
        let mut reader = films.films().reader(film.name.as_str())?;
        let (mut entries, mut bytes) = (0, 0);
        while let Some(entry) = reader.next_entry()? {
            entries += 1;
            bytes += match entry.kind {
                log::film::EntryKind::Image { payload, .. }
                | log::film::EntryKind::Update { payload, .. } => payload.len(),
                log::film::EntryKind::Closed => 0,
            };
        }
        let minutes = (film.last - film.first) / MINUTE;
        let channels = film.channels.len();
        let line = format!(
            "{}: {} bytes on disk, {entries} entries of {bytes} bytes, {channels} channels, {minutes} minutes",
            film.name, film.bytes
        );
        writeln!(out, "{line}")?;
        if film.name.as_str().starts_with("football/") {
            (football, football_bytes) = (football + 1, football_bytes + film.bytes);
        }
    }
    if let Some(mean) = football_bytes.checked_div(football) {
        let day = mean / 1_000;
        writeln!(out, "{football} football matches: {mean} bytes each, {day} MB for 1,000")?;
    }
    Ok(())
}

fn output(change: Change) -> Option<Output> {
    Some(match change {
        Change::Opened(image) => Output::Opened {
            seq: image.seq,
            channel: image.channel.name.clone(),
            epoch: image.channel.epoch,
            payload: payload(image.frame()),
        },
        Change::Published(Rate::Each, update) => {
            let Publication { channel, prev, seq, urgent, has_events, .. } = &*update;
            Output::Published {
                channel: channel.name.clone(),
                epoch: channel.epoch,
                prev: *prev,
                seq: *seq,
                urgent: *urgent,
                has_events: *has_events,
                payload: payload(update.frame()),
            }
        }
        Change::Published(..) => return None,
        Change::Closed(channel) => {
            Output::Closed { channel: channel.name.clone(), epoch: channel.epoch }
        }
    })
}

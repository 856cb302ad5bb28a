//! Races, meetings and tracks as rows of lists.

use facts::event::Sport;
use serde::Serialize;
use utoipa::ToSchema;

use super::{super::shape::NamedRow, card::RaceCard, runners::RunnerRow};
use record::{Key, Vocabulary};

#[derive(Debug, Clone, Serialize, ToSchema)]
pub(super) struct RaceRow {
    id: Key,
    /// As a feed names it, else the track and the time.
    name: Option<String>,
    slug: Option<String>,
    track: Option<TrackBrief>,
    region: Option<String>,
    /// `prematch`, `idle` (at the post), `live`, `archived`, `cancelled`.
    state: &'static str,
    starts_at: Option<String>,
    /// No feed provides them.
    on_line_at: Option<String>,
    off_line_at: Option<String>,
    provider: Option<String>,
    competitors_count: usize,
}

#[derive(Debug, Serialize, ToSchema)]
pub(super) struct RaceDetail {
    #[serde(flatten)]
    row: RaceRow,
    runners: Vec<RunnerRow>,
}

#[derive(Debug, Clone, Serialize, ToSchema)]
pub(super) struct TrackBrief {
    pub(super) id: Key,
    pub(super) name: String,
    slug: String,
    region: Option<String>,
}

#[derive(Debug, Clone, Serialize, ToSchema)]
pub(super) struct TrackRow {
    #[serde(flatten)]
    pub(super) summary: TrackBrief,
    /// No feed provides them.
    tier: Option<u32>,
    sort_score: Option<f64>,
}

/// The races of one track on one day.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub(super) struct MeetingRow {
    /// The track and the day: `1234-2026-08-30`.
    pub(super) id: String,
    track: TrackBrief,
    date: String,
    races_count: usize,
    first_race_at: Option<String>,
    last_race_at: Option<String>,
    races: Vec<Key>,
}

impl RaceRow {
    pub(super) fn new(card: &RaceCard) -> Self {
        let starts_at = card.starts_at();
        let by_time = || {
            // There is none after a day alone.
            let time = starts_at.as_ref()?.get(11..16)?;
            Some(format!("{} {time}", card.track.as_ref()?.name))
        };
        let name = card.name.clone().or_else(by_time);
        let slug = |name: &String| {
            let day = starts_at.as_ref().and_then(|at| at.get(..10)).unwrap_or_default();
            slug(&format!("{name} {day}"))
        };
        Self {
            id: card.race,
            slug: name.as_ref().map(slug),
            name,
            track: TrackBrief::new(card),
            region: card.region.clone(),
            state: card.status.word(Vocabulary::Sport(Sport::HorseRacing)),
            starts_at,
            on_line_at: None,
            off_line_at: None,
            provider: card.provider.clone(),
            competitors_count: card.runners.len(),
        }
    }
}

impl RaceDetail {
    pub(super) fn new(card: &RaceCard) -> Self {
        let runners = card.runners.iter().map(|runner| RunnerRow::new(card, runner)).collect();
        Self { row: RaceRow::new(card), runners }
    }
}

impl TrackBrief {
    fn new(card: &RaceCard) -> Option<Self> {
        let NamedRow { id, name } = card.track.clone()?;
        Some(Self { id, slug: slug(&name), name, region: card.region.clone() })
    }
}

impl TrackRow {
    pub(super) fn new(card: &RaceCard) -> Option<Self> {
        Some(Self { summary: TrackBrief::new(card)?, tier: None, sort_score: None })
    }
}

impl MeetingRow {
    pub(super) fn new(card: &RaceCard) -> Option<Self> {
        let track = TrackBrief::new(card)?;
        let at = card.starts_at()?;
        let date = at.get(..10)?.to_owned();
        Some(Self {
            id: format!("{}-{date}", track.id),
            track,
            date,
            races_count: 1,
            first_race_at: Some(at.clone()),
            last_race_at: Some(at),
            races: vec![card.race],
        })
    }

    /// Races are ordered by start.
    pub(super) fn add(&mut self, later: Self) {
        self.races_count += later.races_count;
        self.last_race_at = later.last_race_at;
        self.races.extend(later.races);
    }
}

/// Lower-case letters and digits, separated by dashes.
fn slug(name: &str) -> String {
    let name = name.to_lowercase();
    let words = name.split(|letter: char| !letter.is_alphanumeric());
    words.filter(|word| !word.is_empty()).collect::<Vec<_>>().join("-")
}

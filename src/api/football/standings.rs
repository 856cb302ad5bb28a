//! `leagues/{id}/standings/`: the table of a season, from its results and the matches in play.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

use axum::{
    extract::{Path, State},
    http::Uri,
    response::Response,
};
use hyper::HeaderMap;
use ingest::event::ExpectedGoals;
use serde::Serialize;
use utoipa::ToSchema;

use super::{
    event::regulation,
    matches::Matches,
    request::{self, football, key},
    seasons::{Calendar, Season},
};
use crate::{
    api::{Api, ApiError, CacheControl, ErrorBody, Params, Spec, UnknownParametersBody},
    archive::{EntityKind, Filter},
    record::{Key, MatchSummary},
};

/// The number of latest results in `form`.
const FORM: usize = 5;

/// SERVICE section 1.9. Either `standings` or, where the season has groups, `groups` is there.
#[derive(Debug, PartialEq, Serialize, ToSchema)]
pub(super) struct Standings {
    league_id: Key,
    /// `null` where no feed names a season of the league; the table is empty then.
    season: Option<Season>,
    grouped: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    standings: Option<Vec<Standing>>,
    /// By the name of the group.
    #[serde(skip_serializing_if = "Option::is_none")]
    groups: Option<BTreeMap<String, Vec<Standing>>>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, ToSchema)]
pub(super) struct Standing {
    position: usize,
    team_id: Key,
    team_name: String,
    played: u32,
    won: u32,
    drawn: u32,
    lost: u32,
    gf: u32,
    ga: u32,
    gd: i64,
    /// 3 for a win, 1 for a draw; no feed of ours tells of points taken away.
    pts: u32,
    /// Expected goals for and against, of the matches that have them; `xg_games` counts these.
    xgf: Option<f64>,
    xga: Option<f64>,
    xgd: Option<f64>,
    xg_games: Option<u32>,
    /// `W`, `D` and `L` of the last five, the newest last.
    form: String,
    /// A match that is in play is counted as it stands.
    live: bool,
}

const SPEC: Spec = request::spec(&["season_id"]);

/// The table of a season.
#[utoipa::path(
    get,
    path = "/api/v2/leagues/{id}/standings/",
    tag = "football v2",
    params(
        ("id" = u64, Path, description = "The league"),
        ("season_id" = Option<u64>, Query, description = "The season (default: the current one)"),
    ),
    responses(
        (status = 200, body = Standings),
        (status = 400, body = UnknownParametersBody),
        (status = 401, body = ErrorBody),
        (status = 404, body = ErrorBody),
    ),
)]
pub(super) async fn standings(
    State(api): State<Api>,
    Path(id): Path<String>,
    uri: Uri,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let params = Params::read(uri.query(), SPEC)?;
    let matches = Matches::now(&api);
    let league = matches.entity(EntityKind::Competition, key(&id)?)?;
    let calendar = Calendar::of(&matches, Some(league.id));
    let season = calendar.season(&matches, league.id, params.id("season_id")?)?;
    let played = season
        .as_ref()
        .map(|season| matches.all(&Filter { season: Some(season.id), ..football() }));
    let name = |team: Key| matches.team_name(team);
    let body = Standings::of(league.id, season, &played.unwrap_or_default(), name);
    CacheControl::LIST.answer(&headers, &body)
}

impl Standings {
    /// `played` are the season's matches, in order.
    fn of(
        league_id: Key,
        season: Option<Season>,
        played: &[Arc<MatchSummary>],
        name: impl Fn(Key) -> String,
    ) -> Self {
        let mut groups: BTreeMap<String, Vec<&MatchSummary>> = BTreeMap::new();
        for brief in played {
            if let Some(group) = &brief.group {
                groups.entry(group.to_string()).or_default().push(brief);
            }
        }
        let grouped = !groups.is_empty();
        let all = || table(played.iter().map(AsRef::as_ref), &name);
        let standings = (!grouped).then(all);
        let groups = groups.into_iter().map(|(group, of)| (group, table(of.into_iter(), &name)));
        let groups = grouped.then(|| groups.collect());
        Self { league_id, season, grouped, standings, groups }
    }
}

/// The rows of the teams in these matches: by points, goal difference, goals and name.
fn table<'a>(
    matches: impl Iterator<Item = &'a MatchSummary>,
    name: &impl Fn(Key) -> String,
) -> Vec<Standing> {
    let mut rows: HashMap<Key, Standing> = HashMap::new();
    for brief in matches {
        let Some(sides) = brief.sides else { continue };
        for team_id in sides {
            rows.entry(team_id).or_insert_with(|| Standing {
                team_id,
                team_name: name(team_id),
                ..Standing::default()
            });
        }
        let is_live = brief.status.is_live();
        if !is_live && !brief.status.has_result() {
            continue;
        }
        let Some([home, away]) = regulation(brief) else { continue };
        for (team, own, other) in [(sides[0], home, away), (sides[1], away, home)] {
            if let Some(row) = rows.get_mut(&team) {
                row.count(own, other, is_live);
            }
        }
        if let Some([home, away]) = brief.expected_goals.map(|it| it.map(ExpectedGoals::goals)) {
            for (team, own, other) in [(sides[0], home, away), (sides[1], away, home)] {
                if let Some(row) = rows.get_mut(&team) {
                    row.count_expected(own, other);
                }
            }
        }
    }
    let mut rows: Vec<_> = rows.into_values().collect();
    rows.sort_by(|a, b| {
        let rank = |row: &Standing| Reverse((row.pts, row.gd, row.gf));
        (rank(a), &a.team_name, a.team_id).cmp(&(rank(b), &b.team_name, b.team_id))
    });
    for (place, row) in rows.iter_mut().enumerate() {
        row.position = place + 1;
        let older = row.form.len().saturating_sub(FORM);
        row.form.drain(..older);
    }
    rows
}

impl Standing {
    fn count_expected(&mut self, own: f64, other: f64) {
        let sum = |sum: Option<f64>, goals: f64| Some(hundredths(sum.unwrap_or_default() + goals));
        self.xgf = sum(self.xgf, own);
        self.xga = sum(self.xga, other);
        self.xgd = sum(self.xgd, own - other);
        self.xg_games = Some(self.xg_games.unwrap_or_default() + 1);
    }

    fn count(&mut self, own: u32, other: u32, is_live: bool) {
        self.played += 1;
        self.gf += own;
        self.ga += other;
        self.gd += i64::from(own) - i64::from(other);
        self.live |= is_live;
        let (letter, points) = match own.cmp(&other) {
            std::cmp::Ordering::Greater => {
                self.won += 1;
                ('W', 3)
            }
            std::cmp::Ordering::Equal => {
                self.drawn += 1;
                ('D', 1)
            }
            std::cmp::Ordering::Less => {
                self.lost += 1;
                ('L', 0)
            }
        };
        self.form.push(letter);
        self.pts += points;
    }
}

fn hundredths(value: f64) -> f64 {
    (value * 100.0).round() / 100.0
}

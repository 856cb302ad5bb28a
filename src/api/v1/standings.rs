//! `/api/leagues/{id}/standings/`: the table of a season, computed from the known results.

use std::{cmp::Reverse, collections::BTreeMap};

use axum::{
    extract::{Path, State},
    http::Uri,
    response::Response,
};
use hyper::HeaderMap;
use ingest::event::Sport;
use serde::Serialize;
use utoipa::ToSchema;

use super::{
    league::{LeagueRow, Seasons, football_entity},
    request::V1Query,
};
use crate::{
    api::{Api, ApiError, CacheControl, football::regulation},
    archive::{EntityKind, Filter, Window},
    record::{Key, Status},
};

/// The number of letters in `form`.
const FORM: usize = 5;

#[derive(Debug, Serialize, ToSchema)]
#[schema(as = V1Standings)]
pub(super) struct Standings {
    league: LeagueRow,
    season_id: Option<u64>,
    /// Of a season without groups.
    standings: Vec<Standing>,
    /// Of one with groups, by their names.
    groups: BTreeMap<String, Vec<Standing>>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, ToSchema)]
#[schema(as = V1Standing)]
struct Standing {
    position: usize,
    team_id: u64,
    team_name: Option<String>,
    #[serde(flatten)]
    #[schema(inline)]
    total: Sum,
    pts: u32,
    /// The last five results, the newest last: `WLWWD`.
    form: String,
    home: Sum,
    away: Sum,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, ToSchema)]
struct Sum {
    played: u32,
    won: u32,
    drawn: u32,
    lost: u32,
    gf: u32,
    ga: u32,
    gd: i64,
}

impl Sum {
    fn add(&mut self, own: u32, other: u32) {
        self.played += 1;
        self.won += u32::from(own > other);
        self.drawn += u32::from(own == other);
        self.lost += u32::from(own < other);
        self.gf += own;
        self.ga += other;
        self.gd += i64::from(own) - i64::from(other);
    }
}

impl Standing {
    /// Counts a match.
    fn add(&mut self, is_home: bool, own: u32, other: u32) {
        self.total.add(own, other);
        if is_home {
            self.home.add(own, other)
        } else {
            self.away.add(own, other)
        }
        self.pts = 3 * self.total.won + self.total.drawn;
        self.form.push(match own.cmp(&other) {
            std::cmp::Ordering::Greater => 'W',
            std::cmp::Ordering::Equal => 'D',
            std::cmp::Ordering::Less => 'L',
        });
        if self.form.len() > FORM {
            self.form.remove(0);
        }
    }
}

/// By points, goal difference, goals and name.
fn ranked(rows: BTreeMap<Key, Standing>) -> Vec<Standing> {
    let mut rows: Vec<_> = rows.into_values().collect();
    rows.sort_by_cached_key(|row| {
        (Reverse((row.pts, row.total.gd, row.total.gf)), row.team_name.clone(), row.team_id)
    });
    rows.iter_mut().zip(1..).for_each(|(row, position)| row.position = position);
    rows
}

/// The table of a season.
#[utoipa::path(
    get, path = "/api/leagues/{id}/standings/", tag = "football v1",
    params(("id" = u64, Path), ("season" = Option<u64>, Query, description = "The season (default: the current one)")),
    responses((status = 200, body = Standings), (status = 400, description = "Invalid parameter value"), (status = 404, description = "No such league"))
)]
pub(super) async fn standings(
    State(api): State<Api>,
    Path(id): Path<String>,
    uri: Uri,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let query = V1Query::pages(&api, &uri, &headers, &["season"])?;
    let entity = football_entity(&api, EntityKind::Competition, &id)?;
    let league = Seasons::of(&api, Some(entity.id)).league(&api, &entity);
    let season_id = query.params.id("season")?.or(league.season_id);
    let filter = Filter {
        sport: Some(Sport::Football),
        competition: Some(entity.id),
        season: season_id,
        statuses: Some(vec![Status::Finished]),
        ..Filter::default()
    };
    let mut tables: BTreeMap<Option<String>, BTreeMap<Key, Standing>> = BTreeMap::new();
    for brief in &api.archive.find(&filter, Window::ALL).briefs {
        let (Some(sides), Some(goals)) = (brief.sides, regulation(brief)) else { continue };
        let group = brief.group.as_ref().map(|group| group.to_string());
        let table = tables.entry(group).or_default();
        for place in 0..2 {
            let row = table.entry(sides[place]).or_insert_with(|| Standing {
                team_id: sides[place],
                team_name: query.name(EntityKind::Team, Some(sides[place])),
                ..Standing::default()
            });
            row.add(place == 0, goals[place], goals[1 - place]);
        }
    }
    let standings = tables.remove(&None).map(ranked).unwrap_or_default();
    let groups = tables.into_iter().filter_map(|(group, table)| Some((group?, ranked(table))));
    // The table of an unknown season is empty and has no id.
    let is_known = |id: &Key| api.archive.entity(EntityKind::Season, *id).is_some();
    let season_id = season_id.filter(is_known);
    let answer = Standings { league, season_id, standings, groups: groups.collect() };
    CacheControl::LIST.answer(&headers, &answer)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn table_is_by_points_then_difference_then_goals() {
        let mut rows: BTreeMap<Key, Standing> =
            (1..=3).map(|id| (id, Standing { team_id: id, ..Standing::default() })).collect();
        let mut play = |home: Key, away: Key, [of_home, of_away]: [u32; 2]| {
            rows.get_mut(&home).unwrap().add(true, of_home, of_away);
            rows.get_mut(&away).unwrap().add(false, of_away, of_home);
        };
        play(1, 2, [1, 0]);
        play(2, 3, [3, 1]);
        play(3, 1, [2, 2]);
        let table = ranked(rows);
        let rows: Vec<_> =
            table.iter().map(|it| (it.position, it.team_id, it.pts, it.form.as_str())).collect();
        assert_eq!(rows, [(1, 1, 4, "WD"), (2, 2, 3, "LW"), (3, 3, 1, "LD")]);
        assert_eq!(table[0].home, Sum { played: 1, won: 1, gf: 1, gd: 1, ..Sum::default() });
        assert_eq!(table[2].total.gd, -2);
    }
}

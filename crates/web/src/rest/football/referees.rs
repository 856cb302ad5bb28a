//! `/api/v2/referees/`: referees, and how often they show cards.

use std::{collections::HashMap, sync::Arc};

use serde::Serialize;
use utoipa::ToSchema;

use super::{
    country,
    event::Event,
    head_to_head::ratio,
    match_stats::{MatchStats, MatchStatsCache},
    people::{self, Person, Role},
    request::{self, COUNTRY_CODE, MIN_MATCHES, NAME, NONE, PAGE},
    snapshot::Matches,
};
use crate::rest::{ApiError, ApiRequest, ApiResult, Page, Spec};
use history::query::{Entity, regulation};
use record::{Key, MatchSummary};

/// SERVICE section 1.9. Sums cover matches with a known result; what no feed provides
/// is `null`.
#[derive(Debug, PartialEq, Serialize, ToSchema)]
pub(in crate::rest) struct Referee {
    id: Key,
    name: String,
    country: String,
    /// No feed provides it: empty.
    nationality_a3: &'static str,
    birthdate: Option<String>,
    pub(in crate::rest) matches: usize,
    pub(in crate::rest) total_yellow_cards: Option<u32>,
    pub(in crate::rest) total_red_cards: Option<u32>,
    /// Averages are over the matches of which the count is known.
    avg_yellow_per_match: Option<f64>,
    avg_red_per_match: Option<f64>,
    avg_goals_per_match: Option<f64>,
    avg_fouls_per_match: Option<f64>,
    /// The career as far as the hub knows it: the same sums.
    career_games: usize,
    career_yellow_cards: Option<u32>,
    career_red_cards: Option<u32>,
}

impl Person for Referee {
    const ROLE: Role = Role::Referee;

    fn new(
        referee: &Entity,
        judged: &[Arc<MatchSummary>],
        match_stats: &HashMap<Key, MatchStats>,
    ) -> Self {
        let match_stats = || judged.iter().filter_map(|summary| match_stats.get(&summary.id));
        let yellow = StatTotal::new(match_stats().map(|stats| stats.yellow));
        let red = StatTotal::new(match_stats().map(|stats| stats.red));
        let fouls = StatTotal::new(match_stats().map(|stats| stats.fouls));
        let goals = StatTotal::new(judged.iter().map(|summary| regulation(summary)));
        Self {
            id: referee.id,
            name: referee.name.to_string(),
            country: country::name_or_empty(referee.country.as_deref()),
            nationality_a3: "",
            birthdate: None,
            matches: judged.len(),
            total_yellow_cards: yellow.total(),
            total_red_cards: red.total(),
            avg_yellow_per_match: yellow.average(),
            avg_red_per_match: red.average(),
            avg_goals_per_match: goals.average(),
            avg_fouls_per_match: fouls.average(),
            career_games: judged.len(),
            career_yellow_cards: yellow.total(),
            career_red_cards: red.total(),
        }
    }
}

impl Referee {
    /// The row of a referee.
    ///
    /// # Errors
    ///
    /// If the archive fails.
    pub(in crate::rest) async fn read(
        matches: &Matches<'_>,
        cache: &MatchStatsCache,
        referee: &Entity,
    ) -> Result<Self, ApiError> {
        people::person(matches, cache, referee).await
    }
}

/// The total of both sides, over the matches that have the number.
struct StatTotal {
    sum: u32,
    count: usize,
}

impl StatTotal {
    fn new(counts: impl Iterator<Item = Option<[u32; 2]>>) -> Self {
        counts.flatten().fold(Self { sum: 0, count: 0 }, |sum, [home, away]| Self {
            sum: sum.sum + home + away,
            count: sum.count + 1,
        })
    }

    fn total(&self) -> Option<u32> {
        (self.count > 0).then_some(self.sum)
    }

    fn average(&self) -> Option<f64> {
        ratio(f64::from(self.sum), self.count, 2)
    }
}

params! {
    struct ListParams {
        name: Name = NAME,
        country_code: CountryCode = COUNTRY_CODE,
        league_id: Ids = "Refereed a match in one of these leagues",
        min_matches: Number = MIN_MATCHES,
    }
}

const LIST: Spec = request::spec(&[ListParams::PARAMS]).paged();

endpoints! {
    /// Referees, by name.
    "/api/v2/referees/", params(LIST), answers(Page<Referee>), |request| list(&request).await;

    /// A referee.
    "/api/v2/referees/{id}/", params(NONE), answers(Referee),
        |request| people::detail::<Referee>(&request).await;

    /// The matches that the referee judges and judged, the latest first.
    "/api/v2/referees/{id}/matches/", params(PAGE), answers(Page<Event>),
        |request| people::matches(&request, Role::Referee);
}

async fn list(request: &ApiRequest) -> ApiResult {
    let filters = ListParams::read(&request.params)?;
    let passes_filter = |referee: &Entity| {
        filters.name.is_in(&referee.name) && filters.country_code.passes(referee.country.as_deref())
    };
    people::list::<Referee>(request, &filters.league_id, filters.min_matches, passes_filter).await
}

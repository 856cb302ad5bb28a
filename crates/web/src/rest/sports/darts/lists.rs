//! Players, rankings, tournaments and predictions of darts.

use std::sync::Arc;

use facts::event::Sport;
use serde::Serialize;
use utoipa::ToSchema;

use super::{
    super::{
        forecast::{Forecast, Model, percent},
        index::{ANY, index},
        lists::{self, LEAGUES, NAMED},
        matches,
        predicted::{self, PREDICTIONS},
        request::{self, NONE},
        shape::{self, LeagueRow, NamedRow},
        sport_stats::{self, SportStats},
    },
    matches::{DartsPlayerBrief, DartsTournament},
};
use crate::{
    rating::{self, Rating},
    rest::{Api, ApiError, ApiRequest, ApiResult, CacheControl, Page},
};
use history::query::{Entity, EntityKind, MatchQuery};
use record::{Key, MatchRecord, Vocabulary};

const SPORT: Sport = Sport::Darts;

/// The types of rankings, each Elo over archived results: `PDC` covers all of them, `ProTour` those of the
/// tour's tournaments.
const TYPES: [&str; 2] = ["PDC", "ProTour"];

/// Words in the names of the tour's tournaments, in lower case.
const TOUR: [&str; 4] = ["protour", "pro tour", "players championship", "european tour"];

/// What no feed provides of players is null.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct DartsPlayer {
    id: Key,
    api_id: Option<u64>,
    name: String,
    short_name: Option<String>,
    country_code: Option<String>,
    country_name: String,
    /// Calculated from stored results; null if there are none.
    elo_overall: Option<i64>,
    elo_major: Option<i64>,
    elo_protour: Option<i64>,
    avg_average: Option<f64>,
    avg_checkout_pct: Option<f64>,
    avg_180s: Option<f64>,
    legs_won_pct: Option<f64>,
}

#[derive(Debug, Serialize, ToSchema)]
pub(super) struct DartsRanking {
    position: usize,
    /// No feed provides it.
    prize_money: Option<u64>,
    /// The rating, rounded.
    points: i64,
    player: Option<NamedRow>,
    #[serde(rename = "type")]
    kind: &'static str,
}

/// The same id as its match: there is one prediction of each.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct DartsPrediction {
    id: Key,
    match_id: Key,
    tournament: Option<DartsTournament>,
    player1: Option<DartsPlayerBrief>,
    player2: Option<DartsPlayerBrief>,
    match_date: Option<String>,
    status: &'static str,
    /// In percent; null where neither prices nor results tell anything.
    prob_player1_wins: Option<f64>,
    prob_player2_wins: Option<f64>,
    /// 1 or 2.
    predicted_winner: Option<u8>,
    /// How likely that is, in percent.
    confidence: Option<f64>,
    /// `consensus`: the bookmakers' prices without their margin. `elo`: from earlier results.
    model: Option<Model>,
    /// 1 or 2, once it is known.
    actual_winner: Option<u8>,
    was_winner_correct: Option<bool>,
}

params! {
    struct RankingsParams { kind as "type": Text = "`PDC` (default) or `ProTour`, case-insensitive." }
}

endpoints! {
    /// The lists of this product, by their names.
    "/darts/api/v2/", params(ANY), answers(BTreeMap<String, String>), |request| index(&request);

    /// Players, by name.
    "/darts/api/v2/players/", params(NAMED), answers(Page<DartsPlayer>),
        |request| lists::sides(&request, SPORT, DartsPlayer::new).await;

    /// One player.
    "/darts/api/v2/players/{id}/", params(NONE), answers(DartsPlayer),
        |request| lists::side(&request, SPORT, DartsPlayer::new).await;

    /// The ranking of all players who have a result, the strongest first. A ranking of another type is
    /// empty. Where no tournament is known to be of the tour, `ProTour` is of all results, too.
    "/darts/api/v2/rankings/", params(request::spec(&[RankingsParams::PARAMS]).paged()), answers(Page<DartsRanking>),
        |request| rankings(&request).await;

    /// One row of the ranking, by the player's id.
    "/darts/api/v2/rankings/{id}/", params(NONE), answers(DartsRanking),
        |request| ranking(&request).await;

    /// Tournaments: those of which most is played first.
    "/darts/api/v2/tournaments/", params(LEAGUES), answers(Page<LeagueRow>),
        |request| lists::leagues(&request, SPORT).await;

    /// One tournament.
    "/darts/api/v2/tournaments/{id}/", params(NONE), answers(LeagueRow),
        |request| lists::league(&request, SPORT).await;

    /// Predictions; by default for matches that have not started.
    "/darts/api/v2/predictions/", params(PREDICTIONS), answers(Page<DartsPrediction>),
        |request| predicted::list(&request, SPORT, DartsPrediction::new).await;

    /// The prediction of one match, by the match's id.
    "/darts/api/v2/predictions/{id}/", params(NONE), answers(DartsPrediction), |request| {
            matches::one(&request, SPORT, CacheControl::PREDICTIONS, DartsPrediction::new).await
        };
}

async fn rankings(request: &ApiRequest) -> ApiResult {
    let wanted = RankingsParams::read(&request.params)?.kind;
    let wanted = wanted.as_deref().unwrap_or(TYPES[0]);
    let kind = TYPES.into_iter().find(|kind| kind.eq_ignore_ascii_case(wanted));
    let (kind, ranked) = match kind {
        Some(kind) if kind == TYPES[1] => (kind, tour(request).await?.table.ranked()),
        Some(kind) => (kind, request.sport_stats(SPORT).await?.table.ranked()),
        None => (TYPES[0], Vec::new()),
    };
    let rows: Vec<_> = (1..).zip(ranked).collect();
    request.page_of(CacheControl::REFERENCE, &rows, |it| DartsRanking::new(&request.api, it, kind))
}

/// The statistics over the tour's results; over all tournaments if none is known to be part of the tour.
async fn tour(request: &ApiRequest) -> Result<Arc<SportStats>, ApiError> {
    let history = &request.api.history;
    let is_of_tour = |entity: &Entity| {
        let category = entity.about.get("category").and_then(|category| category.as_str());
        let texts = [&*entity.name, category.unwrap_or_default()].map(str::to_lowercase);
        TOUR.iter().any(|word| texts.iter().any(|text| text.contains(word)))
    };
    let of_tour =
        history.entities(EntityKind::Competition, |it| it.sport == SPORT && is_of_tour(it));
    if of_tour.is_empty() {
        return request.sport_stats(SPORT).await;
    }
    let competitions = Some(of_tour.iter().map(|it| it.id).collect());
    let filter = MatchQuery { competitions, ..MatchQuery::of_sport(SPORT) };
    SportStats::under(history, filter).await
}

async fn ranking(request: &ApiRequest) -> ApiResult {
    let sport_stats = request.sport_stats(SPORT).await?;
    let player = request.id()?;
    let mut rows = (1..).zip(sport_stats.table.ranked());
    let row = rows.find(|(_, (ranked, _))| *ranked == player).ok_or(ApiError::NotFound)?;
    request.answer(CacheControl::REFERENCE, &DartsRanking::new(&request.api, &row, TYPES[0]))
}

impl DartsPlayer {
    fn new(player: &Entity, sport_stats: &SportStats) -> Self {
        Self {
            id: player.id,
            api_id: None,
            name: player.name.to_string(),
            short_name: None,
            country_code: shape::country_code(player.country.as_ref()),
            country_name: shape::country_name(player.country.as_ref()),
            elo_overall: sport_stats.elo(player.id),
            elo_major: None,
            elo_protour: None,
            avg_average: None,
            avg_checkout_pct: None,
            avg_180s: None,
            legs_won_pct: None,
        }
    }
}

impl DartsRanking {
    fn new(
        api: &Api,
        (position, (player, rated)): &(usize, (Key, Rating)),
        kind: &'static str,
    ) -> Self {
        let entity = api.history.entity(EntityKind::Player, *player);
        Self {
            position: *position,
            prize_money: None,
            points: sport_stats::rounded(rated.rating),
            player: entity.map(|entity| NamedRow::from_entity(&entity)),
            kind,
        }
    }
}

impl DartsPrediction {
    fn new(api: &Api, record: &MatchRecord, sport_stats: &SportStats) -> Self {
        let forecast = Forecast::new(record, sport_stats);
        let predicted = forecast.map(|it| u8::from(it.winner() == 1) + 1);
        let actual = rating::winner(&record.summary).map(|winner| winner + 1);
        let [player1, player2] = DartsPlayerBrief::both(api, record, sport_stats);
        Self {
            id: record.summary.id,
            match_id: record.summary.id,
            tournament: DartsTournament::new(record),
            player1,
            player2,
            match_date: shape::start(record),
            status: record.summary.status.word(Vocabulary::Sport(SPORT)),
            prob_player1_wins: forecast.map(|it| percent(it.first)),
            prob_player2_wins: forecast.map(|it| percent(it.second)),
            predicted_winner: predicted,
            confidence: forecast.map(|it| percent(it.confidence())),
            model: forecast.map(|it| it.model),
            actual_winner: actual,
            was_winner_correct: predicted.zip(actual).map(|(expected, actual)| expected == actual),
        }
    }
}

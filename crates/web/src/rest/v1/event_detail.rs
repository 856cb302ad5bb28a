//! A match as a whole in the shape of version 1: SERVICE section 9.

use serde::Serialize;
use utoipa::ToSchema;

use super::{
    event::Event,
    form::{self, Form},
    line_up::EventLineUps,
    team::TeamDetail,
};
use crate::rest::{
    ApiError,
    football::{
        ManagerStats, country, head_to_head::HeadToHead, match_stats::MatchStatsCache, referees,
        snapshot::Matches,
    },
};
use history::query::EntityKind;
use record::{EntityRef, MatchRecord, MatchSummary};

#[derive(Debug, Clone, Serialize, ToSchema)]
#[schema(as = V1EventDetail)]
pub(super) struct EventDetail {
    #[serde(flatten)]
    #[schema(inline)]
    event: Event,
    home_team_obj: Option<TeamDetail>,
    away_team_obj: Option<TeamDetail>,
    referee: Option<Referee>,
    /// No source writes one: null.
    ai_preview: Option<Preview>,
    /// Null of a side without an earlier result.
    home_form: Option<Form>,
    away_form: Option<Form>,
    /// Null if the sides have not met before.
    head_to_head: Option<HeadToHead>,
    lineups: Option<EventLineUps>,
    /// No source provides them: empty.
    social: Vec<SocialItem>,
}

/// Cards and matches are those that the hub knows of the referee's matches.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[schema(as = V1EventReferee)]
struct Referee {
    id: u64,
    name: String,
    /// Its name; empty if no feed reports it.
    country: String,
    /// No feed provides it: empty.
    nationality_a3: &'static str,
    birthdate: Option<String>,
    #[serde(rename = "yellowCards")]
    yellow_cards: Option<u32>,
    #[serde(rename = "redCards")]
    red_cards: Option<u32>,
    career_games: Option<usize>,
    career_yellow_cards: Option<u32>,
    career_red_cards: Option<u32>,
}

#[derive(Debug, Clone, Serialize, ToSchema)]
#[schema(as = V1Preview)]
struct Preview {
    text: String,
    generated_at: String,
}

#[derive(Debug, Clone, Serialize, ToSchema)]
#[schema(as = V1SocialItem)]
struct SocialItem {
    id: u64,
    #[serde(rename = "type")]
    kind: String,
    url: String,
    title: String,
    text: String,
    thumbnail: String,
    account_handle: String,
    account_name: String,
    account_verified: bool,
    published_at: String,
}

impl EventDetail {
    /// Of a match with its complete record. The earlier matches of the sides, the coaches and the referee come from
    /// memory, and what was counted in them from the cache, which reads each match once.
    ///
    /// # Errors
    ///
    /// If the archive fails.
    pub(super) async fn new(
        matches: &Matches<'_>,
        cache: &MatchStatsCache,
        mut event: Event,
        record: &MatchRecord,
        date: impl Fn(&MatchSummary) -> Option<String>,
    ) -> Result<Self, ApiError> {
        let history = &matches.api.history;
        let team = |side: usize| {
            let named = &record.names.sides.as_ref()?[side];
            Some(match history.entity(EntityKind::Team, named.id) {
                Some(team) => TeamDetail::new(matches, &team),
                None => TeamDetail::named(named),
            })
        };
        let mut coaches = [&mut event.home_coach, &mut event.away_coach];
        let ids: Vec<_> = coaches.iter().filter_map(|it| Some(it.as_ref()?.id)).collect();
        let mut managers = ManagerStats::for_managers(matches.api, cache, &ids).await?;
        for coach in coaches.iter_mut().filter_map(|coach| coach.as_mut()) {
            let stats = managers.remove(&coach.id).unwrap_or_default();
            coach.preferred_formation = stats.preferred_formation;
        }
        let referee = match &record.names.referee {
            Some(named) => Some(Referee::read(matches, cache, named).await?),
            None => None,
        };
        let [home_form, away_form] = form::forms(matches, cache, &record.summary).await?;
        let head_to_head = matches.head_to_head(&record.summary, date);
        Ok(Self {
            home_team_obj: team(0),
            away_team_obj: team(1),
            referee,
            ai_preview: None,
            home_form,
            away_form,
            head_to_head: Some(head_to_head).filter(|it| it.total_matches.is_some()),
            lineups: EventLineUps::new(record),
            social: Vec::new(),
            event,
        })
    }
}

impl Referee {
    async fn read(
        matches: &Matches<'_>,
        cache: &MatchStatsCache,
        named: &EntityRef,
    ) -> Result<Self, ApiError> {
        let entity = matches.api.history.entity(EntityKind::Referee, named.id);
        let sums = match &entity {
            Some(entity) => Some(referees::Referee::read(matches, cache, entity).await?),
            None => None,
        };
        let country = entity.as_ref().and_then(|entity| entity.country.as_deref());
        let yellow_cards = sums.as_ref().and_then(|sums| sums.total_yellow_cards);
        let red_cards = sums.as_ref().and_then(|sums| sums.total_red_cards);
        Ok(Self {
            id: named.id,
            name: named.name.to_string(),
            country: country::name_or_empty(country),
            nationality_a3: "",
            birthdate: None,
            yellow_cards,
            red_cards,
            career_games: sums.map(|sums| sums.matches),
            career_yellow_cards: yellow_cards,
            career_red_cards: red_cards,
        })
    }
}

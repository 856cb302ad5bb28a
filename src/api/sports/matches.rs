//! Lists of matches, one match, and what is below one, which are alike in several sports.

use ingest::event::Sport;
use serde::Serialize;

use super::{
    asked::{self, Answer, Request},
    digest::Digest,
    price,
    stick::StickOdds,
};
use crate::{
    api::{Api, Kept, Spec},
    record::MatchRecord,
};

/// Matches: the newest first, unless the request says from when on.
pub(super) async fn list<T: Serialize>(
    request: &Request,
    sport: Sport,
    spec: Spec,
    row: impl Fn(&Api, &MatchRecord, &Digest) -> T,
) -> Answer {
    let asked = request.read(spec)?;
    let filter = asked.filter(sport)?;
    let digest = request.digest(sport).await?;
    asked.matches(&filter, |record| row(asked.api, record, &digest)).await
}

/// Matches in play.
pub(super) async fn live<T: Serialize>(
    request: &Request,
    sport: Sport,
    spec: Spec,
    row: impl Fn(&Api, &MatchRecord, &Digest) -> T,
) -> Answer {
    let asked = request.read(spec)?;
    let digest = request.digest(sport).await?;
    let filter = asked.filter(sport)?;
    let mut live = asked.api.reader.live(sport);
    live.retain(|record| {
        let sides = record.brief.sides.unwrap_or_default();
        filter.team.is_none_or(|team| sides.contains(&team))
            && (filter.competition.is_none() || record.brief.competition == filter.competition)
            && filter
                .teams
                .as_ref()
                .is_none_or(|teams| teams.iter().any(|team| sides.contains(team)))
    });
    asked.page(Kept::LIVE, &live, |record| row(asked.api, record, &digest))
}

/// One match, or its prediction, beside what all matches of the sport say.
pub(super) async fn one<T: Serialize>(
    request: &Request,
    sport: Sport,
    id: &str,
    kept: Kept,
    row: impl Fn(&Api, &MatchRecord, &Digest) -> T,
) -> Answer {
    request.read(asked::NONE)?;
    let record = asked::record(&request.api, sport, id).await?;
    let digest = request.digest(sport).await?;
    request.answer(kept, &row(&request.api, &record, &digest))
}

/// What is below one match.
pub(super) async fn part<T: Serialize>(
    request: &Request,
    sport: Sport,
    id: &str,
    kept: Kept,
    of: impl Fn(&Api, &MatchRecord) -> T,
) -> Answer {
    request.read(asked::NONE)?;
    let record = asked::record(&request.api, sport, id).await?;
    request.answer(kept, &of(&request.api, &record))
}

/// The odds of one match, as all sports but tennis and racing tell them.
pub(super) async fn odds(request: &Request, sport: Sport, id: &str) -> Answer {
    request.read(asked::NONE)?;
    let record = asked::record(&request.api, sport, id).await?;
    let movements = price::movements(&request.api, record.brief.id).await?;
    request.answer(Kept::ODDS, &StickOdds::of(&record, &movements))
}

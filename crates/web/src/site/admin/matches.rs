//! `/admin/matches/`: which providers' matches may be one, which were joined and why, and the operator's orders to join or to
//! split them.
//!
//! An order is stored as that of `matchwire matches` is. The hub carries it out, in a cluster the node that leads. Only what
//! the hub has found out by itself can be ordered here.

use askama::Template;
use axum::{extract::Query, response::Response};
use hub::identity::{
    CompetitionsOrder, DecidedRelation, Doubt, MatchDescription, MatchMapping, MatchOrder,
    store::{BindingRow, IdentityStore, PendingOrder},
};
use hyper::StatusCode;
use serde::Deserialize;
use tracing::info;

use super::{
    confirmation::{Confirmation, is_confirmed},
    operator::{Operator, OperatorForm},
};
use crate::{
    http::form::Fields,
    site::{Moment, Shell, SiteError, html, see_other},
};

/// Candidates, and joined matches, on the page.
const ROWS_MAX: u32 = 50;

const HERE: &str = "/admin/matches/";

#[derive(Debug, Deserialize)]
pub(super) struct MatchesQuery {
    #[serde(default)]
    done: String,
}

#[derive(Debug, Template)]
#[template(path = "admin/matches.html")]
struct MatchesPage<'a> {
    shell: Shell<'a>,
    at: Moment,
    done: Option<&'static str>,
    problem: Option<&'static str>,
    candidates: Vec<CandidateRow>,
    competitions: Vec<CompetitionsRow>,
    joined: Vec<JoinedRow>,
    orders: Vec<OrderRow>,
    rows_max: u32,
}

/// Two matches that may be one.
#[derive(Debug)]
struct CandidateRow {
    score: String,
    why: String,
    swapped: bool,
    matches: [ProviderMatch; 2],
    /// Whether something can be said of their competitions.
    has_competitions: bool,
}

/// What was said of two competitions.
#[derive(Debug)]
struct CompetitionsRow {
    ids: [String; 2],
    names: [String; 2],
    relation: &'static str,
}

/// A match that was joined with another.
#[derive(Debug)]
struct JoinedRow {
    id: String,
    it: ProviderMatch,
    with: Option<String>,
    swapped: bool,
    by: String,
}

#[derive(Debug)]
struct ProviderMatch {
    provider: String,
    key: String,
    sides: String,
    start: String,
    competition: String,
}

/// An order that waits or was refused.
#[derive(Debug)]
struct OrderRow {
    number: i64,
    what: String,
    state: String,
    tone: &'static str,
}

/// `/admin/matches/`; `?done=` is what was ordered before.
pub(super) async fn show(
    operator: Operator,
    Query(query): Query<MatchesQuery>,
) -> Result<Response, SiteError> {
    let done = match &*query.done {
        "join" => Some(
            "The matches are ordered to be joined. The hub carries that out within a few seconds.",
        ),
        "split" => Some(
            "The matches are ordered to be kept apart. The hub carries that out within a few seconds.",
        ),
        "competitions" => Some(
            "What you said of the competitions is stored. The hub carries that out within a few seconds.",
        ),
        _ => None,
    };
    page(&operator, done, None).await
}

/// The form that joins the two matches of a candidate, after a confirmation.
pub(super) async fn join(
    OperatorForm { operator, fields }: OperatorForm,
) -> Result<Response, SiteError> {
    let store = store(&operator);
    let doubts = store.doubts().await?;
    let Some(doubt) = doubts.iter().find(|doubt| is_named(doubt, &fields)) else {
        let why = "The hub no longer takes these matches for candidates. Nothing was changed.";
        return page(&operator, None, Some(why)).await;
    };
    let [one, other] = [&doubt.one, &doubt.other];
    if !is_confirmed(&fields) {
        let text = format!(
            "{} and {} become one match with one id. Clients that follow one of them get its end, and what both \
             sources know in the other. “Split” takes it back.",
            label(one),
            label(other)
        );
        let question = Confirmation {
            title: "Join these matches?".to_owned(),
            text,
            action: format!("{HERE}join/"),
            fields: NAMES.iter().map(|name| (*name, fields.text(name).to_owned())).collect(),
            button: "Join".to_owned(),
        };
        return question.ask(&operator, HERE, HERE.to_owned());
    }
    let mapping = async |local_id| -> Result<MatchMapping, SiteError> {
        Ok(store.mapping(local_id).await?.unwrap_or(MatchMapping { id: local_id, swapped: false }))
    };
    let MatchMapping { id: into, swapped } = mapping(other.id).await?;
    let order = MatchOrder::Join {
        provider: one.provider.to_string(),
        key: one.key.to_string(),
        into,
        swapped: doubt.swapped ^ swapped,
        with: Some((other.provider.to_string(), other.key.to_string())),
    };
    order_it(&operator, &store, &order).await?;
    Ok(see_other(&format!("{HERE}?done=join")))
}

/// The form that splits a match from those that it was joined or suspected with, after a confirmation.
pub(super) async fn split(
    OperatorForm { operator, fields }: OperatorForm,
) -> Result<Response, SiteError> {
    let store = store(&operator);
    let (provider, key) = (fields.text("provider").to_owned(), fields.text("key").to_owned());
    let is_it = |it: &MatchDescription| *it.provider == *provider && *it.key == *key;
    let mut is_known = store.doubts().await?.iter().any(|it| is_it(&it.one) || is_it(&it.other));
    is_known = is_known || store.bindings().await?.iter().any(|row| is_it(&row.description));
    if !is_known {
        let why =
            "The hub neither joined this match nor takes it for a candidate. Nothing was changed.";
        return page(&operator, None, Some(why)).await;
    }
    if !is_confirmed(&fields) {
        let text = format!(
            "{provider}/{key} is split from every match that it was joined with, and never joined with those that it was \
             taken for. Its facts go to a match of its own."
        );
        let question = Confirmation {
            title: "Keep this match apart?".to_owned(),
            text,
            action: format!("{HERE}split/"),
            fields: vec![("provider", provider), ("key", key)],
            button: "Keep apart".to_owned(),
        };
        return question.ask(&operator, HERE, HERE.to_owned());
    }
    order_it(&operator, &store, &MatchOrder::Split { provider, key }).await?;
    Ok(see_other(&format!("{HERE}?done=split")))
}

/// The form that says of the competitions of a candidate whether they are one, or takes that back, after a confirmation.
pub(super) async fn competitions(
    OperatorForm { operator, fields }: OperatorForm,
) -> Result<Response, SiteError> {
    let store = store(&operator);
    let relation = DecidedRelation::from_word(fields.text("relation"));
    let order = if relation.is_some() {
        let doubts = store.doubts().await?;
        let doubt = doubts.iter().find(|doubt| is_named(doubt, &fields));
        doubt.and_then(|doubt| doubt.competitions(relation))
    } else {
        let ids = ["one", "other"].map(|name| fields.text(name));
        let mut decided = store.competitions().await?.into_iter();
        let order = decided.find(|it| [&it.one, &it.other].map(|it| it.id.to_string()) == ids);
        order.map(|order| CompetitionsOrder { relation, ..order })
    };
    let Some(order) = order else {
        let why = "The hub no longer takes matches of these competitions for candidates, or nothing was said of them. Nothing was changed.";
        return page(&operator, None, Some(why)).await;
    };
    if !is_confirmed(&fields) {
        let names = competition_names(&order).join(" and ");
        let (title, text, button) = match relation {
            Some(DecidedRelation::Same) => (
                "Are these one competition?",
                format!(
                    "{names} become one competition for the rule: all their matches with the same sides and a fitting start are \
                     joined, those of later too, also where only one source says that women play."
                ),
                "They are one",
            ),
            Some(DecidedRelation::Apart) => (
                "Are these two competitions?",
                format!(
                    "No match of {names} is joined with one of the other from now on. Matches that are joined stay so."
                ),
                "They are two",
            ),
            None => (
                "Forget what was said of these competitions?",
                format!("{names} are compared by the rule again. Matches that are joined stay so."),
                "Forget it",
            ),
        };
        let question = Confirmation {
            title: title.to_owned(),
            text,
            action: format!("{HERE}competitions/"),
            fields: [&NAMES[..], &["relation", "one", "other"]]
                .concat()
                .into_iter()
                .map(|name| (name, fields.text(name).to_owned()))
                .collect(),
            button: button.to_owned(),
        };
        return question.ask(&operator, HERE, HERE.to_owned());
    }
    order_it(&operator, &store, &MatchOrder::Competitions(Box::new(order))).await?;
    Ok(see_other(&format!("{HERE}?done=competitions")))
}

async fn order_it(
    operator: &Operator,
    store: &IdentityStore,
    order: &MatchOrder,
) -> Result<(), SiteError> {
    let number = store.order(order, operator.now).await?;
    info!(operator = ?operator.admin, number, ?order, "an operator ordered a match");
    Ok(())
}

fn store(operator: &Operator) -> IdentityStore {
    IdentityStore::new(operator.shared.parts.customers.accounts.database())
}

async fn page(
    operator: &Operator,
    done: Option<&'static str>,
    problem: Option<&'static str>,
) -> Result<Response, SiteError> {
    let store = store(operator);
    let page = MatchesPage {
        shell: operator.shell(HERE),
        at: Moment::second(operator.now),
        done,
        problem,
        competitions: rows(store.competitions().await?),
        candidates: rows(store.likeliest_doubts(ROWS_MAX).await?),
        joined: rows(store.last_bindings(ROWS_MAX).await?),
        orders: rows(store.unfollowed().await?),
        rows_max: ROWS_MAX,
    };
    let status = if problem.is_some() { StatusCode::CONFLICT } else { StatusCode::OK };
    html(status, &page)
}

fn rows<T, R: From<T>>(all: Vec<T>) -> Vec<R> {
    all.into_iter().map(R::from).collect()
}

/// The fields that name the two matches of a candidate.
const NAMES: [&str; 4] = ["provider", "key", "other_provider", "other_key"];

fn is_named(doubt: &Doubt, fields: &Fields) -> bool {
    let names = [&doubt.one.provider, &doubt.one.key, &doubt.other.provider, &doubt.other.key];
    NAMES.iter().zip(names).all(|(field, name)| fields.text(field) == &**name)
}

/// `A v B (provider/key)`.
fn label(it: &MatchDescription) -> String {
    match &*it.sides {
        "" => format!("{}/{}", it.provider, it.key),
        sides => format!("{sides} ({}/{})", it.provider, it.key),
    }
}

impl From<MatchDescription> for ProviderMatch {
    fn from(it: MatchDescription) -> Self {
        Self {
            provider: it.provider.to_string(),
            key: it.key.to_string(),
            sides: it.sides,
            start: it.start,
            competition: it.competition,
        }
    }
}

impl From<Doubt> for CandidateRow {
    fn from(doubt: Doubt) -> Self {
        Self {
            has_competitions: doubt.competitions(None).is_some(),
            score: format!("{:.2}", doubt.score),
            why: doubt.why,
            swapped: doubt.swapped,
            matches: [doubt.one.into(), doubt.other.into()],
        }
    }
}

/// `Premier League (acme)`, of both.
fn competition_names(order: &CompetitionsOrder) -> [String; 2] {
    [&order.one, &order.other].map(|it| format!("{} ({})", it.name, it.provider))
}

impl From<CompetitionsOrder> for CompetitionsRow {
    fn from(order: CompetitionsOrder) -> Self {
        let relation = match order.relation {
            Some(DecidedRelation::Same) => "one competition",
            _ => "two competitions",
        };
        let ids = [&order.one, &order.other].map(|it| it.id.to_string());
        Self { ids, names: competition_names(&order), relation }
    }
}

impl From<BindingRow> for JoinedRow {
    fn from(row: BindingRow) -> Self {
        Self {
            id: row.mapping.id.to_string(),
            it: row.description.into(),
            with: row.with.map(|(provider, key)| format!("{provider}/{key}")),
            swapped: row.mapping.swapped,
            by: row.by,
        }
    }
}

impl From<PendingOrder> for OrderRow {
    fn from(PendingOrder { numbered, refused }: PendingOrder) -> Self {
        let what = match &numbered.order {
            MatchOrder::Join { provider, key, into, .. } => {
                format!("join {provider}/{key} with match {into}")
            }
            MatchOrder::Split { provider, key } => format!("keep {provider}/{key} apart"),
            MatchOrder::Competitions(order) => {
                let what = order.relation.map_or("undecided", DecidedRelation::as_str);
                format!("competitions {}: {what}", competition_names(order).join(" and "))
            }
        };
        let (state, tone) = match refused {
            Some(why) => (format!("refused: {why}"), "bad"),
            None => ("waits".to_owned(), "warn"),
        };
        Self { number: numbered.number, what, state, tone }
    }
}

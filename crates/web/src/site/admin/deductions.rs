//! `/admin/deductions/`: points that competitions took from teams, which tables of football lack.

use askama::Template;
use axum::response::Response;
use hyper::StatusCode;
use tracing::info;

use super::operator::{Operator, OperatorForm};
use crate::site::{Shell, SiteError, html, see_other};
use history::{
    config::{CompetitionConfig, Deduction, competitions},
    query::{DEDUCTIONS_MAX, StoredDeduction},
};

const HERE: &str = "/admin/deductions/";

#[derive(Debug, Template)]
#[template(path = "admin/deductions.html")]
struct DeductionsPage<'a> {
    shell: Shell<'a>,
    problem: Option<String>,
    rows: Vec<StoredDeduction>,
}

/// `/admin/deductions/`.
pub(super) async fn show(operator: Operator) -> Result<Response, SiteError> {
    page(&operator, None).await
}

/// The form that adds a deduction.
pub(super) async fn add(
    OperatorForm { operator, fields }: OperatorForm,
) -> Result<Response, SiteError> {
    let text = |name: &str| fields.text(name).to_owned();
    let optional = |name: &str| Some(text(name)).filter(|text| !text.is_empty());
    let deduction = Deduction {
        season: text("season"),
        team: text("team"),
        points: fields.text("points").parse().unwrap_or_default(),
        date: optional("date"),
        reason: optional("reason"),
    };
    let competition = text("competition");
    let settings =
        CompetitionConfig { deductions: vec![deduction.clone()], ..CompetitionConfig::default() };
    if let Err((name, expected)) = competitions::check(&[(competition.clone(), settings)].into()) {
        return page(&operator, Some(format!("{name} must be {expected}. Nothing was added.")))
            .await;
    }
    let history = &operator.shared.parts.matches.history;
    if !history.archive().add_deduction(&competition, &deduction, operator.now).await? {
        let problem = format!("There are {DEDUCTIONS_MAX} deductions. Nothing was added.");
        return page(&operator, Some(problem)).await;
    }
    info!(operator = ?operator.admin, %competition, ?deduction, "an operator deducted points");
    Ok(see_other(HERE))
}

/// The form that removes one.
pub(super) async fn remove(
    OperatorForm { operator, fields }: OperatorForm,
) -> Result<Response, SiteError> {
    if let Ok(id) = fields.text("id").parse() {
        operator.shared.parts.matches.history.archive().remove_deduction(id).await?;
        info!(operator = ?operator.admin, id, "an operator removed a deduction");
    }
    Ok(see_other(HERE))
}

async fn page(operator: &Operator, problem: Option<String>) -> Result<Response, SiteError> {
    let rows = operator.shared.parts.matches.history.archive().deductions().await?;
    let status = if problem.is_some() { StatusCode::BAD_REQUEST } else { StatusCode::OK };
    html(status, &DeductionsPage { shell: operator.shell(HERE), problem, rows })
}

//! Errors of the REST interface and their responses: SERVICE sections 1.4 and 6.

use accounts::access::Denial;
use axum::{
    Json,
    response::{IntoResponse, Response},
};
use base::work::Busy;
use history::query::TooManyPrices;
use hyper::StatusCode;
use serde::Serialize;

#[derive(Debug)]
pub enum ApiError {
    /// Nothing has this id.
    NotFound,
    /// A parameter is unknown: `accepted_parameters` and `suggestions` have those of the path.
    UnknownParameters {
        unknown: Vec<String>,
        /// Those that it has, sorted.
        accepted: Vec<&'static str>,
    },
    /// A parameter's value is not valid.
    BadParameter(String),
    /// A parameter's value is none of a closed list, which `accepted` has.
    UnknownValue { detail: String, accepted: Vec<String> },
    /// The caller has no access to prices of named bookmakers.
    Denied(Denial),
    /// The request cannot be answered now.
    Unavailable(&'static str),
    /// Too little is known for a prediction.
    NotPredicted(&'static str),
    /// The hub failed.
    Internal,
}

/// The uniform shape: SERVICE section 6.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct ErrorBody {
    /// Always true.
    pub error: bool,
    /// The status code of the answer.
    pub status: u16,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<&'static str>,
    pub detail: String,
    /// The values of the parameter, if those are a closed list.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub accepted: Vec<String>,
}

/// SERVICE section 1.4.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct UnknownParametersBody {
    pub detail: String,
    /// Sorted.
    pub accepted_parameters: Vec<&'static str>,
    /// For an unknown name the accepted one that is most like it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub suggestions: Vec<Suggestion>,
}

#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct Suggestion {
    pub parameter: String,
    pub suggestion: &'static str,
}

impl ApiError {
    /// The refusal of a value that is none of a closed list.
    pub fn unknown_value(
        parameter: &str,
        accepted: impl IntoIterator<Item = impl Into<String>>,
    ) -> Self {
        let accepted: Vec<String> = accepted.into_iter().map(Into::into).collect();
        let detail = format!("{parameter} is to be one of {}.", accepted.join(", "));
        Self::UnknownValue { detail, accepted }
    }
}

impl From<sqlx::Error> for ApiError {
    fn from(error: sqlx::Error) -> Self {
        if let Some(too_many) = TooManyPrices::from_error(&error) {
            return Self::BadParameter(too_many.to_string());
        }
        base::log_limited!(error, error, "the archive failed");
        if database::is_unavailable(&error) {
            return Self::Unavailable("The database does not answer: try again.");
        }
        Self::Internal
    }
}

/// Too much work of the caller waits, or it panicked.
impl From<Busy> for ApiError {
    fn from(_: Busy) -> Self {
        Self::Unavailable("Too many requests of this account are being answered: try again.")
    }
}

const BOOKMAKERS: &str = "Prices of bookmakers by name need the Odds API add-on; those of the slug consensus are for \
                          every account.";

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let mut accepted = Vec::new();
        let (status, code, detail) = match self {
            Self::UnknownParameters { unknown, accepted } => return unknown_of(&unknown, accepted),
            Self::NotFound => (StatusCode::NOT_FOUND, None, "Not found".to_owned()),
            Self::BadParameter(detail) => (StatusCode::BAD_REQUEST, None, detail),
            Self::UnknownValue { detail, accepted: values } => {
                accepted = values;
                (StatusCode::BAD_REQUEST, None, detail)
            }
            Self::Denied(denial) => (denial.status(), Some(denial.code()), BOOKMAKERS.to_owned()),
            Self::Unavailable(detail) => (StatusCode::SERVICE_UNAVAILABLE, None, detail.to_owned()),
            Self::NotPredicted(detail) => {
                (StatusCode::SERVICE_UNAVAILABLE, Some("not_predicted"), detail.to_owned())
            }
            Self::Internal => {
                (StatusCode::INTERNAL_SERVER_ERROR, None, "something of ours failed".to_owned())
            }
        };
        let body = ErrorBody { error: true, status: status.as_u16(), code, detail, accepted };
        (status, Json(body)).into_response()
    }
}

fn unknown_of(unknown: &[String], accepted: Vec<&'static str>) -> Response {
    let suggestion = |name: &String| {
        let like = accepted.iter().map(|key| (strsim::jaro_winkler(name, key), *key));
        let (likeness, suggestion) = like.max_by(|a, b| a.0.total_cmp(&b.0))?;
        (likeness > 0.8).then(|| Suggestion { parameter: name.clone(), suggestion })
    };
    let suggestions = unknown.iter().filter_map(suggestion).collect();
    let body = UnknownParametersBody {
        detail: format!("Unknown query parameter(s): {}.", unknown.join(", ")),
        accepted_parameters: accepted,
        suggestions,
    };
    (StatusCode::BAD_REQUEST, Json(body)).into_response()
}

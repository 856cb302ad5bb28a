//! Football, versions 1 and 2: SERVICE section 1.

mod live;

use utoipa_axum::{router::OpenApiRouter, routes};

use super::Api;

pub(super) fn routes() -> OpenApiRouter<Api> {
    OpenApiRouter::new().routes(routes!(live::live))
}

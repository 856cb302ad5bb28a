//! Counter-Strike 2: SERVICE section 2.6.

mod lists;
mod matches;

use utoipa_axum::router::OpenApiRouter;

use crate::rest::Api;

pub(super) fn routes() -> OpenApiRouter<Api> {
    OpenApiRouter::new().merge(lists::routes()).merge(matches::routes())
}

//! Ice hockey: SERVICE section 2.4.

mod lists;
mod matches;

use utoipa_axum::router::OpenApiRouter;

use crate::rest::Api;

pub(super) fn routes() -> OpenApiRouter<Api> {
    OpenApiRouter::new().merge(lists::routes()).merge(matches::routes())
}

//! Basketball: SERVICE section 2.3.

mod events;
mod lists;

use utoipa_axum::router::OpenApiRouter;

use crate::rest::Api;

pub(super) fn routes() -> OpenApiRouter<Api> {
    OpenApiRouter::new().merge(events::routes()).merge(lists::routes())
}

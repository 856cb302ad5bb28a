//! Lists the paths below the prefixes of the versions: `/api/v2/`, `/tennis/api/v2/` and so on.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::LazyLock,
};

use axum::{extract::State, http::Uri, response::Response};
use hyper::HeaderMap;
use utoipa_axum::{router::OpenApiRouter, routes};

use super::{Api, ApiError, CacheControl, PageUrl, Params};

pub(super) fn routes() -> OpenApiRouter<Api> {
    OpenApiRouter::new()
        .routes(routes!(football))
        .routes(routes!(tennis))
        .routes(routes!(csgo))
        .routes(routes!(darts))
        .routes(routes!(hockey))
        .routes(routes!(basketball))
        .routes(routes!(horseracing))
}

/// Every documented path without a parameter.
static PATHS: LazyLock<BTreeSet<String>> = LazyLock::new(|| {
    let paths = super::document().paths.paths.into_keys();
    paths.filter(|path| !path.contains('{')).collect()
});

/// The lists directly below a prefix, by name.
fn index(api: &Api, uri: &Uri, headers: &HeaderMap) -> Result<Response, ApiError> {
    let params = Params::default();
    let page_url = PageUrl { api, headers, path: uri.path(), params: &params };
    let (base, prefix) = (page_url.base(), uri.path());
    let names = PATHS.iter().filter_map(|path| {
        let name = path.strip_prefix(prefix)?.strip_suffix('/')?;
        (!name.contains('/')).then(|| (name, format!("{base}{path}")))
    });
    CacheControl::REFERENCE.answer(headers, &names.collect::<BTreeMap<_, _>>())
}

macro_rules! indices {
    ($($name:ident: $path:literal, $tag:literal;)*) => {$(
        /// The lists of this product, by their names.
        #[utoipa::path(
            get, path = $path, tag = $tag,
            responses((status = 200, body = BTreeMap<String, String>))
        )]
        async fn $name(
            State(api): State<Api>,
            uri: Uri,
            headers: HeaderMap,
        ) -> Result<Response, ApiError> {
            index(&api, &uri, &headers)
        }
    )*};
}

indices! {
    football: "/api/v2/", "football v2";
    tennis: "/tennis/api/v2/", "tennis";
    csgo: "/csgo/api/v2/", "csgo";
    darts: "/darts/api/v2/", "darts";
    hockey: "/hockey/api/v2/", "hockey";
    basketball: "/basketball/api/v2/", "basketball";
    horseracing: "/horseracing/api/v2/", "horseracing";
}

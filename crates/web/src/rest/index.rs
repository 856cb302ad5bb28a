//! Lists the paths below the prefixes of the versions: `/api/v2/`, `/tennis/api/v2/` and so on. Each sport declares its own.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::LazyLock,
};

use super::{ApiRequest, ApiResult, CacheControl, Spec};

/// Unknown parameters are ignored.
pub(super) const ANY: Spec = Spec { ignores_others: true, ..Spec::new(&[]) };

endpoints! {
    /// The lists of this product, by their names.
    "/api/v2/", params(ANY), answers(BTreeMap<String, String>), |request| index(&request);
}

/// Every documented path without a parameter.
static PATHS: LazyLock<BTreeSet<String>> = LazyLock::new(|| {
    let paths = super::document().paths.paths.into_keys();
    paths.filter(|path| !path.contains('{')).collect()
});

/// The lists directly below the path of the request, by name.
pub(super) fn index(request: &ApiRequest) -> ApiResult {
    let page_url = request.page_url();
    let (base, prefix) = (page_url.base(), page_url.path);
    let names = PATHS.iter().filter_map(|path| {
        let name = path.strip_prefix(prefix)?.strip_suffix('/')?;
        (!name.contains('/')).then(|| (name, format!("{base}{path}")))
    });
    request.answer(CacheControl::REFERENCE, &names.collect::<BTreeMap<_, _>>())
}

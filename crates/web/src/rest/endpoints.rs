//! The declaration of endpoints.

use futures_util::future::BoxFuture;
use utoipa::openapi::RefOr;
use utoipa_axum::router::UtoipaMethodRouter;

use super::{Api, ApiRequest, ApiResult, Spec};

/// Declares the `GET` endpoints of a module, each of them once: its description, its path, its parameters,
/// what it answers, and its handler. From this follow the module's `routes` and its part of the OpenAPI
/// document.
///
/// ```ignore
/// const LIST: Spec = request::spec(&[Param::text("search", "Part of the name.")]).paged();
///
/// endpoints! {
///     /// Teams, the strongest first.
///     "/hockey/api/v2/teams/", params(LIST), answers(Page<TeamRow>), |request| teams(&request).await;
///
///     /// One team.
///     "/hockey/api/v2/teams/{id}/", params(NONE), answers(TeamRow), |request| team(&request).await;
/// }
/// ```
///
/// - `params` is the endpoint's [`Spec`]. The request has been checked against it before the handler runs.
/// - The handler is an expression over an [`ApiRequest`](super::ApiRequest).
/// - `answers` is the type of the body, and what else `utoipa` takes there, such as `headers(..)`.
/// - `or(status = 404, description = "..")` declares one more response.
///
/// `rest::schema` adds what applies to every endpoint: the id in the path, `limit` and `offset` of a `Page`,
/// the tag, who may call it, and the responses of the steps before the handler.
macro_rules! endpoints {
    ($(
        $(#[doc = $doc:tt])*
        $path:literal, params($spec:expr), answers($($answer:tt)*), $(or($($other:tt)*),)*
            |$request:ident| $respond:expr;
    )*) => {
        pub(super) fn routes() -> utoipa_axum::router::OpenApiRouter<$crate::rest::Api> {
            let router = utoipa_axum::router::OpenApiRouter::new();
            $(
                let router = {
                    $(#[doc = $doc])*
                    #[utoipa::path(
                        get, path = $path,
                        responses((status = 200, body = $($answer)*) $(, ($($other)*))*)
                    )]
                    fn handler(
                        request: $crate::rest::ApiRequest,
                    ) -> futures_util::future::BoxFuture<'static, $crate::rest::ApiResult> {
                        Box::pin(async move {
                            let $request = request.read($spec)?;
                            $respond
                        })
                    }
                    // One type for all endpoints, so that the code of the router exists once.
                    let handler: $crate::rest::endpoints::Handler = handler;
                    let routes = utoipa_axum::routes!(handler);
                    router.routes($crate::rest::endpoints::documented(routes, $spec))
                };
            )*
            router
        }
    };
}

/// What answers the requests to an endpoint.
pub(super) type Handler = fn(ApiRequest) -> BoxFuture<'static, ApiResult>;

/// The routes of an endpoint with its parameters in the OpenAPI document.
pub(super) fn documented(
    mut routes: UtoipaMethodRouter<Api>,
    spec: Spec,
) -> UtoipaMethodRouter<Api> {
    let (_, paths, _) = &mut routes;
    for operation in paths.paths.values_mut().filter_map(|item| item.get.as_mut()) {
        let parameters: Vec<_> = spec.documented().map(RefOr::T).collect();
        operation.parameters = (!parameters.is_empty()).then_some(parameters);
    }
    routes
}

//! The declaration of endpoints and of their parameters.

use futures_util::future::BoxFuture;
use utoipa::openapi::RefOr;
use utoipa_axum::router::UtoipaMethodRouter;

use super::{Api, ApiRequest, ApiResult, Spec};

/// Declares the `GET` endpoints of a module, each of them once: its description, its path, its parameters,
/// what it answers, and its handler. From this follow the module's `routes` and its part of the OpenAPI
/// document.
///
/// ```ignore
/// params! {
///     struct ListParams {
///         search: Name = "Part of the name.",
///     }
/// }
///
/// const LIST: Spec = request::spec(&[ListParams::PARAMS]).paged();
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
                    const ENDPOINT: $crate::rest::Spec = $spec;
                    $(#[doc = $doc])*
                    #[utoipa::path(
                        get, path = $path,
                        responses((status = 200, body = $($answer)*) $(, ($($other)*))*)
                    )]
                    fn handler(
                        request: $crate::rest::ApiRequest,
                    ) -> futures_util::future::BoxFuture<'static, $crate::rest::ApiResult> {
                        Box::pin(async move {
                            let $request = request.read(ENDPOINT)?;
                            $respond
                        })
                    }
                    // One type for all endpoints, so that the code of the router exists once.
                    let handler: $crate::rest::endpoints::Handler = handler;
                    let routes = utoipa_axum::routes!(handler);
                    router.routes($crate::rest::endpoints::documented(routes, ENDPOINT))
                };
            )*
            router
        }
    };
}

/// Declares parameters of endpoints, each of them once: its name, its kind of [`kind`](super::kind), and its description, which is
/// empty if the name suffices. From this follow `PARAMS`, what a [`Spec`] accepts and documents, and `read`, which parses all of them.
///
/// ```ignore
/// params! {
///     struct ListParams {
///         #[required]
///         q: Text = "A name or a part of it",
///         kind as "type": Word = "",
///     }
/// }
/// ```
///
/// - `as` has the name of a parameter that is a word of Rust.
/// - `struct FixtureParams for MatchParams {..}` reads some fields of `MatchParams`, which other endpoints share; the rest are its default.
/// - The attribute is a method of [`Param`](super::Param), such as `required` or `alias("league")`.
macro_rules! params {
    () => {};
    ($(#[doc = $doc:literal])* $vis:vis struct $name:ident {
        $($(#[$flag:ident $(($other:literal))?])? $field:ident $(as $word:literal)?: $kind:ident = $description:expr),* $(,)?
    } $($rest:tt)*) => {
        $(#[doc = $doc])*
        $vis struct $name {
            $(pub(in crate::rest) $field: <$crate::rest::kind::$kind as $crate::rest::kind::Kind>::Value,)*
        }

        params! { @read $name, Self, []; $($(#[$flag $(($other))?])? $field $(as $word)?: $kind = $description,)* }
        params! { $($rest)* }
    };
    ($(#[doc = $doc:literal])* $vis:vis struct $name:ident for $group:ident {
        $($(#[$flag:ident $(($other:literal))?])? $field:ident $(as $word:literal)?: $kind:ident = $description:expr),* $(,)?
    } $($rest:tt)*) => {
        $(#[doc = $doc])*
        $vis enum $name {}

        params! { @read $name, $group, [..Default::default()]; $($(#[$flag $(($other))?])? $field $(as $word)?: $kind = $description,)* }
        params! { $($rest)* }
    };
    (@read $name:ident, $value:ident, [$($others:tt)*];
        $($(#[$flag:ident $(($other:literal))?])? $field:ident $(as $word:literal)?: $kind:ident = $description:expr,)*
    ) => {
        impl $name {
            pub(in crate::rest) const PARAMS: &'static [$crate::rest::Param] = {
                use $crate::rest::{Param, kind};
                &[$(Param::new::<kind::$kind>(params!(@name $field $($word)?), $description)$(.$flag($($other)?))?,)*]
            };

            pub(in crate::rest) fn read(params: &$crate::rest::Params) -> Result<$value, $crate::rest::ApiError> {
                use $crate::rest::kind::{self, Kind};
                Ok($value {
                    $($field: kind::$kind::read(params, params!(@name $field $($word)?))?,)*
                    $($others)*
                })
            }
        }
    };
    (@name $field:ident) => { stringify!($field) };
    (@name $field:ident $word:literal) => { $word };
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

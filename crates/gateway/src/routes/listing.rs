//! What there is: models, methods, and the description of the interface itself.

use crate::app::App;
use crate::auth::Scope;
use crate::intake;
use crate::problem::ApiError;
use axum::Json;
use axum::extract::{Request, State};
use axum::http::header;
use axum::response::{IntoResponse as _, Response};
use groundline_types::Polarity;
use serde::Serialize;

/// The models that answer.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(crate) struct Models {
    /// One for each.
    models: Vec<Model>,
}

/// A model that answers.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(crate) struct Model {
    /// Its name.
    name: String,
    /// A hash over its files, as results carry it.
    revision: String,
    /// What computes, such as `cpu-avx512-f32`.
    engine: String,
    /// Most tokens that it reads at once.
    max_tokens: usize,
    /// Tokens of a source that it is given at once.
    window_tokens: usize,
    /// Hash of every setting that can change a result.
    config_hash: String,
}

/// The methods that a request may name.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(crate) struct Methods {
    /// One for each.
    methods: Vec<Method>,
}

/// A method that a request may name.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(crate) struct Method {
    /// Its name in `methods`.
    name: &'static str,
    /// What it does.
    summary: &'static str,
    /// Where it was published; empty for one of our own.
    paper: &'static str,
    /// Which way its number points.
    polarity: Polarity,
    /// Whether `default` includes it.
    in_default: bool,
    /// What its number for a response means.
    number: &'static str,
    /// The range of its number, such as `0..1`.
    range: &'static str,
    /// What it says something about.
    speaks_about: &'static str,
    /// What it needs: `source`, `samples`, `judge`, `corpus`, `graph`. Without one of these it abstains.
    needs: Vec<&'static str>,
    /// What it costs: pairs and texts for a model, or calls.
    cost: &'static str,
}

#[utoipa::path(
    get, path = "/v1/models", tag = "listing", summary = "The models that answer",
    responses((status = 200, description = "The models", body = Models)),
)]
pub(crate) async fn models(State(app): State<App>, request: Request) -> Result<Json<Models>, ApiError> {
    intake::identify(&app, request.headers(), Scope::Read)?;
    Ok(Json(models_of(&app)))
}

/// The models that answer.
pub(crate) fn models_of(app: &App) -> Models {
    let (checker, facts) = (app.checker(), app.checker().facts());
    let model = Model {
        name: facts.id.name.clone(),
        revision: facts.id.revision.clone(),
        engine: checker.engine_name().to_owned(),
        max_tokens: facts.max_tokens,
        window_tokens: facts.window_tokens,
        config_hash: checker.config_hash().to_owned(),
    };
    Models { models: vec![model] }
}

#[utoipa::path(
    get, path = "/v1/methods", tag = "listing", summary = "The methods that a request may name",
    responses((status = 200, description = "The methods", body = Methods)),
)]
pub(crate) async fn methods(State(app): State<App>, request: Request) -> Result<Json<Methods>, ApiError> {
    intake::identify(&app, request.headers(), Scope::Read)?;
    Ok(Json(methods_of()))
}

/// The methods that a request may name.
pub(crate) fn methods_of() -> Methods {
    let methods = groundline::methods().iter().map(|info| Method {
        name: info.name,
        summary: info.summary,
        paper: info.paper,
        polarity: info.polarity,
        in_default: info.in_default,
        number: info.number,
        range: info.range,
        speaks_about: info.speaks_about,
        needs: info.needs.iter().map(|need| need.as_str()).collect(),
        cost: info.cost,
    });
    Methods { methods: methods.collect() }
}

/// The description of the interface. Anybody may read it: it is in the repository too.
pub(crate) async fn openapi(State(app): State<App>) -> Response {
    ([(header::CONTENT_TYPE, "application/json")], app.openapi().to_owned()).into_response()
}

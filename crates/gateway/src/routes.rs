//! The routes: which address does what.

pub(crate) mod check;
pub(crate) mod checks;
pub(crate) mod events;
pub(crate) mod health;
pub(crate) mod listing;
pub(crate) mod openrlhf;
pub(crate) mod reward;
pub(crate) mod stream;

use crate::app::App;
use crate::observe::{answer_panics, observed};
use crate::probe::HealthState;
use crate::problem::ApiError;
use axum::Router;
use axum::extract::FromRef;
use axum::routing::{MethodRouter, get, post};
use futures_util::StreamExt as _;
use futures_util::future::BoxFuture;
use groundline_telemetry::Route;
use groundline_types::{Code, Problem};

/// The routes of the main port.
pub(crate) fn main_routes(app: &App) -> Router {
    let mut router = Router::new();
    for (path, route, method) in [
        ("/v1/check", Route::Check, post(check::check)),
        ("/v1/checks", Route::ChecksSubmit, post(checks::submit)),
        ("/v1/checks/{id}", Route::ChecksStatus, get(checks::status)),
        ("/v1/stream", Route::Stream, post(stream::stream)),
        ("/v1/models", Route::Models, get(listing::models)),
        ("/v1/methods", Route::Other, get(listing::methods)),
        ("/v1/reward", Route::Reward, post(reward::reward)),
        ("/get_reward", Route::GetReward, post(openrlhf::get_reward)),
        ("/openapi.json", Route::OpenApi, get(listing::openapi)),
    ] {
        router = router.route(path, labelled(route, method));
    }
    router = router.merge(crate::grpc::routes(app));
    if app.config().health_on_main {
        router = router.merge(probes());
    }
    finish(router, app)
}

/// The routes of the admin port.
pub(crate) fn admin_routes(state: &HealthState) -> Router {
    let router = probes().route("/startupz", get(health::startupz)).route("/metrics", get(health::metrics));
    finish(router, state)
}

fn probes<S>() -> Router<S>
where
    S: Clone + Send + Sync + 'static,
    HealthState: FromRef<S>,
{
    Router::new().route("/livez", get(health::livez)).route("/readyz", get(health::readyz))
}

/// A route whose requests are counted under its label.
fn labelled(route: Route, method: MethodRouter<App>) -> MethodRouter<App> {
    method.layer(answer_panics()).layer(axum::middleware::from_fn_with_state(route, observed))
}

fn finish<S: Clone + Send + Sync + 'static>(router: Router<S>, state: &S) -> Router {
    router
        .fallback(no_such_route)
        .method_not_allowed_fallback(no_such_method)
        .layer(answer_panics())
        .with_state(state.clone())
}

/// Runs futures, so many at once, and gives their values in order.
pub(crate) async fn in_order<T>(futures: Vec<BoxFuture<'_, T>>, at_once: usize) -> Vec<T> {
    futures_util::stream::iter(futures).buffered(at_once).collect().await
}

async fn no_such_route() -> ApiError {
    Problem::new(Code::NOT_FOUND, "there is no such route; /openapi.json lists those there are").into()
}

async fn no_such_method() -> ApiError {
    ApiError::method_not_allowed()
}

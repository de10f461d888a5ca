//! The same service over gRPC, on the same port.
//!
//! ```text
//! a call ─► guard: who calls, room, its bytes, its deadline ─► tonic: bytes to messages ─► service ─► the functions behind the routes
//! ```
//!
//! Messages are turned into the JSON that HTTP has and back, so that both have the same fields, rules and errors. What guards HTTP
//! guards calls too, in the same order: see [`crate::intake`].

mod convert;
mod deadline;
mod guard;
mod health;
mod service;
mod status;
mod stream;
#[rustfmt::skip]
#[expect(
    unreachable_pub,
    clippy::allow_attributes_without_reason,
    clippy::large_enum_variant,
    reason = "generated from proto/groundline/v1/groundline.proto"
)]
pub(crate) mod wire;

use crate::app::App;
use crate::auth::Scope;
use crate::observe::observed;
use crate::probe::HealthState;
use axum::Router;
use axum::extract::FromRef as _;
use axum::middleware::from_fn_with_state;
use axum::routing::post_service;
use groundline_telemetry::Route;
use guard::{Call, Taking, guarded, require_call};
use health::Health;
use service::Service;
use status::answer_panics;
use tonic_health::pb::health_server::HealthServer;
use wire::groundline_server::GroundlineServer;

/// Largest message that asks how the service is.
const HEALTH_BYTES: usize = 4 << 10;

/// The calls, as HTTP sees them.
const CALLS: &[(&str, Call)] = {
    const fn call(route: Route, scope: Scope, taking: Taking) -> Call {
        Call { route, scope, taking }
    }
    &[
        ("Check", call(Route::GrpcCheck, Scope::Check, Taking::AtOnce)),
        ("CheckMany", call(Route::GrpcCheck, Scope::Check, Taking::AtOnce)),
        ("SubmitCheck", call(Route::GrpcOther, Scope::Check, Taking::AtOnce)),
        ("GetCheck", call(Route::GrpcOther, Scope::Check, Taking::Small)),
        ("StreamCheck", call(Route::GrpcStream, Scope::Check, Taking::Pieces)),
        ("Reward", call(Route::GrpcOther, Scope::Reward, Taking::InLine)),
        ("RewardMany", call(Route::GrpcOther, Scope::Reward, Taking::InLine)),
        ("ListModels", call(Route::GrpcOther, Scope::Read, Taking::Small)),
        ("ListMethods", call(Route::GrpcOther, Scope::Read, Taking::Small)),
    ]
};

/// The routes of every call, to be merged into those of HTTP.
pub(crate) fn routes(app: &App) -> Router<App> {
    let limit = app.config().http.body_bytes;
    let service = GroundlineServer::new(Service::new(app)).max_decoding_message_size(limit);
    let mut router = Router::new();
    for (name, call) in CALLS {
        let method = post_service(service.clone())
            .layer(answer_panics())
            .layer(from_fn_with_state((app.clone(), *call), guarded))
            .layer(from_fn_with_state(call.route, observed));
        router = router.route(&format!("/groundline.v1.Groundline/{name}"), method);
    }
    router.merge(health_routes(app))
}

/// How the service is, for those who balance load: without credentials, as it names no part of the system.
fn health_routes(app: &App) -> Router<App> {
    let service = HealthServer::new(Health::new(HealthState::from_ref(app), app.clone()))
        .max_decoding_message_size(HEALTH_BYTES);
    let mut router = Router::new();
    for name in ["Check", "Watch"] {
        let method = post_service(service.clone())
            .layer(answer_panics())
            .layer(axum::middleware::from_fn(require_call))
            .layer(from_fn_with_state(Route::GrpcOther, observed));
        router = router.route(&format!("/grpc.health.v1.Health/{name}"), method);
    }
    router
}

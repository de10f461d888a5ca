//! `grpc.health.v1`: whether requests can be answered now, for those who balance load.

use super::status::status_of;
use crate::app::App;
use crate::probe::HealthState;
use crate::routes::health::is_ready;
use futures_util::StreamExt as _;
use futures_util::stream::BoxStream;
use groundline_types::{Code, Problem};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tonic::{Request, Response, Status};
use tonic_health::pb::health_check_response::ServingStatus;
use tonic_health::pb::{HealthCheckRequest, HealthCheckResponse, health_server};

/// The names that are known: the whole process, and its service.
const NAMES: [&str; 2] = ["", "groundline.v1.Groundline"];
/// How often those who watch learn what has changed.
const LOOK_EVERY: Duration = Duration::from_millis(200);
/// How many may watch at once: they need no credentials.
const MAX_WATCHERS: usize = 256;

/// Says how the service is.
#[derive(Debug)]
pub(super) struct Health {
    state: HealthState,
    app: App,
    places: Arc<Semaphore>,
}

/// Somebody who wants to know when it changes.
struct Watcher {
    state: HealthState,
    app: App,
    is_known: bool,
    told: Option<ServingStatus>,
    _place: OwnedSemaphorePermit,
}

impl Health {
    pub(super) fn new(state: HealthState, app: App) -> Self {
        Self { state, app, places: Arc::new(Semaphore::new(MAX_WATCHERS)) }
    }
}

#[tonic::async_trait]
impl health_server::Health for Health {
    async fn check(
        &self,
        request: Request<HealthCheckRequest>,
    ) -> Result<Response<HealthCheckResponse>, Status> {
        if !NAMES.contains(&request.get_ref().service.as_str()) {
            let message = "there is no such service here; ask for groundline.v1.Groundline or for none";
            return Err(status_of(Problem::new(Code::NOT_FOUND, message)));
        }
        Ok(Response::new(answer(serving(&self.state))))
    }

    type WatchStream = BoxStream<'static, Result<HealthCheckResponse, Status>>;

    async fn watch(
        &self,
        request: Request<HealthCheckRequest>,
    ) -> Result<Response<Self::WatchStream>, Status> {
        let place = Arc::clone(&self.places).try_acquire_owned();
        let full = |_| {
            status_of(Problem::new(
                Code::GATEWAY_OVERLOADED,
                "as many watch the health as may; ask now and then instead",
            ))
        };
        let watcher = Watcher {
            state: self.state.clone(),
            app: self.app.clone(),
            is_known: NAMES.contains(&request.get_ref().service.as_str()),
            told: None,
            _place: place.map_err(full)?,
        };
        let news = futures_util::stream::unfold(watcher, |mut watcher| async move {
            let status = watcher.next().await?;
            Some((Ok(answer(status)), watcher))
        });
        Ok(Response::new(news.boxed()))
    }
}

impl Watcher {
    /// The status, once it is another one than was told. `None` once the gateway takes nothing more, so that nobody who watches
    /// holds up its end.
    async fn next(&mut self) -> Option<ServingStatus> {
        loop {
            let status = if self.is_known { serving(&self.state) } else { ServingStatus::ServiceUnknown };
            if self.told != Some(status) {
                self.told = Some(status);
                return Some(status);
            }
            if self.app.refuses() {
                return None;
            }
            tokio::time::sleep(LOOK_EVERY).await;
        }
    }
}

fn serving(state: &HealthState) -> ServingStatus {
    if is_ready(state) { ServingStatus::Serving } else { ServingStatus::NotServing }
}

fn answer(status: ServingStatus) -> HealthCheckResponse {
    HealthCheckResponse { status: status as i32 }
}

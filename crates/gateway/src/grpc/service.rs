//! What each call does.

use super::convert::{error_of, json_of_check, json_of_reward, message_of, result_of};
use super::deadline::fit;
use super::guard::Called;
use super::status::status_of;
use super::stream;
use super::wire::check_answer::Answer as CheckedAs;
use super::wire::groundline_server::Groundline;
use super::wire::reward_answer::Answer as RewardedAs;
use super::wire::{
    CheckAnswer, CheckManyRequest, CheckManyResult, CheckRequest, CheckResult, CheckStatus, GetCheckRequest,
    ListMethodsRequest, ListMethodsResult, ListModelsRequest, ListModelsResult, RewardAnswer,
    RewardManyRequest, RewardManyResult, RewardRequest, RewardResult, StreamEvent, StreamPiece,
};
use crate::app::App;
use crate::routes::check::{refuse_too_many, request_of};
use crate::routes::{checks, in_order, listing, reward};
use futures_util::FutureExt as _;
use futures_util::stream::BoxStream;
use groundline::{AsyncStatus, CheckObserver};
use groundline_types::{Code, Problem};
use tokio::time::Instant;
use tonic::{Request, Response, Status, Streaming};

type Answered<T> = Result<Response<T>, Status>;

/// The gRPC face of the gateway.
#[derive(Debug, Clone)]
pub(super) struct Service {
    app: App,
}

impl Service {
    pub(super) fn new(app: &App) -> Self {
        Self { app: app.clone() }
    }

    async fn checked(&self, called: &Called, message: CheckRequest) -> Result<CheckResult, Problem> {
        let mut request = request_of(&self.app, json_of_check(message)?)?;
        fit(&mut request, called.until);
        let tenant = &called.caller.tenant;
        result_of(self.app.checker().check_for(tenant, request, CheckObserver::default()).await?)
    }

    async fn checked_item(&self, called: &Called, message: CheckRequest) -> CheckAnswer {
        let id = message.id.clone();
        let answer = match self.checked(called, message).await {
            Ok(result) => CheckedAs::Result(result),
            Err(problem) => CheckedAs::Error(error_of(problem, id)),
        };
        CheckAnswer { answer: Some(answer) }
    }

    async fn rewarded(
        &self,
        called: &Called,
        message: RewardRequest,
        until: Instant,
    ) -> Result<RewardResult, Problem> {
        let json = json_of_reward(message)?;
        message_of(&reward::answer_one(&self.app, &called.caller, json, until).await?)
    }

    async fn rewarded_item(&self, called: &Called, message: RewardRequest, until: Instant) -> RewardAnswer {
        let id = message.check.as_ref().and_then(|check| check.id.clone());
        let answer = match self.rewarded(called, message, until).await {
            Ok(result) => RewardedAs::Result(result),
            Err(problem) => RewardedAs::Error(error_of(problem, id)),
        };
        RewardAnswer { answer: Some(answer) }
    }

    /// When a reward must be answered.
    fn reward_until(&self, called: &Called) -> Instant {
        let configured = reward::deadline(&self.app);
        called.until.map_or(configured, |until| until.min(configured))
    }
}

#[tonic::async_trait]
impl Groundline for Service {
    async fn check(&self, request: Request<CheckRequest>) -> Answered<CheckResult> {
        let called = called(&request)?;
        let result = self.checked(&called, request.into_inner()).await;
        result.map(Response::new).map_err(status_of)
    }

    async fn check_many(&self, request: Request<CheckManyRequest>) -> Answered<CheckManyResult> {
        let called = called(&request)?;
        let requests = request.into_inner().requests;
        refuse_too_many(&self.app, requests.len()).map_err(status_of)?;
        let checks = requests.into_iter().map(|message| self.checked_item(&called, message).boxed());
        let results = in_order(checks.collect(), self.app.config().http.items_at_once).await;
        Ok(Response::new(CheckManyResult { results }))
    }

    async fn submit_check(&self, request: Request<CheckRequest>) -> Answered<CheckStatus> {
        let called = called(&request)?;
        let json = json_of_check(request.into_inner()).map_err(status_of)?;
        let id = checks::submit_for(&self.app, &called.caller, json).await.map_err(status_of)?;
        Ok(Response::new(CheckStatus { id, status: "waiting".to_owned(), ..CheckStatus::default() }))
    }

    async fn get_check(&self, request: Request<GetCheckRequest>) -> Answered<CheckStatus> {
        let called = called(&request)?;
        let id = request.into_inner().id;
        let found = checks::find(&self.app, &called.caller, &id).await.map_err(status_of)?;
        let status = |status: &str| CheckStatus { id, status: status.to_owned(), ..CheckStatus::default() };
        Ok(Response::new(match found {
            AsyncStatus::Waiting => status("waiting"),
            AsyncStatus::Running => status("running"),
            AsyncStatus::Done(result) => {
                CheckStatus { result: Some(result_of(*result).map_err(status_of)?), ..status("done") }
            }
            AsyncStatus::Failed(problem) => {
                CheckStatus { error: Some(error_of(problem, None)), ..status("failed") }
            }
        }))
    }

    type StreamCheckStream = BoxStream<'static, Result<StreamEvent, Status>>;

    async fn stream_check(
        &self,
        request: Request<Streaming<StreamPiece>>,
    ) -> Answered<Self::StreamCheckStream> {
        let called = called(&request)?;
        let events = stream::follow(&self.app, &called, request.into_inner()).await;
        events.map(Response::new).map_err(status_of)
    }

    async fn reward(&self, request: Request<RewardRequest>) -> Answered<RewardResult> {
        let called = called(&request)?;
        let until = self.reward_until(&called);
        let result = self.rewarded(&called, request.into_inner(), until).await;
        result.map(Response::new).map_err(status_of)
    }

    async fn reward_many(&self, request: Request<RewardManyRequest>) -> Answered<RewardManyResult> {
        let called = called(&request)?;
        let until = self.reward_until(&called);
        let requests = request.into_inner().requests;
        refuse_too_many(&self.app, requests.len()).map_err(status_of)?;
        let checks = requests.into_iter().map(|message| self.rewarded_item(&called, message, until).boxed());
        let results = in_order(checks.collect(), self.app.config().http.items_at_once).await;
        Ok(Response::new(RewardManyResult { results }))
    }

    async fn list_models(&self, _request: Request<ListModelsRequest>) -> Answered<ListModelsResult> {
        message_of(&listing::models_of(&self.app)).map(Response::new).map_err(status_of)
    }

    async fn list_methods(&self, _request: Request<ListMethodsRequest>) -> Answered<ListMethodsResult> {
        message_of(&listing::methods_of()).map(Response::new).map_err(status_of)
    }
}

/// What the guard found out about a call.
fn called<T>(request: &Request<T>) -> Result<Called, Status> {
    let unguarded = || status_of(Problem::new(Code::INTERNAL, "a call came past its guard; this is a bug"));
    request.extensions().get::<Called>().cloned().ok_or_else(unguarded)
}

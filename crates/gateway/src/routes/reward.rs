//! `POST /v1/reward`: a reward with everything that it was made from.

use super::check::{Shape, request_of, shape};
use super::in_order;
use crate::app::App;
use crate::auth::{Caller, Scope};
use crate::intake;
use crate::problem::{ApiError, ItemError, ProblemBody};
use axum::Json;
use axum::extract::{Request, State};
use axum::response::{IntoResponse as _, Response};
use futures_util::FutureExt as _;
use groundline::reward::reward as reward_of;
use groundline::{CheckObserver, Reward, RewardProfile};
use groundline_types::{CheckRequest, CheckResult, Code, ModelResult, Note, Problem};
use serde::Serialize;
use serde_json::Value;
use std::time::Duration;
use tokio::time::{Instant, sleep, timeout_at};

/// Name and version of the answer's schema.
const SCHEMA: &str = "groundline.reward/1";
/// How long to wait before asking again where the coordinator is full.
const TRY_AGAIN_AFTER: Duration = Duration::from_millis(100);
/// What is kept of a deadline for writing the answer.
const ANSWER_TIME: Duration = Duration::from_millis(250);

/// The reward of a response (schema `groundline.reward/1`).
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(crate) struct RewardAnswer {
    /// Always `groundline.reward/1`.
    schema: &'static str,
    /// The request's id.
    id: String,
    /// The reward and what it was made from.
    #[serde(flatten)]
    reward: Reward,
    /// `(reward + 1) / 2`, 0 to 1; null where there is no reward.
    score: Option<f64>,
    /// Which model answered.
    model: ModelResult,
    /// Hash of every setting that can change the result behind it.
    config_hash: String,
    /// Things a reader should know.
    notes: Vec<Note>,
}

impl RewardAnswer {
    fn new(result: CheckResult, profile: &RewardProfile) -> Self {
        let reward = reward_of(&result, profile);
        let CheckResult { id, model, config_hash, notes, .. } = result;
        Self { schema: SCHEMA, id, score: reward.reward.map(score_of), reward, model, config_hash, notes }
    }
}

/// The answers to many requests.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(crate) struct ManyRewards {
    /// One for each request, in their order.
    results: Vec<RewardItem>,
}

/// A reward, or why there is none. Tell them apart by `schema`.
#[derive(Debug, Serialize, utoipa::ToSchema)]
#[serde(untagged)]
pub(crate) enum RewardItem {
    /// It was checked.
    Reward(Box<RewardAnswer>),
    /// It was not.
    Error(ItemError),
}

#[utoipa::path(
    post, path = "/v1/reward", tag = "rewards",
    summary = "The reward of a response, with a reward for each sentence",
    description = "As `/v1/check`, with `reward_profile` in addition: `ternary` or `binary_contradiction`. Calls wait in line \
                   instead of being refused. What could not be scored has the status `unscored` and no reward.",
    request_body(content = crate::openapi::RewardRequestSchema),
    responses(
        (status = 200, description = "The reward", body = RewardAnswer),
        (status = "default", description = "An error", body = ProblemBody, content_type = "application/problem+json"),
    ),
)]
pub(crate) async fn reward(State(app): State<App>, request: Request) -> Result<Response, ApiError> {
    let until = deadline(&app);
    let mut waiting = intake::for_line(&app, request, Scope::Reward).await?;
    let shape = shape(&app, waiting.json.take())?;
    let place = intake::place(&app, &waiting.caller, waiting.tokens, until).await?;
    let _permit = place.ok_or_else(too_late)?;
    let caller = &waiting.caller;
    match shape {
        Shape::One(json) => Ok(Json(answer_one(&app, caller, json, until).await?).into_response()),
        Shape::Many(items) => {
            let answers = items.into_iter().enumerate();
            let answers = answers.map(|(index, item)| answer_item(&app, caller, index, item, until).boxed());
            let results = in_order(answers.collect(), app.config().http.items_at_once).await;
            Ok(Json(ManyRewards { results }).into_response())
        }
    }
}

async fn answer_item(app: &App, caller: &Caller, index: usize, json: Value, until: Instant) -> RewardItem {
    let id = CheckRequest::id_in(&json);
    match answer_one(app, caller, json, until).await {
        Ok(answer) => RewardItem::Reward(Box::new(answer)),
        Err(problem) => RewardItem::Error(ItemError::new(index, id, problem)),
    }
}

/// The reward for one request, by `until`.
///
/// # Errors
/// What is wrong with the request, and those of [`check_until`].
pub(crate) async fn answer_one(
    app: &App,
    caller: &Caller,
    mut json: Value,
    until: Instant,
) -> Result<RewardAnswer, Problem> {
    let profile = profile_of(app, &mut json)?;
    let request = request_of(app, json)?;
    Ok(RewardAnswer::new(check_until(app, caller, request, until).await?, &profile))
}

/// Takes the name of the profile out of a request; without one, the configured profile counts.
fn profile_of(app: &App, json: &mut Value) -> Result<RewardProfile, Problem> {
    let configured = app.config().reward.profile();
    match json.as_object_mut().and_then(|fields| fields.remove("reward_profile")) {
        None | Some(Value::Null) => Ok(configured),
        Some(Value::String(name)) => configured.named(&name),
        Some(_) => Err(Problem::new(Code::INVALID_FIELD, "`reward_profile` must be a string")),
    }
}

/// When a reward call must be answered.
pub(crate) fn deadline(app: &App) -> Instant {
    Instant::now() + Duration::from_millis(app.config().reward.deadline_ms)
}

/// `(reward + 1) / 2`: trainers filter by a number from 0 to 1.
pub(crate) fn score_of(reward: f64) -> f64 {
    (reward + 1.0) / 2.0
}

/// Checks a response for a reward: waits where the coordinator is full, and answers by `until` with what there is.
///
/// # Errors
/// As [`Checker::check`](groundline::Checker::check), and [`Code::DEADLINE`] where there never was room.
pub(crate) async fn check_until(
    app: &App,
    caller: &Caller,
    mut request: CheckRequest,
    until: Instant,
) -> Result<CheckResult, Problem> {
    let own = request.deadline_ms.unwrap_or(u64::MAX);
    loop {
        let left = until.saturating_duration_since(Instant::now()).saturating_sub(ANSWER_TIME);
        let left = u64::try_from(left.as_millis()).unwrap_or(u64::MAX);
        if left == 0 {
            return Err(too_late());
        }
        request.deadline_ms = Some(own.min(left));
        let check = app.checker().check_for(&caller.tenant, request.clone(), CheckObserver::default());
        match timeout_at(until, check).await {
            Ok(Err(problem)) if problem.code == Code::OVERLOADED => sleep(TRY_AGAIN_AFTER).await,
            Ok(answer) => return answer,
            Err(_) => return Err(too_late()),
        }
    }
}

/// The error of a call that found no room in its time.
pub(crate) fn too_late() -> Problem {
    Problem::new(Code::DEADLINE, "there was no room before the deadline of reward calls")
}

//! `POST /get_reward`: a remote reward model as OpenRLHF calls it (`--reward.remote_url`).
//!
//! The trainer repeats whatever is not answered with 2xx and then fails, so what cannot be scored is answered with the
//! configured fallback and flagged. Its logs take numbers alone, under the same names for every sample.

use super::in_order;
use super::reward::{check_until, deadline, score_of};
use crate::app::App;
use crate::auth::{Caller, Scope};
use crate::intake;
use crate::openrlhf::{Sample, request_of, samples_of};
use crate::problem::{ApiError, ProblemBody};
use axum::Json;
use axum::extract::{Request, State};
use futures_util::FutureExt as _;
use groundline::reward::reward as reward_of;
use groundline::{Reward, RewardComponents, RewardStatus};
use groundline_types::Problem;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use tokio::time::Instant;

/// What OpenRLHF sends.
#[derive(Debug, Deserialize, utoipa::ToSchema)]
#[expect(dead_code, reason = "describes the body in the OpenAPI document; `openrlhf::samples_of` reads it")]
pub(crate) struct GetReward {
    /// Prompt and response as one text, with special tokens.
    query: Vec<String>,
    /// The prompts.
    prompts: Vec<String>,
    /// Evidence: the text `{"context": ["..."], "reference": "..."}`, or a plain reference.
    labels: Vec<Option<String>>,
}

/// What OpenRLHF reads: lists as long as `query`.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(crate) struct GetRewardAnswer {
    /// Rewards, -1 to 1.
    rewards: Vec<f64>,
    /// The same from 0 to 1, for dynamic filtering.
    scores: Vec<f64>,
    /// Numbers for the trainer's logs, always under the same names. `unscored` is 1 where the reward is the fallback.
    extra_logs: BTreeMap<&'static str, Vec<f64>>,
}

/// One sample's part of the answer.
struct Scored {
    reward: f64,
    logs: BTreeMap<&'static str, f64>,
}

#[utoipa::path(
    post, path = "/get_reward", tag = "rewards",
    summary = "Rewards for OpenRLHF",
    description = "As `openrlhf.cli.serve_rm` answers. A sample that could not be scored gets `gateway.reward.fallback` and \
                   `extra_logs.unscored` = 1. Calls wait in line instead of being refused.",
    request_body(content = GetReward),
    responses(
        (status = 200, description = "The rewards", body = GetRewardAnswer),
        (status = "default", description = "An error", body = ProblemBody, content_type = "application/problem+json"),
    ),
)]
pub(crate) async fn get_reward(
    State(app): State<App>,
    request: Request,
) -> Result<Json<GetRewardAnswer>, ApiError> {
    let until = deadline(&app);
    let mut waiting = intake::for_line(&app, request, Scope::Reward).await?;
    let samples = samples_of(waiting.json.take())?;
    if samples.is_empty() {
        // With several addresses, the trainer sends nothing to all but the first.
        return Ok(Json(answer(&[])));
    }
    let Some(_permit) = intake::place(&app, &waiting.caller, waiting.tokens, until).await? else {
        let late = samples.iter().map(|_| unscored(&app)).collect::<Vec<_>>();
        return Ok(Json(answer(&late)));
    };
    let checks = samples.iter().map(|sample| score(&app, &waiting.caller, sample, until).boxed());
    let scored = in_order(checks.collect(), app.config().http.items_at_once).await;
    Ok(Json(answer(&scored)))
}

async fn score(app: &App, caller: &Caller, sample: &Sample, until: Instant) -> Scored {
    let result = async { check_until(app, caller, request_of(sample)?, until).await }.await;
    match result.map(|result| reward_of(&result, &app.config().reward.profile())) {
        Ok(reward @ Reward { reward: Some(number), .. }) => Scored { reward: number, logs: logs_of(&reward) },
        Ok(_) => unscored(app),
        Err(Problem { code, .. }) => {
            tracing::debug!(code = code.as_str(), "a sample could not be scored");
            unscored(app)
        }
    }
}

fn unscored(app: &App) -> Scored {
    let mut logs = RewardComponents::default().numbers();
    logs.extend([("unscored", 1.0), ("partial", 0.0), ("contradicted_rate", 0.0)]);
    Scored { reward: app.config().reward.fallback, logs }
}

fn logs_of(reward: &Reward) -> BTreeMap<&'static str, f64> {
    let mut logs = reward.components.numbers();
    let (contradicted, checkable) = (reward.components.contradicted, reward.components.checkable);
    let rate = if checkable == 0 { 0.0 } else { contradicted as f64 / checkable as f64 };
    let partial = f64::from(u8::from(reward.status == RewardStatus::Partial));
    logs.extend([("unscored", 0.0), ("partial", partial), ("contradicted_rate", rate)]);
    logs
}

fn answer(scored: &[Scored]) -> GetRewardAnswer {
    let mut extra_logs = BTreeMap::<_, Vec<f64>>::new();
    for sample in scored {
        for (name, number) in &sample.logs {
            extra_logs.entry(*name).or_default().push(*number);
        }
    }
    GetRewardAnswer {
        rewards: scored.iter().map(|sample| sample.reward).collect(),
        scores: scored.iter().map(|sample| score_of(sample.reward)).collect(),
        extra_logs,
    }
}

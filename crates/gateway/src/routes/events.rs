//! Server-sent events: how far a check is, and its result.

use crate::admit::Permit;
use crate::app::App;
use crate::auth::Caller;
use crate::problem::ProblemBody;
use axum::response::sse::{Event, KeepAlive, Sse};
use futures_util::Stream;
use futures_util::future::BoxFuture;
use groundline::{CheckObserver, Progress, Stage};
use groundline_types::{CheckRequest, CheckResult, Problem};
use serde::Serialize;
use std::convert::Infallible;
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};

/// How often a comment is sent while nothing happens, so that nobody in between takes the connection for dead.
const KEEP_ALIVE: Duration = Duration::from_secs(15);
/// Progress is told at most this often.
const PROGRESS_EVERY: Duration = Duration::from_millis(100);

/// The data of a `progress` event.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(crate) struct ProgressBody {
    /// `preparing`, `scoring`, `deciding` or `done`.
    stage: &'static str,
    /// Pairs and texts that the methods will ask for; may grow.
    planned_items: usize,
    /// How many of them have an outcome.
    done_items: usize,
    /// Distinct pairs and texts that were answered from the cache.
    cache_hits: usize,
}

impl From<Progress> for ProgressBody {
    fn from(progress: Progress) -> Self {
        let stage = match progress.stage {
            Stage::Preparing => "preparing",
            Stage::Scoring => "scoring",
            Stage::Deciding => "deciding",
            Stage::Done => "done",
        };
        let Progress { planned_items, done_items, cache_hits, .. } = progress;
        Self { stage, planned_items, done_items, cache_hits }
    }
}

/// A check that somebody follows. It ends with this value, which is dropped when the caller hangs up.
struct Following {
    check: BoxFuture<'static, Result<CheckResult, Problem>>,
    progress: watch::Receiver<Progress>,
    tell_again_at: Instant,
    is_over: bool,
    _permit: Permit,
}

/// Checks a request and tells how far it is: `progress` events, then one `result` or `error`.
pub(crate) fn follow(
    app: App,
    caller: Caller,
    request: CheckRequest,
    permit: Permit,
) -> Sse<impl Stream<Item = Result<Event, Infallible>>> {
    let (sender, progress) = watch::channel(Progress::default());
    let observer = CheckObserver { progress: Some(sender), cancel: None };
    let check = async move { app.checker().check_for(&caller.tenant, request, observer).await };
    let following = Following {
        check: Box::pin(check),
        progress,
        tell_again_at: Instant::now(),
        is_over: false,
        _permit: permit,
    };
    let events = futures_util::stream::unfold(following, |mut following| async move {
        let event = following.next().await?;
        Some((Ok(event), following))
    });
    Sse::new(events).keep_alive(KeepAlive::new().interval(KEEP_ALIVE))
}

impl Following {
    async fn next(&mut self) -> Option<Event> {
        if self.is_over {
            return None;
        }
        let Self { check, progress, tell_again_at, .. } = self;
        let news = async {
            sleep_until(*tell_again_at).await;
            progress.changed().await.is_ok()
        };
        tokio::select! {
            biased;
            answer = &mut *check => {
                self.is_over = true;
                Some(match answer {
                    Ok(result) => event("result", &result),
                    Err(problem) => event("error", &ProblemBody::new(&problem)),
                })
            }
            true = news => {
                self.tell_again_at = Instant::now() + PROGRESS_EVERY;
                let progress = *self.progress.borrow_and_update();
                Some(event("progress", &ProgressBody::from(progress)))
            }
            // The observer is gone before the answer is here: nothing more is told until then.
            else => None,
        }
    }
}

/// An event with JSON as data.
pub(crate) fn event(name: &str, data: &impl Serialize) -> Event {
    // What is sent here are structs with names for keys, which always can be written as JSON.
    Event::default().event(name).json_data(data).unwrap_or_else(|_| Event::default().event("error"))
}

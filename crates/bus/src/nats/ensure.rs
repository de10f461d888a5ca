//! Makes the streams and consumers of a broker what they should be.

use super::api::{Api, ApiError, refusal};
use super::topology::{Difference, Wanted, differences, fixed, merged};
use groundline_types::{Code, Problem};
use serde_json::{Value, json};

/// Why a stream or a consumer is not as it should be.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Wrong {
    /// It is not there, and this process may not create it: another one does.
    Missing(Problem),
    /// It is otherwise, and may not be changed, or not by this process.
    Otherwise(Problem),
    /// The broker does not answer.
    Unanswered(Problem),
}

impl Wrong {
    pub(super) fn problem(self) -> Problem {
        match self {
            Wrong::Missing(problem) | Wrong::Otherwise(problem) | Wrong::Unanswered(problem) => problem,
        }
    }
}

/// Creates what is missing, changes what may be changed, reads back and compares.
///
/// # Errors
///
/// With `GL3004` where something is missing or otherwise and may not be changed, `GL3001` where the broker does not answer.
pub(super) async fn ensure(api: &Api, wanted: &Wanted, may_change: bool) -> Result<(), Wrong> {
    let found = match read(api, wanted).await {
        Ok(found) => found,
        Err(error) if is_missing(&error) => {
            if !may_change {
                let why = "it is missing, and this process may not create it";
                return Err(Wrong::Missing(unsuitable(wanted, why)));
            }
            write(api, wanted, &wanted.config, "CREATE").await?;
            read(api, wanted).await.map_err(|error| unanswered(wanted, &error))?
        }
        Err(error) => return Err(unanswered(wanted, &error)),
    };
    let differing = differences(&wanted.config, &found);
    if differing.is_empty() {
        return Ok(());
    }
    let unchangeable = fixed(&differing);
    if !may_change || !unchangeable.is_empty() {
        let which = if may_change { unchangeable } else { differing.iter().collect() };
        return Err(Wrong::Otherwise(unsuitable(wanted, &list(which))));
    }
    tracing::info!(what = %wanted.name(), fields = differing.len(), "the broker is set right");
    write(api, wanted, &merged(&found, &wanted.config), "UPDATE").await?;
    let found = read(api, wanted).await.map_err(|error| unanswered(wanted, &error))?;
    let left = differences(&wanted.config, &found);
    let is_right = left.is_empty();
    if is_right { Ok(()) } else { Err(Wrong::Otherwise(unsuitable(wanted, &list(left.iter().collect())))) }
}

/// What the broker says of a stream.
pub(super) async fn stream_info(api: &Api, stream: &str) -> Result<Value, Wrong> {
    api.ask(&format!("STREAM.INFO.{stream}"), None).await.map_err(|error| {
        let problem = |code| Problem::new(code, format!("stream {stream}: {error}"));
        match is_missing(&error) {
            true => Wrong::Missing(problem(Code::BROKER_UNSUITABLE)),
            false => Wrong::Unanswered(problem(Code::BUS_UNAVAILABLE)),
        }
    })
}

async fn read(api: &Api, wanted: &Wanted) -> Result<Value, ApiError> {
    let stream = &wanted.stream;
    let what = match &wanted.consumer {
        None => format!("STREAM.INFO.{stream}"),
        Some(consumer) => format!("CONSUMER.INFO.{stream}.{consumer}"),
    };
    let mut info = api.ask(&what, None).await?;
    Ok(info.get_mut("config").map(Value::take).unwrap_or_default())
}

async fn write(api: &Api, wanted: &Wanted, config: &Value, verb: &str) -> Result<(), Wrong> {
    let stream = &wanted.stream;
    let answer = match &wanted.consumer {
        None => api.ask(&format!("STREAM.{verb}.{stream}"), Some(config)).await,
        // One subject for both: it creates, or changes what is there.
        Some(consumer) => {
            let body = json!({ "stream_name": stream, "config": config });
            api.ask(&format!("CONSUMER.DURABLE.CREATE.{stream}.{consumer}"), Some(&body)).await
        }
    };
    match answer {
        Ok(_) => Ok(()),
        // Somebody else was quicker; what is read back decides.
        Err(ApiError::Refused { description, .. }) if description.contains("already in use") => Ok(()),
        // Between looking and creating, a broker that restarts can lose the stream of a consumer.
        Err(error) if is_missing(&error) => Err(Wrong::Missing(unsuitable(wanted, &error.to_string()))),
        Err(error) => Err(unanswered(wanted, &error)),
    }
}

fn is_missing(error: &ApiError) -> bool {
    error.is(refusal::STREAM_NOT_FOUND) || error.is(refusal::CONSUMER_NOT_FOUND)
}

fn list(differences: Vec<&Difference>) -> String {
    differences.iter().map(|difference| difference.to_string()).collect::<Vec<_>>().join(", ")
}

fn unsuitable(wanted: &Wanted, why: &str) -> Problem {
    Problem::new(Code::BROKER_UNSUITABLE, format!("{}: {why}", wanted.name()))
}

fn unanswered(wanted: &Wanted, error: &ApiError) -> Wrong {
    let hint = match error {
        ApiError::NobodyThere => "; is JetStream switched on?",
        ApiError::Refused { number, .. } if refusal::NO_ROOM.contains(number) => {
            "; it has no room for what the streams may hold: give it more (max_file_store, max_memory_store, space on its disk), \
             or lower the nats.max_…_bytes_total options"
        }
        _ => "",
    };
    let message = format!("{}: {error}{hint}", wanted.name());
    match error.may_pass() {
        true => Wrong::Unanswered(Problem::new(Code::BUS_UNAVAILABLE, message)),
        false => Wrong::Otherwise(Problem::new(Code::BROKER_UNSUITABLE, message)),
    }
}

//! Names on the broker. All of them begin with the version of the protocol.

use crate::{Incarnation, LaneId, SubjectToken};
use groundline_types::Lane;

/// Work queue of jobs.
pub(super) const JOBS_STREAM: &str = "GL_JOBS_V1";
/// Dead jobs, and what the broker says of jobs that were delivered as often as is allowed.
pub(super) const DEAD_STREAM: &str = "GL_DEAD_V1";
/// Work queue of checks that nobody waits for on a connection.
pub(super) const CHECKS_STREAM: &str = "GL_CHECKS_V1";
/// Key-value bucket of their answers.
pub(super) const ANSWERS_BUCKET: &str = "GL_ANSWERS_V1";
/// Object store of large bodies.
pub(super) const BODIES_BUCKET: &str = "GL_BODIES_V1";
/// Reader of what the broker says of jobs that were delivered as often as is allowed.
pub(super) const JANITOR_CONSUMER: &str = "janitor";

pub(super) const ALL_JOBS: &str = "gl.v1.jobs.*.*.*";
pub(super) const ALL_DEAD: &str = "gl.v1.dead.*.*.*";
pub(super) const ALL_CHECKS: &str = "gl.v1.checks.*.*";
pub(super) const ALL_WORKERS: &str = "gl.v1.workers.*";
/// What every subject of results begins with; a job that asks to be answered elsewhere is refused.
pub(super) const RESULTS_PREFIX: &str = "gl.v1.results.";
const MAX_DELIVERIES: &str = "$JS.EVENT.ADVISORY.CONSUMER.MAX_DELIVERIES";

pub(super) fn jobs(lane: &LaneId, tenant: &SubjectToken) -> String {
    format!("gl.v1.jobs.{}.{}.{tenant}", lane.model, lane_name(lane.lane))
}

/// Jobs of one queue, of all tenants.
pub(super) fn jobs_of(lane: &LaneId) -> String {
    format!("gl.v1.jobs.{}.{}.*", lane.model, lane_name(lane.lane))
}

/// Name of the consumer of one queue of jobs.
pub(super) fn jobs_consumer(lane: &LaneId) -> String {
    format!("{}-{}", lane.model, lane_name(lane.lane))
}

pub(super) fn dead(lane: &LaneId, tenant: &SubjectToken) -> String {
    format!("gl.v1.dead.{}.{}.{tenant}", lane.model, lane_name(lane.lane))
}

/// The queue and the tenant of a subject of jobs or of dead jobs.
pub(super) fn parse_jobs(subject: &str) -> Option<(LaneId, SubjectToken)> {
    let rest = subject.strip_prefix("gl.v1.jobs.").or_else(|| subject.strip_prefix("gl.v1.dead."))?;
    let mut tokens = rest.split('.');
    let (model, lane, tenant) = (tokens.next()?, tokens.next()?, tokens.next()?);
    if tokens.next().is_some() {
        return None;
    }
    let lane = LaneId { model: SubjectToken::parse(model)?, lane: parse_lane(lane)? };
    Some((lane, SubjectToken::parse(tenant)?))
}

/// The queue whose jobs, of all tenants, a subject stands for.
pub(super) fn parse_lane_filter(filter: &str) -> Option<LaneId> {
    let one_tenant = format!("{}any", filter.strip_suffix('*')?);
    parse_jobs(&one_tenant).map(|(lane, _)| lane)
}

/// The tenant that a subject of jobs or checks ends with; hashed where it is no token, so that it can be named all the same.
pub(super) fn tenant_of(subject: &str) -> SubjectToken {
    let last = subject.rsplit('.').next().unwrap_or_default();
    SubjectToken::parse(last).unwrap_or_else(|| SubjectToken::from_name(last))
}

pub(super) fn checks(lane: Lane, tenant: &SubjectToken) -> String {
    format!("gl.v1.checks.{}.{tenant}", lane_name(lane))
}

/// Checks of one lane, of all tenants.
pub(super) fn checks_of(lane: Lane) -> String {
    format!("gl.v1.checks.{}.*", lane_name(lane))
}

/// Name of the consumer of one lane of checks.
pub(super) fn checks_consumer(lane: Lane) -> &'static str {
    lane_name(lane)
}

pub(super) fn results(of: Incarnation) -> String {
    format!("{RESULTS_PREFIX}{of}")
}

pub(super) fn cancel(model: &SubjectToken) -> String {
    format!("gl.v1.cancel.{model}")
}

pub(super) fn worker(worker: &SubjectToken) -> String {
    format!("gl.v1.workers.{worker}")
}

/// What the broker says of messages of a stream that were delivered as often as is allowed.
pub(super) fn max_deliveries(stream: &str) -> String {
    format!("{MAX_DELIVERIES}.{stream}.*")
}

fn lane_name(lane: Lane) -> &'static str {
    match lane {
        Lane::Online => "online",
        Lane::Bulk => "bulk",
    }
}

fn parse_lane(name: &str) -> Option<Lane> {
    [Lane::Online, Lane::Bulk].into_iter().find(|lane| lane_name(*lane) == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lane() -> LaneId {
        LaneId { model: SubjectToken::from_name("model"), lane: Lane::Bulk }
    }

    #[test]
    fn a_subject_says_model_lane_and_tenant_and_is_read_back() {
        let tenant = SubjectToken::from_name("team.a > *");
        let subject = jobs(&lane(), &tenant);
        assert_eq!(subject, format!("gl.v1.jobs.model.bulk.{tenant}"));
        assert_eq!(parse_jobs(&subject), Some((lane(), tenant.clone())));
        assert_eq!(parse_jobs(&dead(&lane(), &tenant)), Some((lane(), tenant)));
    }

    #[test]
    fn what_is_no_subject_of_jobs_is_not_read_as_one() {
        let odd = [
            "gl.v1.jobs.model.bulk",
            "gl.v1.jobs.model.bulk.a.b",
            "gl.v1.jobs.model.slow.a",
            "gl.v1.jobs.model.bulk.*",
            "gl.v1.jobs..bulk.a",
            "gl.v2.jobs.model.bulk.a",
        ];
        assert!(odd.iter().all(|subject| parse_jobs(subject).is_none()));
    }

    #[test]
    fn names_of_consumers_hold_no_dots_and_fit_the_broker() {
        let long = LaneId { model: SubjectToken::from_name(&"m".repeat(64)), lane: Lane::Online };
        let name = jobs_consumer(&long);
        assert!(!name.contains('.') && name.len() < 255, "{name}");
        assert_eq!(jobs_of(&lane()), "gl.v1.jobs.model.bulk.*");
        assert_eq!(parse_lane_filter(&jobs_of(&lane())), Some(lane()));
    }
}

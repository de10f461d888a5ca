//! Methods in stages: what a request's policy comes to, and what became of it.
//!
//! ```text
//! always (+ audit, where the check is drawn) ─► reports ─► a sentence in the grey zone? ─► the grey zone's methods
//! ```
//!
//! Pure: the panel asks it which methods begin, and it says afterwards which did not and why.

use groundline_detectors::{Need, method, resolve};
use groundline_types::{
    CascadePolicy, CheckRequest, Code, EarlierFindings, GreyZone, MethodResult, MethodStatus, Note, Polarity,
    PolicyChoice, Problem, Report, nearest_name,
};
use groundline_verdict::{Roles, deciding, escalates};
use std::collections::BTreeMap;

/// The methods of a check by stage.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Plan {
    /// Whose plan it is, for notes.
    name: String,
    always: Vec<&'static str>,
    grey: Option<(Vec<&'static str>, GreyZone)>,
    audit: Option<AuditStage>,
}

#[derive(Debug, Clone, PartialEq)]
struct AuditStage {
    methods: Vec<&'static str>,
    rate: f64,
    is_drawn: bool,
}

/// What became of the stages.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct StageOutcome {
    pub(crate) roles: Roles,
    /// The methods that were not asked, with the reason.
    pub(crate) skipped: BTreeMap<String, MethodResult>,
    pub(crate) notes: Vec<Note>,
}

/// A plan while it is carried out.
#[derive(Debug, Clone, Default)]
pub(crate) struct Stages {
    plan: Plan,
    zone: Option<InZone>,
}

/// What the reports of the first stage say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct InZone {
    grey: usize,
    scored: usize,
}

impl Plan {
    /// The plan of a request: its methods, or its policy.
    ///
    /// # Errors
    /// [`Code::UNKNOWN_METHOD`]; [`Code::INVALID_FIELD`] for an unknown or senseless policy.
    pub(crate) fn of(
        request: &CheckRequest,
        policies: &BTreeMap<String, CascadePolicy>,
    ) -> Result<Self, Problem> {
        let (name, policy) = match &request.policy {
            None => return Ok(Self { always: resolve(&request.methods)?, ..Self::default() }),
            Some(PolicyChoice::Own(policy)) => ("the request's policy".to_owned(), policy),
            Some(PolicyChoice::Named(name)) => {
                let policy = policies.get(name).ok_or_else(|| unknown_policy(name, policies))?;
                (format!("policy `{name}`"), policy)
            }
        };
        let id = request.id.as_deref().unwrap_or(&request.response);
        Self::of_policy(name, policy, id)
    }

    fn of_policy(name: String, policy: &CascadePolicy, id: &str) -> Result<Self, Problem> {
        policy.validate()?;
        let always = resolve(&policy.always)?;
        let grey = match &policy.grey_zone {
            None => None,
            Some(zone) => Some((resolve(&zone.methods)?, zone.clone())),
        };
        let audit = match &policy.audit {
            None => None,
            Some(audit) => {
                let (methods, rate) = (resolve(&audit.methods)?, audit.rate);
                Some(AuditStage { methods, rate, is_drawn: is_drawn(id, rate) })
            }
        };
        if grey.is_some() && deciding(&always).is_none() {
            let message = "`policy.always` has no method that gives sentences a support probability, so that no grey zone can be \
                           told; add entailment or summac";
            return Err(Problem::new(Code::INVALID_FIELD, message));
        }
        let later = grey.iter().flat_map(|(methods, _)| methods);
        let all = always.iter().chain(later).chain(audit.iter().flat_map(|audit| &audit.methods));
        let mut seen = Vec::new();
        for method in all {
            if seen.contains(method) {
                let message = format!("`policy` names {method} in two stages; name it in one");
                return Err(Problem::new(Code::INVALID_FIELD, message));
            }
            seen.push(method);
        }
        Ok(Self { name, always, grey, audit })
    }

    /// The same without anything but the methods that always run.
    pub(crate) fn first_alone(self) -> Self {
        Self { grey: None, audit: None, ..self }
    }

    /// The methods that begin at once.
    pub(crate) fn first(&self) -> Vec<&'static str> {
        let drawn = self.audit.iter().filter(|audit| audit.is_drawn).flat_map(|audit| &audit.methods);
        self.always.iter().chain(drawn).copied().collect()
    }

    /// Whether a method of any stage needs this.
    pub(crate) fn needs(&self, need: Need) -> bool {
        self.first().into_iter().chain(self.later()).any(|name| method_needs(name).contains(&need))
    }

    /// The methods that may begin later.
    pub(crate) fn later(&self) -> Vec<&'static str> {
        self.grey.as_ref().map(|(methods, _)| methods.clone()).unwrap_or_default()
    }
}

/// Whether a method that a request may come to needs this; false where the request is refused anyway.
pub(crate) fn needs(request: &CheckRequest, policies: &BTreeMap<String, CascadePolicy>, need: Need) -> bool {
    Plan::of(request, policies).is_ok_and(|plan| plan.needs(need))
}

/// Which way a method's number points.
pub(crate) fn polarity_of(name: &str) -> Polarity {
    method(name).map_or(Polarity::HigherIsSupported, |info| info.polarity)
}

/// What a method needs.
pub(crate) fn method_needs(name: &str) -> &'static [Need] {
    method(name).map_or(&[], |info| info.needs)
}

/// Checks the policies of a configuration.
///
/// # Errors
/// [`Code::INVALID_CONFIG`] naming the policy.
pub fn validate_policies(policies: &BTreeMap<String, CascadePolicy>) -> Result<(), Problem> {
    for (name, policy) in policies {
        Plan::of_policy(String::new(), policy, "").map_err(|problem| {
            Problem::new(Code::INVALID_CONFIG, format!("policies.{name}: {}", problem.message))
        })?;
    }
    Ok(())
}

/// Checks that a request's choice is a policy that can be carried out.
///
/// # Errors
/// [`Code::INVALID_FIELD`] for an unknown name (the nearest is named) or a policy that makes no sense, [`Code::UNKNOWN_METHOD`].
pub fn resolve_policy(
    choice: &PolicyChoice,
    policies: &BTreeMap<String, CascadePolicy>,
) -> Result<(), Problem> {
    let mut request = CheckRequest::with_sources("", Vec::new());
    request.policy = Some(choice.clone());
    Plan::of(&request, policies).map(|_| ())
}

fn unknown_policy(name: &str, policies: &BTreeMap<String, CascadePolicy>) -> Problem {
    let shown: String = name.chars().filter(|c| !c.is_control()).take(40).collect();
    let hint = match nearest_name(&shown, policies.keys().map(String::as_str)) {
        Some(nearest) => format!("did you mean `{nearest}`?"),
        None if policies.is_empty() => "the configuration has none; add a section [policies.NAME]".to_owned(),
        None => format!("known policies are {}", policies.keys().cloned().collect::<Vec<_>>().join(", ")),
    };
    Problem::new(Code::INVALID_FIELD, format!("unknown policy `{shown}`; {hint}"))
}

/// Whether a check with this id is in a sample of this rate. Equal ids give equal answers, on every machine.
fn is_drawn(id: &str, rate: f64) -> bool {
    let hash = blake3::hash(id.as_bytes());
    let (bytes, _) = hash.as_bytes().split_at(8);
    let number = bytes.iter().fold(0_u64, |number, byte| number << 8 | u64::from(*byte));
    // 53 bits are what a f64 holds exactly: a number from 0 to just below 1.
    ((number >> 11) as f64) / ((1_u64 << 53) as f64) < rate
}

impl Stages {
    pub(crate) fn new(plan: Plan) -> Self {
        Self { plan, zone: None }
    }

    /// Whether the methods of the grey zone are to begin, now that the first stage has reported. It is decided once.
    pub(crate) fn decide_grey(&mut self, reports: &[&Report]) -> bool {
        let (Some((_, zone)), None) = (&self.plan.grey, self.zone) else { return false };
        let supports = self.deciding(reports).into_iter().flat_map(|report| &report.claims);
        let supports = supports.filter_map(|outcome| outcome.scored()?.support);
        let count = |in_zone: InZone, support: groundline_types::Probability| InZone {
            grey: in_zone.grey + usize::from(zone.holds(support.get())),
            scored: in_zone.scored + 1,
        };
        let in_zone = supports.fold(InZone { grey: 0, scored: 0 }, count);
        self.zone = Some(in_zone);
        in_zone.grey > 0
    }

    /// The report that decides in the first stage.
    fn deciding<'a>(&self, reports: &[&'a Report]) -> Option<&'a Report> {
        let name = deciding(&self.plan.always)?;
        reports.iter().find(|report| report.method == name).copied()
    }

    /// What the first stage found, for the methods of the grey zone.
    pub(crate) fn earlier(&self, reports: &[&Report]) -> EarlierFindings {
        let (Some((_, zone)), Some(report)) = (&self.plan.grey, self.deciding(reports)) else {
            return EarlierFindings::default();
        };
        let support_probabilities: Vec<_> = report
            .claims
            .iter()
            .map(|outcome| outcome.scored().and_then(|finding| finding.support))
            .collect();
        let is_grey =
            support_probabilities.iter().map(|support| support.is_some_and(|p| zone.holds(p.get())));
        EarlierFindings { is_grey: is_grey.collect(), support_probabilities }
    }

    /// What to tell.
    pub(crate) fn into_outcome(self) -> StageOutcome {
        let Self { plan: Plan { name, always, grey, audit }, zone } = self;
        let mut outcome = StageOutcome::default();
        if let Some((methods, band)) = grey {
            let InZone { grey, scored } = zone.unwrap_or(InZone { grey: 0, scored: 0 });
            let range = format!("a support probability from {} to {}", band.support_from, band.support_to);
            let found = format!("{grey} of {scored} scored sentences have {range}");
            if grey > 0 {
                outcome.roles.fallback = deciding(&always);
                outcome.roles.escalation = methods.iter().find(|method| escalates(method)).copied();
                outcome.note(format!("{name}: {found}, so {} ran", methods.join(", ")));
            } else {
                outcome.note(format!("{name}: {found}, so {} did not run", methods.join(", ")));
                outcome.skip(&methods, &format!("outside the grey zone: no scored sentence has {range}"));
            }
        }
        if let Some(AuditStage { methods, rate, is_drawn }) = audit {
            if is_drawn {
                let sample = format!("the check is in the audit sample (rate {rate})");
                outcome.note(format!("{name}: {sample}, so {} ran, and decide nothing", methods.join(", ")));
                outcome.roles.advisory = methods;
            } else {
                let sample = format!("not in the audit sample (rate {rate}, drawn by the check's id)");
                outcome.note(format!("{name}: {sample}, so {} did not run", methods.join(", ")));
                outcome.skip(&methods, &sample);
            }
        }
        outcome
    }
}

impl StageOutcome {
    fn note(&mut self, message: String) {
        let location = Some("policy".to_owned());
        self.notes.push(Note { code: Code::POLICY_STAGE, message, location });
    }

    fn skip(&mut self, names: &[&'static str], why: &str) {
        for name in names {
            let reason = Note { code: Code::POLICY_STAGE, message: why.to_owned(), location: None };
            let skipped = MethodResult {
                status: MethodStatus::Skipped,
                score: None,
                polarity: polarity_of(name),
                work_items: 0,
                reason: Some(reason),
                extra: BTreeMap::new(),
                sentences: Vec::new(),
            };
            self.skipped.insert((*name).to_owned(), skipped);
        }
    }
}

#[cfg(test)]
mod tests;

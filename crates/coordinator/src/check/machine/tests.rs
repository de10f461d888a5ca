use super::*;
use groundline_bus::TARGET_JOB_TOKENS;
use groundline_types::{Answered, ModelResult, SCHEMA, Scores, Status, Timings, Usage};
use proptest::prelude::*;
use std::collections::BTreeSet;

fn score(value: usize) -> Score {
    Score::Embedding([value as f32].into())
}

fn item(standing: Standing) -> RoundItem {
    RoundItem { standing, tokens: 100, bytes: 1000, asked: 1 }
}

fn leads(count: usize) -> Vec<RoundItem> {
    (0..count).map(|_| item(Standing::Open)).collect()
}

fn reason(code: Code) -> Reason {
    Reason::new(code, "test")
}

fn result() -> CheckResult {
    CheckResult {
        id: "id".to_owned(),
        schema: SCHEMA.to_owned(),
        status: Status::Scored,
        verdict: None,
        action: None,
        alert: false,
        scores: Scores::default(),
        coverage: Some(1.0),
        calibrated: false,
        model: ModelResult { name: String::new(), revision: String::new(), engine: String::new() },
        config_hash: String::new(),
        sentences: Vec::new(),
        methods: BTreeMap::new(),
        notes: Vec::new(),
        usage: Usage::default(),
        timings: Timings::default(),
        matrix: None,
        ensemble: None,
        spans: None,
    }
}

fn begun(window: usize, items: Vec<RoundItem>) -> (State, Vec<Effect>) {
    let mut state = State::new(window, TARGET_JOB_TOKENS);
    assert_eq!(step(&mut state, Event::Prepared), [Effect::StartDetectors]);
    let effects = claiming(&mut state, Event::Round(items));
    (state, effects)
}

/// Takes a step and answers its claims: this check leads everything.
fn claiming(state: &mut State, event: Event) -> Vec<Effect> {
    let (mut effects, mut next) = (Vec::new(), Some(event));
    while let Some(event) = next.take() {
        for effect in step(state, event) {
            match effect {
                Effect::Claim(items) => {
                    next = Some(Event::Claimed(items.iter().map(|item| (*item, Standing::Lead)).collect()));
                }
                effect => effects.push(effect),
            }
        }
    }
    effects
}

fn submitted(effects: &[Effect]) -> Vec<(u32, Vec<usize>)> {
    let submit = |effect: &Effect| match effect {
        Effect::Submit { serial, items } => Some((*serial, items.clone())),
        _ => None,
    };
    effects.iter().filter_map(submit).collect()
}

#[test]
fn jobs_are_groups_in_order_and_no_more_than_the_window() {
    let full = MAX_JOB_ITEMS;
    let (mut state, effects) = begun(2, leads(2 * full + 8));
    assert_eq!(submitted(&effects), [(0, (0..full).collect()), (1, (full..2 * full).collect())]);
    let outcomes = (0..full).map(|value| Outcome::Scored(score(value))).collect();
    let effects = claiming(&mut state, Event::JobScored { serial: 0, outcomes });
    assert_eq!(submitted(&effects), [(2, (2 * full..2 * full + 8).collect())]);
    let again = step(&mut state, Event::JobScored { serial: 0, outcomes: Vec::new() });
    assert_eq!(again, [], "a doubled result changes nothing");
}

#[test]
fn a_job_is_closed_at_the_tokens_that_a_worker_should_get() {
    let mut items = leads(5);
    items.iter_mut().for_each(|item| item.tokens = 400);
    items[4].tokens = 2000;
    let mut state = State::new(9, 1000);
    step(&mut state, Event::Prepared);
    let effects = claiming(&mut state, Event::Round(items));
    assert_eq!(
        submitted(&effects),
        [(0, vec![0, 1]), (1, vec![2, 3]), (2, vec![4])],
        "a large item goes alone"
    );
}

#[test]
fn large_items_make_small_jobs_and_one_over_the_limit_fails_alone() {
    let mut items = leads(3);
    items[0].bytes = MAX_JOB_TEXT_BYTES;
    items[1].bytes = MAX_JOB_TEXT_BYTES + 1;
    let (mut state, effects) = begun(9, items);
    assert_eq!(submitted(&effects), [(0, vec![0]), (1, vec![2])]);
    for serial in 0..2 {
        let effects =
            step(&mut state, Event::JobScored { serial, outcomes: vec![Outcome::Scored(score(7))] });
        if let Some(Effect::Resume(outcomes)) = effects.last() {
            assert_eq!(outcomes[1].reason().map(|reason| reason.code), Some(Code::JOB_TOO_LARGE));
        }
    }
    assert_eq!(state.phase(), Phase::Detecting);
}

#[test]
fn a_lead_is_taken_only_for_what_the_window_has_room_for() {
    let mut state = State::new(2, TARGET_JOB_TOKENS);
    step(&mut state, Event::Prepared);
    let mut claimed = 0;
    let mut effects = step(&mut state, Event::Round(leads(4096)));
    while let Some(Effect::Claim(items)) = effects.last() {
        claimed += items.len();
        // Another check gets every second one.
        let standing =
            |item: &usize| (*item, if item.is_multiple_of(2) { Standing::Wait } else { Standing::Lead });
        let claims = Event::Claimed(items.iter().map(standing).collect());
        effects = step(&mut state, claims);
    }
    assert!(claimed <= 5 * MAX_JOB_ITEMS, "{claimed} items are claimed for two jobs");
    assert_eq!(state.jobs.values().map(Vec::len).collect::<Vec<_>>(), [MAX_JOB_ITEMS; 2], "jobs are full");
}

#[test]
fn an_item_that_its_leader_gave_up_is_claimed_again() {
    let mut state = State::new(1, TARGET_JOB_TOKENS);
    step(&mut state, Event::Prepared);
    assert_eq!(step(&mut state, Event::Round(leads(1))), [Effect::Claim(vec![0])]);
    assert_eq!(step(&mut state, Event::Claimed(vec![(0, Standing::Wait)])), []);
    assert_eq!(step(&mut state, Event::Landed { item: 0, score: None }), [Effect::Claim(vec![0])]);
    let effects = step(&mut state, Event::Claimed(vec![(0, Standing::Lead)]));
    assert_eq!(submitted(&effects), [(0, vec![0])]);
}

#[test]
fn a_split_job_is_sent_again_item_by_item() {
    let (mut state, _) = begun(4, leads(3));
    let effects = step(&mut state, Event::JobSplit { serial: 0 });
    assert_eq!(submitted(&effects), [(1, vec![0]), (2, vec![1]), (3, vec![2])]);
}

#[test]
fn the_deadline_answers_with_what_is_there() {
    let items = vec![item(Standing::Hit(score(5))), item(Standing::Open), item(Standing::Wait)];
    let (mut state, _) = begun(4, items);
    let late = reason(Code::DEADLINE);
    let effects = step(&mut state, Event::Finish(late.clone()));
    let failed = Outcome::Failed(late.clone());
    let outcomes = vec![Outcome::Scored(score(5)), failed.clone(), failed];
    assert_eq!(effects, [Effect::Cancel, Effect::FailRest(outcomes, late)]);
    assert_eq!(step(&mut state, Event::JobScored { serial: 0, outcomes: vec![] }), []);
    assert_eq!(step(&mut state, Event::DetectorsDone), [Effect::Conclude]);
    let effects = step(&mut state, Event::Concluded(Box::new(result())));
    assert_eq!(effects, [Effect::Reply(Box::new(Ok(result()))), Effect::Cancel]);
}

#[test]
fn a_deadline_before_the_texts_are_split_fails_every_item_of_the_first_round() {
    let mut state = State::new(1, TARGET_JOB_TOKENS);
    let (late, later) = (reason(Code::DEADLINE), reason(Code::CANCELLED));
    assert_eq!(step(&mut state, Event::Finish(late.clone())), []);
    assert_eq!(step(&mut state, Event::Finish(later)), [], "the first reason stays");
    assert_eq!(step(&mut state, Event::Prepared), [Effect::StartDetectors]);
    let effects = step(&mut state, Event::Round(vec![item(Standing::Open), item(Standing::Hit(score(5)))]));
    let outcomes = vec![Outcome::Failed(late.clone()), Outcome::Scored(score(5))];
    assert_eq!(effects, [Effect::Cancel, Effect::FailRest(outcomes, late)]);
    assert_eq!(step(&mut state, Event::DetectorsDone), [Effect::Conclude]);
}

#[test]
fn a_result_that_hides_an_unchecked_sentence_breaks_a_rule() {
    let mut hiding = result();
    hiding.sentences.push(groundline_types::SentenceResult {
        text: String::new(),
        start: 0,
        end: 0,
        status: SentenceStatus::Failed,
        verdict: None,
        support_probability: None,
        contradiction_probability: None,
        neutral_probability: None,
        weight: 1.0,
        tags: Vec::new(),
        reason: groundline_types::VerdictReason::Unchecked,
        detail: None,
        evidence: Vec::new(),
        facts: Vec::new(),
    });
    let (mut state, _) = begun(1, Vec::new());
    step(&mut state, Event::DetectorsDone);
    let before = groundline_actors::broken_invariants();
    let concluding = std::panic::AssertUnwindSafe(|| step(&mut state, Event::Concluded(Box::new(hiding))));
    assert_eq!(
        std::panic::catch_unwind(concluding).is_err(),
        cfg!(debug_assertions),
        "a panic in debug builds alone"
    );
    assert!(groundline_actors::broken_invariants() > before);
}

/// A world around the machine that answers its effects in any order, doubles answers, loses none, and checks every rule.
struct World {
    state: State,
    window: usize,
    /// Rounds still to come, by what each item is.
    rounds: Vec<Vec<u8>>,
    current: Vec<Standing>,
    /// Questions of the current round.
    questions: usize,
    /// Places of the current round that another check leads, until it gives them up.
    elsewhere: BTreeSet<usize>,
    /// What this check leads and has not resolved.
    led: BTreeSet<usize>,
    /// Events that are on their way.
    flying: Vec<Event>,
    /// Jobs under way, as the world knows them.
    jobs: BTreeMap<u32, Vec<usize>>,
    resolved: BTreeSet<usize>,
    replies: usize,
    finish: Option<Reason>,
    caller_gone: bool,
}

impl World {
    fn deliver(&mut self, event: Event) -> Result<(), TestCaseError> {
        let was_done = self.state.phase() == Phase::Done;
        let effects = step(&mut self.state, event);
        if was_done {
            prop_assert!(effects.is_empty(), "C4: {:?}", effects);
        }
        for effect in effects {
            self.perform(effect)?;
        }
        prop_assert!(self.jobs.len() <= self.window, "C3");
        Ok(())
    }

    fn perform(&mut self, effect: Effect) -> Result<(), TestCaseError> {
        match effect {
            Effect::StartDetectors => self.next_round(),
            Effect::Resume(outcomes) => {
                self.check_outcomes(&outcomes, None)?;
                self.next_round();
            }
            Effect::FailRest(outcomes, reason) => {
                self.check_outcomes(&outcomes, Some(&reason))?;
                self.flying.push(Event::DetectorsDone);
            }
            Effect::Ask(question) => {
                let answered = Box::new(answered(question as f64));
                let event = Event::Answered { question, answered };
                self.flying.push(event.clone());
                if question % 3 == 0 {
                    self.flying.push(event);
                }
            }
            Effect::Hear(answers) => {
                self.check_answers(&answers, None)?;
                self.next_round();
            }
            Effect::FailUnheard(answers, reason) => {
                self.check_answers(&answers, Some(&reason))?;
                self.flying.push(Event::DetectorsDone);
            }
            Effect::Submit { serial, items } => {
                let answer = self.answer(serial, &items);
                prop_assert!(self.jobs.insert(serial, items).is_none(), "a serial is used twice");
                self.flying.push(answer.clone());
                if serial % 3 == 0 {
                    self.flying.push(answer);
                }
            }
            Effect::Resubmit { serial, items } => prop_assert_eq!(self.jobs.get(&serial), Some(&items)),
            Effect::Resend { serial } => prop_assert!(self.jobs.contains_key(&serial)),
            Effect::Settled { serial } => prop_assert!(self.jobs.remove(&serial).is_some()),
            Effect::Resolve(ends) => {
                for (item, _) in ends {
                    prop_assert!(self.resolved.insert(item), "C1: item {} is resolved twice", item);
                    prop_assert!(self.led.remove(&item), "item {} was not led", item);
                }
            }
            Effect::Claim(items) => {
                let mut standings = Vec::new();
                for item in items {
                    // Another leader lands with a score, or gives up, and then this check leads.
                    let standing = if self.elsewhere.remove(&item) {
                        let score = (item % 2 == 0).then(|| score(item));
                        self.flying.push(Event::Landed { item, score });
                        Standing::Wait
                    } else {
                        self.led.insert(item);
                        Standing::Lead
                    };
                    standings.push((item, standing));
                }
                prop_assert!(self.led.len() <= (self.window + 2) * MAX_JOB_ITEMS, "too much is led");
                self.deliver(Event::Claimed(standings))?;
            }
            Effect::Conclude => self.flying.push(Event::Concluded(Box::new(result()))),
            Effect::Reply(_) => self.replies += 1,
            Effect::Cancel => {
                self.jobs.clear();
                self.led.clear();
            }
        }
        Ok(())
    }

    fn next_round(&mut self) {
        self.resolved.clear();
        self.led.clear();
        if self.rounds.is_empty() {
            return self.flying.push(Event::DetectorsDone);
        }
        let round = self.rounds.remove(0);
        if round[0].is_multiple_of(3) {
            self.current.clear();
            self.questions = round.len();
            return self.flying.push(Event::Ask(round.len()));
        }
        let standing = |(place, kind): (usize, &u8)| match kind % 8 {
            0 => Standing::Hit(score(place)),
            1 => Standing::Refused(reason(Code::CLAIM_TOO_LONG)),
            _ => Standing::Open,
        };
        let elsewhere = round.iter().enumerate().filter(|(_, kind)| matches!(*kind % 8, 2 | 3));
        self.elsewhere = elsewhere.map(|(place, _)| place).collect();
        self.current = round.iter().enumerate().map(standing).collect();
        let items = self.current.iter().cloned().map(item).collect();
        self.flying.push(Event::Round(items));
    }

    /// Mostly the right scores; now and then a failure, a split or too few outcomes.
    fn answer(&self, serial: u32, items: &[usize]) -> Event {
        match serial % 11 {
            5 => Event::JobFailed { serial, reason: reason(Code::JOB_DEAD) },
            7 => Event::JobSplit { serial },
            _ => {
                let mut outcomes = items.iter().map(|item| Outcome::Scored(score(*item))).collect::<Vec<_>>();
                if serial % 11 == 9 {
                    outcomes.pop();
                }
                Event::JobScored { serial, outcomes }
            }
        }
    }

    fn check_answers(&self, answers: &[Answered], closing: Option<&Reason>) -> Result<(), TestCaseError> {
        prop_assert_eq!(answers.len(), self.questions, "C1");
        for (question, answer) in answers.iter().enumerate() {
            match &answer.outcome {
                Outcome::Failed(found) => prop_assert_eq!(Some(found), closing),
                _ => prop_assert_eq!(answer, &answered(question as f64)),
            }
        }
        Ok(())
    }

    fn check_outcomes(
        &self,
        outcomes: &[Outcome<Score>],
        closing: Option<&Reason>,
    ) -> Result<(), TestCaseError> {
        prop_assert_eq!(outcomes.len(), self.current.len(), "C1");
        for (place, outcome) in outcomes.iter().enumerate() {
            match outcome {
                Outcome::Scored(found) => prop_assert_eq!(found, &score(place)),
                Outcome::Abstained(_) => prop_assert!(false, "nothing here abstains"),
                Outcome::Failed(found) if Some(found) == closing => {}
                Outcome::Failed(found) => {
                    let known = [Code::CLAIM_TOO_LONG, Code::JOB_DEAD, Code::INTERNAL];
                    prop_assert!(known.contains(&found.code), "{:?}", found);
                }
            }
        }
        Ok(())
    }
}

proptest! {
    #[test]
    fn every_rule_holds_in_any_order_of_events(
        window in 1_usize..5,
        rounds in prop::collection::vec(prop::collection::vec(any::<u8>(), 1..60), 0..4),
        order in prop::collection::vec(any::<prop::sample::Index>(), 0..400),
        finish_at in prop::option::of(0_usize..120),
        gone_at in prop::option::of(0_usize..240),
        lost_at in 0_usize..60,
    ) {
        let mut world = World {
            state: State::new(window, TARGET_JOB_TOKENS),
            window,
            rounds,
            current: Vec::new(),
            questions: 0,
            elsewhere: BTreeSet::new(),
            led: BTreeSet::new(),
            flying: vec![Event::Prepared],
            jobs: BTreeMap::new(),
            resolved: BTreeSet::new(),
            replies: 0,
            finish: finish_at.map(|_| reason(Code::DEADLINE)),
            caller_gone: false,
        };
        let mut order = order.into_iter();
        let mut steps = 0;
        while !world.flying.is_empty() {
            if Some(steps) == finish_at && let Some(reason) = world.finish.clone() {
                world.deliver(Event::Finish(reason))?;
            }
            if Some(steps) == gone_at {
                world.caller_gone = world.state.phase() != Phase::Done;
                world.deliver(Event::CallerGone)?;
            }
            if steps == lost_at {
                world.deliver(Event::DispatchLost)?;
                world.deliver(Event::ResultsLost)?;
            }
            let next = order.next().map_or(0, |index| index.index(world.flying.len()));
            let event = world.flying.swap_remove(next);
            world.deliver(event)?;
            steps += 1;
        }
        prop_assert_eq!(world.state.phase(), Phase::Done, "it hangs");
        prop_assert_eq!(world.replies, usize::from(!world.caller_gone), "C5");
    }
}

fn answered(value: f64) -> Answered {
    let outcome = Outcome::Scored(groundline_types::Answer::Inconsistency(value));
    Answered { outcome, cost: groundline_types::JudgeCost::default() }
}

fn asked(effects: &[Effect]) -> Vec<usize> {
    let ask = |effect: &Effect| match effect {
        Effect::Ask(question) => Some(*question),
        _ => None,
    };
    effects.iter().filter_map(ask).collect()
}

#[test]
fn questions_are_asked_a_few_at_a_time_and_heard_together_in_order() {
    let mut state = State::new(1, TARGET_JOB_TOKENS);
    step(&mut state, Event::Prepared);
    let effects = step(&mut state, Event::Ask(20));
    assert_eq!(asked(&effects), (0..16).collect::<Vec<_>>());
    let mut heard = Vec::new();
    for question in (0..20).rev().chain([3]) {
        // Those beyond the first 16 are not asked yet at first; their answers count for nothing then.
        let event = Event::Answered { question, answered: Box::new(answered(question as f64)) };
        heard.extend(step(&mut state, event));
    }
    assert_eq!(asked(&heard), [16, 17, 18, 19]);
    assert!(!heard.iter().any(|effect| matches!(effect, Effect::Hear(_))), "four are still being asked");
    for question in 16..20 {
        let event = Event::Answered { question, answered: Box::new(answered(question as f64)) };
        heard = step(&mut state, event);
    }
    let expected = (0..20).map(|question| answered(f64::from(question))).collect();
    assert_eq!(heard, [Effect::Hear(expected)]);
    assert_eq!((state.phase(), state.tally().done), (Phase::Detecting, 20));
}

#[test]
fn at_the_deadline_questions_without_an_answer_fail_and_late_answers_change_nothing() {
    let mut state = State::new(1, TARGET_JOB_TOKENS);
    step(&mut state, Event::Prepared);
    step(&mut state, Event::Ask(2));
    step(&mut state, Event::Answered { question: 0, answered: Box::new(answered(0.0)) });
    let late = reason(Code::DEADLINE);
    let effects = step(&mut state, Event::Finish(late.clone()));
    let answers = vec![answered(0.0), Answered::failed(late.clone())];
    assert_eq!(effects, [Effect::Cancel, Effect::FailUnheard(answers, late)]);
    assert_eq!(step(&mut state, Event::Answered { question: 1, answered: Box::new(answered(1.0)) }), []);
    let again = step(&mut state, Event::Ask(1));
    assert!(matches!(&again[..], [Effect::Cancel, Effect::FailUnheard(answers, _)] if answers.len() == 1));
    assert_eq!(step(&mut state, Event::DetectorsDone), [Effect::Conclude]);
}

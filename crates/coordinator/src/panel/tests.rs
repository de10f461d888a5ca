use super::*;
use groundline_bus::SubjectToken;
use groundline_types::{Code, ModelId};

/// Asks for fixed rounds, and remembers what it was answered.
#[derive(Debug)]
struct Script {
    rounds: Vec<Vec<Work>>,
    answered: Arc<std::sync::Mutex<Vec<Vec<Outcome<Score>>>>>,
}

impl Detector for Script {
    fn name(&self) -> &'static str {
        "script"
    }

    fn planned_items(&self) -> usize {
        self.rounds.iter().map(Vec::len).sum()
    }

    fn start(&mut self, _check: &Arc<PreparedCheck>, _facts: &ModelFacts) -> Next {
        self.next()
    }

    fn resume(&mut self, outcomes: &[Outcome<Score>]) -> Next {
        self.answered.lock().unwrap().push(outcomes.to_vec());
        self.next()
    }
}

impl Script {
    fn next(&mut self) -> Next {
        if !self.rounds.is_empty() {
            return Next::Work(self.rounds.remove(0));
        }
        let score = Outcome::Abstained(Reason::new(Code::NO_CHECKABLE_CLAIM, "test"));
        let (claims, facts, notes) = (Vec::new(), Vec::new(), Vec::new());
        Next::Done(Report {
            method: "script",
            claims,
            facts,
            score,
            matrix: None,
            notes,
            work_items: 0,
            extra: Default::default(),
        })
    }
}

fn embed(text: &str) -> Work {
    Work::Embed { text: text.into() }
}

fn score(value: f32) -> Outcome<Score> {
    Outcome::Scored(Score::Embedding([value].into()))
}

type Answers = Arc<std::sync::Mutex<Vec<Vec<Outcome<Score>>>>>;

fn panel(scripts: Vec<Vec<Vec<Work>>>) -> (Panel, Vec<Answers>) {
    let answers = scripts.iter().map(|_| Answers::default()).collect::<Vec<_>>();
    let detectors = scripts.into_iter().zip(&answers).map(|(rounds, answered)| {
        Box::new(Script { rounds, answered: Arc::clone(answered) }) as Box<dyn Detector>
    });
    let model = ModelId { name: "m".to_owned(), revision: "r".to_owned() };
    let keys = KeyMaker::new(&model, &SubjectToken::from_name("t"));
    (Panel::new(detectors.collect(), keys), answers)
}

fn work(wanted: Option<Wanted>) -> Option<Round> {
    match wanted {
        None => None,
        Some(Wanted::Round(round)) => Some(round),
        Some(Wanted::Questions(_)) => panic!("nobody asks a judge"),
    }
}

fn start(panel: &mut Panel) -> Option<Round> {
    work(begin(panel))
}

fn begin(panel: &mut Panel) -> Option<Wanted> {
    let request = Arc::new(groundline_types::CheckRequest::new("r", "s"));
    let check = Arc::new(PreparedCheck {
        request,
        claims: Vec::new(),
        before: None,
        sources: Vec::new(),
        samples: Vec::new(),
        refused: Default::default(),
        derived: Default::default(),
    });
    let engine = groundline_testkit::ToyEngine::default();
    panel.start(&check, groundline_inference::Engine::facts(&engine))
}

#[test]
fn equal_work_of_a_round_is_asked_once_and_answered_to_all() {
    let shared = embed("a");
    let first = vec![vec![shared.clone(), embed("b"), embed("a")], vec![embed("d")]];
    let second = vec![vec![embed("b"), embed("c"), shared]];
    let (mut panel, answers) = panel(vec![first, second]);
    let round = start(&mut panel).unwrap();
    assert_eq!(round.work, [embed("a"), embed("b"), embed("c")]);
    assert_eq!(round.asked, [3, 2, 1]);
    let round = work(panel.resume(&[score(1.0), score(2.0), score(3.0)])).unwrap();
    assert_eq!(*answers[0].lock().unwrap(), [[score(1.0), score(2.0), score(1.0)]]);
    assert_eq!(*answers[1].lock().unwrap(), [[score(2.0), score(3.0), score(1.0)]]);
    assert_eq!(round.work, [embed("d")]);
    assert!(panel.resume(&[score(4.0)]).is_none());
    assert_eq!(answers[1].lock().unwrap().len(), 1, "who is done is asked no more");
    assert_eq!(panel.finish().0.len(), 2);
}

#[test]
fn the_rest_fails_with_the_reason_whatever_is_still_asked() {
    let rounds = vec![vec![embed("a")], vec![embed("b"), embed("c")], vec![embed("d")]];
    let (mut panel, answers) = panel(vec![rounds, vec![]]);
    start(&mut panel).unwrap();
    let reason = Reason::new(Code::DEADLINE, "test");
    panel.fail_rest(&[score(1.0)], &reason);
    let failed = Outcome::Failed(reason);
    let expected = [vec![score(1.0)], vec![failed.clone(); 2], vec![failed]];
    assert_eq!(*answers[0].lock().unwrap(), expected);
    assert_eq!(panel.finish().0.len(), 2);
}

/// Asks one question each round, and remembers how it was answered.
#[derive(Debug)]
struct Asker {
    rounds: usize,
    heard: Arc<std::sync::Mutex<Vec<usize>>>,
}

impl Detector for Asker {
    fn name(&self) -> &'static str {
        "asker"
    }

    fn planned_items(&self) -> usize {
        0
    }

    fn start(&mut self, _check: &Arc<PreparedCheck>, _facts: &ModelFacts) -> Next {
        self.hear(&[])
    }

    fn resume(&mut self, _outcomes: &[Outcome<Score>]) -> Next {
        panic!("it asks for no work")
    }

    fn hear(&mut self, answers: &[Answered]) -> Next {
        self.heard.lock().unwrap().push(answers.len());
        if self.rounds == 0 {
            return Script { rounds: Vec::new(), answered: Arc::default() }.next();
        }
        self.rounds -= 1;
        let sentence = format!("{} left", self.rounds);
        Next::Ask(vec![Question::SelfCheck { sentence: sentence.into(), sample: "s".into() }])
    }
}

fn with_askers(rounds: Vec<Vec<Work>>, asked: &[usize]) -> (Panel, Arc<std::sync::Mutex<Vec<usize>>>) {
    let heard = Arc::<std::sync::Mutex<Vec<usize>>>::default();
    let script = Box::new(Script { rounds, answered: Arc::default() }) as Box<dyn Detector>;
    let asker =
        |rounds: &usize| Box::new(Asker { rounds: *rounds, heard: heard.clone() }) as Box<dyn Detector>;
    let detectors = std::iter::once(script).chain(asked.iter().map(asker)).collect();
    let model = ModelId { name: "m".to_owned(), revision: "r".to_owned() };
    (Panel::new(detectors, KeyMaker::new(&model, &SubjectToken::from_name("t"))), heard)
}

fn questions(wanted: Option<Wanted>) -> usize {
    let Some(Wanted::Questions(questions)) = wanted else { panic!("questions are wanted: {wanted:?}") };
    questions.len()
}

#[test]
fn questions_wait_until_no_work_is_wanted_and_each_asker_hears_its_own() {
    let (mut panel, heard) = with_askers(vec![vec![embed("a")], vec![embed("b")]], &[2, 1]);
    assert_eq!(start(&mut panel).unwrap().work, [embed("a")]);
    assert_eq!(work(panel.resume(&[score(1.0)])).unwrap().work, [embed("b")]);
    assert_eq!(questions(panel.resume(&[score(2.0)])), 2);
    let answers = vec![Answered::failed(Reason::new(Code::JUDGE_REFUSED, "test")); 2];
    assert_eq!(questions(panel.hear(&answers)), 1, "one of them asks again");
    assert!(panel.hear(&answers[..1]).is_none());
    assert_eq!(*heard.lock().unwrap(), [0, 0, 1, 1, 1]);
    assert_eq!(panel.finish().0.len(), 3);
}

#[test]
fn the_rest_of_the_questions_fails_with_the_reason() {
    let reason = Reason::new(Code::DEADLINE, "test");
    let (mut panel, heard) = with_askers(vec![vec![embed("a")]], &[3]);
    start(&mut panel).unwrap();
    panel.fail_rest(&[score(1.0)], &reason);
    assert_eq!(*heard.lock().unwrap(), [0, 1, 1, 1]);
    assert_eq!(panel.finish().0.len(), 2);
    let (mut panel, heard) = with_askers(Vec::new(), &[2]);
    assert_eq!(questions(begin(&mut panel)), 1);
    panel.fail_unheard(&[Answered::failed(reason.clone())], &reason);
    assert_eq!(*heard.lock().unwrap(), [0, 1, 1]);
}

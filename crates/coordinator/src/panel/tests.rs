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

fn start(panel: &mut Panel) -> Option<Round> {
    let request = Arc::new(groundline_types::CheckRequest::new("r", "s"));
    let check = Arc::new(PreparedCheck {
        request,
        claims: Vec::new(),
        before: None,
        sources: Vec::new(),
        samples: Vec::new(),
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
    let round = panel.resume(&[score(1.0), score(2.0), score(3.0)]).unwrap();
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

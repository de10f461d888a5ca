//! What a check does on threads for computing.

use super::machine::{RoundItem, Standing};
use super::message::{CheckWaiter, Shared};
use crate::cache::{Claimed, ScoreCache};
use crate::key::Key;
use crate::panel::{Panel, Round, Wanted, estimated_tokens, text_bytes};
use crate::prepare::{Asked, Prepared, mean_pair_tokens, prepare};
use groundline_bus::SubjectToken;
use groundline_types::{
    Answered, ModelFacts, Note, Outcome, PreparedCheck, Problem, Question, Reason, Score, Work,
};
use std::collections::HashMap;
use std::sync::Arc;

/// What detectors run on; shared by all rounds of a check.
#[derive(Debug)]
pub(crate) struct Ground {
    pub(crate) check: Arc<PreparedCheck>,
    pub(crate) facts: ModelFacts,
    pub(crate) refused: HashMap<Arc<str>, Reason>,
    pub(crate) cache: Arc<ScoreCache<CheckWaiter>>,
    pub(crate) waiter: CheckWaiter,
}

/// A check whose texts are split and whose detectors have started.
#[derive(Debug)]
pub(crate) struct Begun {
    pub(crate) ground: Arc<Ground>,
    pub(crate) panel: Panel,
    /// The first round; `None` where nothing is to be scored.
    pub(crate) round: Option<Opened>,
    pub(crate) notes: Vec<Note>,
    /// Whether every source is surely in another language than the response.
    pub(crate) is_foreign: bool,
    /// Items that the detectors ask for in all, and about how many tokens these have.
    pub(crate) planned_items: usize,
    pub(crate) planned_tokens: usize,
    /// Questions to a judge in all.
    pub(crate) planned_questions: usize,
}

/// What the detectors are to do.
#[derive(Debug)]
pub(crate) enum Turn {
    Resume(Vec<Outcome<Score>>),
    FailRest(Vec<Outcome<Score>>, Reason),
    Hear(Vec<Answered>),
    FailUnheard(Vec<Answered>, Reason),
}

/// What the detectors want, ready to be looked after.
#[derive(Debug)]
pub(crate) enum Opened {
    Round(OpenRound),
    Questions(Vec<Question>),
}

/// A round with everything that the actor needs to run it.
#[derive(Debug)]
pub(crate) struct OpenRound {
    pub(crate) work: Vec<Work>,
    pub(crate) keys: Vec<Key>,
    /// Places of the items that wait for another check; filled as items are claimed.
    pub(crate) waiting: HashMap<Key, usize>,
    pub(crate) items: Vec<RoundItem>,
}

/// Splits the texts and starts the detectors.
pub(crate) fn begin(
    asked: &Asked,
    tenant: &SubjectToken,
    shared: &Shared,
    waiter: CheckWaiter,
) -> Result<Box<Begun>, Problem> {
    let Prepared { check, facts, mut panel, notes, refused, is_foreign } =
        prepare(asked, &shared.facts, tenant, &shared.options, shared.judge.as_ref())?;
    let ground = Arc::new(Ground { check, facts, refused, cache: Arc::clone(&shared.cache), waiter });
    let round = panel.start(&ground.check, &ground.facts).map(|wanted| open(wanted, &ground));
    let planned_items = panel.planned_items();
    let planned_tokens = planned_items * mean_pair_tokens(&ground.check, &ground.facts);
    let planned_questions = panel.planned_questions();
    Ok(Box::new(Begun {
        ground,
        panel,
        round,
        notes,
        is_foreign,
        planned_items,
        planned_tokens,
        planned_questions,
    }))
}

/// Lets the detectors take their turn. Returns them with their next round, or without where they are done.
pub(crate) fn take_turn(mut panel: Panel, ground: &Ground, turn: Turn) -> (Panel, Option<Opened>) {
    let wanted = match turn {
        Turn::Resume(outcomes) => panel.resume(&outcomes),
        Turn::Hear(answers) => panel.hear(&answers),
        Turn::FailRest(outcomes, reason) => {
            panel.fail_rest(&outcomes, &reason);
            None
        }
        Turn::FailUnheard(answers, reason) => {
            panel.fail_unheard(&answers, &reason);
            None
        }
    };
    (panel, wanted.map(|wanted| open(wanted, ground)))
}

fn open(wanted: Wanted, ground: &Ground) -> Opened {
    match wanted {
        Wanted::Round(round) => Opened::Round(open_round(round, ground)),
        Wanted::Questions(questions) => Opened::Questions(questions),
    }
}

/// Finds out how every item of a round stands.
fn open_round(round: Round, ground: &Ground) -> OpenRound {
    let Round { work, keys, asked } = round;
    let known = ground.cache.known(&keys);
    let item = |((work, known), asked): ((&Work, Option<Score>), usize)| RoundItem {
        standing: match refusal(work, ground) {
            Some(reason) => Standing::Refused(reason),
            None => known.map_or(Standing::Open, Standing::Hit),
        },
        tokens: estimated_tokens(work, ground.facts.pair_overhead_tokens),
        bytes: text_bytes(work),
        asked,
    };
    let items = work.iter().zip(known).zip(asked).map(item).collect();
    OpenRound { work, keys, waiting: HashMap::new(), items }
}

/// Why a piece of work cannot be scored, where that is known beforehand.
fn refusal(work: &Work, ground: &Ground) -> Option<Reason> {
    match work {
        Work::Pair { premise, hypothesis, .. } => {
            // Against a sample the claim is the premise. As the premise of another claim it is a sentence of a source.
            let before_sample = || ground.refused.get(premise).filter(|_| is_of_sample(hypothesis, ground));
            ground.refused.get(hypothesis).or_else(before_sample).cloned()
        }
        // The first two read no two texts at once, and who asks for labels leaves such claims out.
        Work::Embed { .. } | Work::Similarity { .. } | Work::Tokens { .. } => None,
    }
}

fn is_of_sample(text: &str, ground: &Ground) -> bool {
    let windows = ground.check.samples.iter().flat_map(|sample| &sample.windows);
    windows.map(|window| &*window.text).any(|window| window == text)
}

pub(crate) fn standing(claimed: Claimed) -> Standing {
    match claimed {
        Claimed::Hit(score) => Standing::Hit(score),
        Claimed::Lead => Standing::Lead,
        Claimed::Wait => Standing::Wait,
    }
}

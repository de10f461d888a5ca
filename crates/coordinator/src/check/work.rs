//! What a check does on threads for computing.

use super::machine::{RoundItem, Standing};
use super::message::CheckWaiter;
use crate::cache::{Claimed, ScoreCache};
use crate::key::Key;
use crate::panel::{Panel, Round, estimated_tokens, text_bytes};
use groundline_types::{ModelFacts, Outcome, PreparedCheck, Reason, Score, Work};
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

/// What the detectors are to do.
#[derive(Debug)]
pub(crate) enum Turn {
    Start,
    Resume(Vec<Outcome<Score>>),
    FailRest(Vec<Outcome<Score>>, Reason),
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

/// Lets the detectors take their turn. Returns them with their next round, or without where they are done.
pub(crate) fn take_turn(mut panel: Panel, ground: &Ground, turn: Turn) -> (Panel, Option<OpenRound>) {
    let round = match turn {
        Turn::Start => panel.start(&ground.check, &ground.facts),
        Turn::Resume(outcomes) => panel.resume(&outcomes),
        Turn::FailRest(outcomes, reason) => {
            panel.fail_rest(&outcomes, &reason);
            None
        }
    };
    (panel, round.map(|round| open(round, ground)))
}

/// Finds out how every item of a round stands.
fn open(round: Round, ground: &Ground) -> OpenRound {
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
        Work::Pair { hypothesis, .. } => ground.refused.get(hypothesis).cloned(),
        Work::Embed { .. } => None,
    }
}

pub(crate) fn standing(claimed: Claimed) -> Standing {
    match claimed {
        Claimed::Hit(score) => Standing::Hit(score),
        Claimed::Lead => Standing::Lead,
        Claimed::Wait => Standing::Wait,
    }
}

//! What a score is remembered by.

use groundline_bus::SubjectToken;
use groundline_types::{ModelId, Work};

/// BLAKE3 over length-prefixed fields: model revision, tenant scope, kind, head and texts. Never a claim's text alone.
pub(crate) type Key = [u8; 32];

/// Makes keys of one model and one tenant.
#[derive(Debug, Clone)]
pub(crate) struct KeyMaker {
    /// The fields that all keys share, then those of the last key.
    buffer: Vec<u8>,
    shared_bytes: usize,
}

impl KeyMaker {
    /// Scores are not shared across tenants: the time of an answer would tell what others check.
    pub(crate) fn new(model: &ModelId, tenant: &SubjectToken) -> Self {
        let mut buffer = Vec::new();
        push_field(&mut buffer, model.revision.as_bytes());
        push_field(&mut buffer, tenant.as_str().as_bytes());
        Self { shared_bytes: buffer.len(), buffer }
    }

    pub(crate) fn key(&mut self, work: &Work) -> Key {
        self.buffer.truncate(self.shared_bytes);
        match work {
            Work::Pair { premise, hypothesis, head } => {
                push_field(&mut self.buffer, b"pair");
                push_field(&mut self.buffer, head.name().as_bytes());
                push_field(&mut self.buffer, premise.as_bytes());
                push_field(&mut self.buffer, hypothesis.as_bytes());
            }
            Work::Embed { text } => {
                push_field(&mut self.buffer, b"embed");
                push_field(&mut self.buffer, text.as_bytes());
            }
            Work::Similarity { candidate, reference } => {
                push_field(&mut self.buffer, b"similarity");
                push_field(&mut self.buffer, candidate.as_bytes());
                push_field(&mut self.buffer, reference.as_bytes());
            }
            Work::Tokens { context, text, head } => {
                push_field(&mut self.buffer, b"tokens");
                push_field(&mut self.buffer, head.name().as_bytes());
                push_field(&mut self.buffer, context.as_bytes());
                push_field(&mut self.buffer, text.as_bytes());
            }
        }
        *blake3::hash(&self.buffer).as_bytes()
    }
}

fn push_field(buffer: &mut Vec<u8>, field: &[u8]) {
    buffer.extend_from_slice(&(field.len() as u64).to_le_bytes());
    buffer.extend_from_slice(field);
}

#[cfg(test)]
mod tests {
    use super::*;
    use groundline_types::{Head, PRESETS};

    #[test]
    fn everything_that_can_change_a_score_changes_the_key() {
        let maker = |revision: &str, tenant: &str| {
            let model = ModelId { name: "m".to_owned(), revision: revision.to_owned() };
            KeyMaker::new(&model, &SubjectToken::from_name(tenant))
        };
        let pair = |premise: &str, hypothesis: &str, head| Work::Pair {
            premise: premise.into(),
            hypothesis: hypothesis.into(),
            head,
        };
        let mut one = maker("r", "t");
        let keys = [
            one.key(&pair("ab", "c", Head::Nli)),
            one.key(&pair("a", "bc", Head::Nli)),
            one.key(&pair("c", "ab", Head::Nli)),
            one.key(&pair("ab", "c", Head::Support)),
            one.key(&pair("ab", "c", Head::Learned(PRESETS[0].preset))),
            one.key(&pair("ab", "c", Head::Learned(PRESETS[1].preset))),
            one.key(&Work::Embed { text: "abc".into() }),
            one.key(&Work::Similarity { candidate: "ab".into(), reference: "c".into() }),
            one.key(&Work::Similarity { candidate: "c".into(), reference: "ab".into() }),
            one.key(&Work::Tokens { context: "ab".into(), text: "c".into(), head: Head::Nli }),
            one.key(&Work::Tokens { context: "c".into(), text: "ab".into(), head: Head::Nli }),
            maker("s", "t").key(&pair("ab", "c", Head::Nli)),
            maker("r", "u").key(&pair("ab", "c", Head::Nli)),
        ];
        let distinct = keys.iter().collect::<std::collections::BTreeSet<_>>();
        assert_eq!(distinct.len(), keys.len());
        assert_eq!(keys[0], one.key(&pair("ab", "c", Head::Nli)), "the same work has the same key");
    }
}

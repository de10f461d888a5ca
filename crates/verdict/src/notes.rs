//! Things a reader should know.

use groundline_types::{Code, Note, Reason, Report};
use std::collections::BTreeMap;

/// Notes of methods, then one for each different reason for which sentences were not scored, naming the sentences. The same note
/// of several methods comes once.
pub(crate) fn notes(reports: &[Report], unchecked: &[(usize, Reason)], checkable: usize) -> Vec<Note> {
    let mut notes: Vec<Note> = Vec::new();
    if checkable == 0 {
        let message = "the response holds no sentence with a claim that could be checked";
        notes.push(Note { code: Code::NO_CHECKABLE_CLAIM, message: message.to_owned(), location: None });
    }
    for report in reports {
        for (code, message) in &report.notes {
            if !notes.iter().any(|note| note.code == *code && note.message == *message) {
                let location = Some(format!("method {}", report.method));
                notes.push(Note { code: *code, message: message.clone(), location });
            }
        }
    }
    let mut by_reason: BTreeMap<(Code, &str), Vec<usize>> = BTreeMap::new();
    for (index, reason) in unchecked {
        by_reason.entry((reason.code, &reason.message)).or_default().push(index + 1);
    }
    notes.extend(by_reason.into_iter().map(|((code, message), sentences)| Note {
        code,
        message: message.to_owned(),
        location: Some(sentence_list(&sentences)),
    }));
    notes
}

/// That the judge says something else of these sentences than their verdict.
pub(crate) fn conflict_note(sentences: &[usize]) -> Option<Note> {
    let numbers = sentences.iter().map(|index| index + 1).collect::<Vec<_>>();
    let message = "the judge and the method that decides disagree strongly; the decision stands, and a person should look";
    (!numbers.is_empty()).then(|| Note {
        code: Code::JUDGE_CONFLICT,
        message: message.to_owned(),
        location: Some(sentence_list(&numbers)),
    })
}

/// `sentence 4`, or `sentences 1, 4-6` for rising numbers.
fn sentence_list(numbers: &[usize]) -> String {
    let mut ranges: Vec<(usize, usize)> = Vec::new();
    for number in numbers {
        match ranges.last_mut() {
            Some((_, last)) if *last + 1 == *number => *last = *number,
            _ => ranges.push((*number, *number)),
        }
    }
    let show = |(first, last): &(usize, usize)| {
        if first == last { first.to_string() } else { format!("{first}-{last}") }
    };
    let list = ranges.iter().map(show).collect::<Vec<_>>().join(", ");
    if numbers.len() == 1 { format!("sentence {list}") } else { format!("sentences {list}") }
}

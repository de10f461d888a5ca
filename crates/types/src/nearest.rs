//! The nearest known name to a mistyped one, for "did you mean".

/// Edits (insert, delete, replace a character) up to which a name counts as a typing mistake.
const MAX_EDITS: usize = 3;

/// The name of `known` that `name` was probably meant to be: the fewest edits away, at most 3 and less than half of its
/// length. `None` where nothing is that near.
pub fn nearest_name<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let scored = known.into_iter().map(|candidate| (edit_distance(candidate, name), candidate));
    let (edits, nearest) = scored.min_by_key(|(edits, _)| *edits)?;
    (edits <= MAX_EDITS && edits * 2 <= nearest.chars().count()).then_some(nearest)
}

/// Levenshtein distance in characters.
fn edit_distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, ca) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, cb) in b.iter().enumerate() {
            let substitute = diagonal + usize::from(ca != *cb);
            diagonal = row[j + 1];
            row[j + 1] = substitute.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_typing_mistake_finds_its_name_and_a_stranger_finds_none() {
        let known = ["source", "sources", "response", "id"];
        assert_eq!(nearest_name("sorces", known), Some("sources"));
        assert_eq!(nearest_name("reponse", known), Some("response"));
        assert_eq!(nearest_name("colour", known), None);
        assert_eq!(nearest_name("x", known), None);
        assert_eq!(nearest_name("anything", []), None);
    }
}

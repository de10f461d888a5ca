//! Word lists that are asked for every word of a text.

/// Whether a list in alphabetical order holds a word. A test beside each list checks the order.
pub(crate) fn in_sorted(list: &[&str], word: &str) -> bool {
    list.binary_search(&word).is_ok()
}

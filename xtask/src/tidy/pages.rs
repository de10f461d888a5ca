//! Error codes and their pages.

use super::Finding;
use super::source::SourceFile;
use std::collections::BTreeMap;

const CODES: &str = "crates/types/src/code.rs";
const PAGES: &str = "docs/errors/";
const INDEX: &str = "docs/errors/README.md";

/// Reports codes without a page, pages without a code, and pages that the index or their own title does not name.
pub(super) fn check(files: &[SourceFile]) -> Vec<Finding> {
    let Some(codes) = files.iter().find(|file| file.path == CODES) else { return Vec::new() };
    let codes = codes_of(codes);
    let index = files.iter().find(|file| file.path == INDEX).map_or("", |file| file.text.as_str());
    let pages = files.iter().filter(|file| file.path.starts_with(PAGES) && file.path != INDEX);
    let pages = pages.map(|page| (page.path[PAGES.len()..].trim_end_matches(".md"), page));
    let pages = pages.collect::<BTreeMap<_, _>>();
    let mut findings = Vec::new();
    for (code, line) in &codes {
        let Some(page) = pages.get(code) else {
            let message = format!("write {PAGES}{code}.md");
            findings.push(Finding::error(CODES, *line, "error-page", message));
            continue;
        };
        if !page.text.starts_with(&format!("# {code}: ")) {
            let message = format!("start it with `# {code}: ` and what happened");
            findings.push(Finding::error(&page.path, 1, "error-page", message));
        }
        if !index.contains(&format!("({code}.md)")) {
            findings.push(Finding::error(INDEX, 1, "error-page", format!("link {code}.md")));
        }
    }
    for (name, page) in pages {
        if !codes.contains_key(name) {
            let message = format!("no code is called {name}; delete the page");
            findings.push(Finding::error(&page.path, 1, "error-page", message));
        }
    }
    findings
}

/// Codes and their lines.
fn codes_of(file: &SourceFile) -> BTreeMap<&str, usize> {
    let definitions =
        file.code.match_indices(" = \"").filter_map(|(at, _)| file.literal(at, file.code.len()));
    definitions
        .filter(|(_, text)| text.starts_with("GL"))
        .map(|(at, text)| (text, file.line_of(at)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::tests::{brief, file};
    use super::*;

    #[test]
    fn every_code_has_a_page_and_every_page_a_code() {
        let codes = file(CODES, "codes! {\n    /// X.\n    A = \"GL1001\";\n    B = \"GL1002\";\n}\n");
        let index = file(INDEX, "[GL1001](GL1001.md)\n");
        let page = file("docs/errors/GL1001.md", "# GL1001: the response is empty\n");
        let stray = file("docs/errors/GL9999.md", "# GL9999: x\n");
        assert_eq!(
            brief(&check(&[codes, index, page, stray])),
            ["crates/types/src/code.rs:4: error-page", "docs/errors/GL9999.md:1: error-page"]
        );
    }

    #[test]
    fn a_page_has_its_code_as_title_and_stands_in_the_index() {
        let codes = || file(CODES, "A = \"GL1001\";\n");
        let good = || file("docs/errors/GL1001.md", "# GL1001: x\n");
        assert!(check(&[codes(), file(INDEX, "(GL1001.md)"), good()]).is_empty());
        assert_eq!(
            brief(&check(&[codes(), file(INDEX, ""), good()])),
            ["docs/errors/README.md:1: error-page"]
        );
        let untitled = file("docs/errors/GL1001.md", "Empty\n");
        assert_eq!(
            brief(&check(&[codes(), file(INDEX, "(GL1001.md)"), untitled])),
            ["docs/errors/GL1001.md:1: error-page"]
        );
    }
}

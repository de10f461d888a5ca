//! Dependencies between workspace crates, compared with the table in ARCHITECTURE.md.

use super::Finding;
use super::source::SourceFile;
use anyhow::Context as _;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

const TABLE: &str = "ARCHITECTURE.md";
/// The crate of test tools; product crates may use it in tests only.
const TESTKIT: &str = "testkit";
/// Packages that are tests themselves.
const TEST_PACKAGES: [&str; 2] = ["system-tests", "benches"];

/// Edges of a package: its name to the line where it stands and what it depends on.
type Edges = BTreeMap<String, (usize, BTreeSet<String>)>;

/// Compares the manifests with the block marked `edges` in ARCHITECTURE.md.
pub(super) fn check(metadata: &Value, files: &[SourceFile]) -> anyhow::Result<Vec<Finding>> {
    let in_code = edges_in_code(metadata)?;
    let table = files.iter().find(|file| file.path == TABLE).map_or("", |file| file.text.as_str());
    Ok(compare(&in_code, &edges_in_table(table)))
}

fn compare(in_code: &Edges, in_table: &Edges) -> Vec<Finding> {
    let mut findings = Vec::new();
    let none = (1, BTreeSet::new());
    for name in in_code.keys().chain(in_table.keys()).collect::<BTreeSet<_>>() {
        let (_, code) = in_code.get(name).unwrap_or(&none);
        let (line, table) = in_table.get(name).unwrap_or(&none);
        if !in_table.contains_key(name) {
            let message = format!("add a line `{name} ->` with its dependencies to the edges block");
            findings.push(Finding::error(TABLE, 1, "edge", message));
            continue;
        }
        if !in_code.contains_key(name) {
            let message = format!("no package is called {name}; remove the line");
            findings.push(Finding::error(TABLE, *line, "edge", message));
            continue;
        }
        for extra in code.difference(table) {
            let message =
                format!("{name} depends on {extra}, which the table does not allow; drop it or add it here");
            findings.push(Finding::error(TABLE, *line, "edge", message));
        }
        for missing in table.difference(code) {
            let message = format!("{name} does not depend on {missing}; remove it from the table");
            findings.push(Finding::error(TABLE, *line, "edge", message));
        }
        if code.contains(TESTKIT) && !TEST_PACKAGES.contains(&name.as_str()) {
            let message = format!("{name} depends on {TESTKIT}; make it a dev-dependency");
            findings.push(Finding::error(TABLE, *line, "edge", message));
        }
    }
    findings
}

/// Normal and build dependencies on other packages of the workspace. Dev-dependencies are free: cargo allows cycles there.
fn edges_in_code(metadata: &Value) -> anyhow::Result<Edges> {
    let packages = metadata["packages"].as_array().context("cargo metadata has no packages")?;
    let mut edges = Edges::new();
    for package in packages {
        let name = package["name"].as_str().context("a package has no name")?;
        let dependencies = package["dependencies"].as_array().map_or(&[][..], Vec::as_slice);
        let own = dependencies
            .iter()
            .filter(|dependency| dependency["path"].is_string() && dependency["kind"] != "dev")
            .filter_map(|dependency| dependency["name"].as_str())
            .map(short)
            .collect();
        edges.insert(short(name), (1, own));
    }
    Ok(edges)
}

/// Package names without the common prefix, as the table has them.
fn short(name: &str) -> String {
    name.strip_prefix("groundline-").unwrap_or(name).to_owned()
}

fn edges_in_table(text: &str) -> Edges {
    let lines = text.lines().enumerate().skip_while(|(_, line)| line.trim() != "```edges").skip(1);
    let block = lines.take_while(|(_, line)| !line.starts_with("```"));
    let parse = |(index, line): (usize, &str)| {
        let (name, dependencies) = line.split_once("->")?;
        let names = dependencies.split(',').map(str::trim).filter(|name| !name.is_empty());
        Some((name.trim().to_owned(), (index + 1, names.map(str::to_owned).collect())))
    };
    block.filter_map(parse).collect()
}

#[cfg(test)]
mod tests {
    use super::super::tests::file;
    use super::*;

    fn findings(table: &str) -> Vec<String> {
        let metadata = serde_json::json!({"packages": [
            {"name": "groundline-types", "dependencies": [{"name": "serde", "kind": null}]},
            {"name": "groundline-claims", "dependencies": [
                {"name": "groundline-types", "kind": null, "path": "/x"},
                {"name": "groundline-testkit", "kind": "dev", "path": "/x"},
            ]},
        ]});
        let table = format!("# A\n```edges\n{table}\n```\n");
        let found = check(&metadata, &[file(TABLE, &table)]).unwrap();
        found.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_table_that_says_what_the_manifests_say_is_fine() {
        assert!(findings("types ->\nclaims -> types").is_empty());
    }

    #[test]
    fn an_edge_on_one_side_only_is_named_with_both_crates() {
        let extra = findings("types ->\nclaims ->");
        assert!(extra[0].starts_with("ARCHITECTURE.md:4: edge: claims depends on types"), "{extra:?}");
        let missing = findings("types -> claims\nclaims -> types");
        assert!(missing[0].starts_with("ARCHITECTURE.md:3: edge: types does not depend on claims"));
        assert!(findings("claims -> types")[0].contains("add a line `types ->`"));
        assert!(findings("types ->\nclaims -> types\nold ->")[0].contains("no package is called old"));
    }

    #[test]
    fn a_product_crate_may_use_the_testkit_in_tests_only() {
        let normal = serde_json::json!({"packages": [
            {"name": "groundline-testkit", "dependencies": []},
            {"name": "groundline-claims", "dependencies": [{"name": "groundline-testkit", "path": "/x"}]},
        ]});
        let table = file(TABLE, "```edges\ntestkit ->\nclaims -> testkit\n```\n");
        let found = check(&normal, &[table]).unwrap();
        assert_eq!(found.len(), 1);
        assert!(found[0].message.contains("dev-dependency"));
    }
}

//! Rules about `Cargo.toml` files, read line by line.

use super::{Fault, Page};

/// Rules of the root manifest.
pub(super) fn check_root(page: &Page) -> Vec<Fault> {
    let mut faults = forks(page);
    for (index, line) in page.text.lines().enumerate() {
        if line.starts_with("[patch") || line.starts_with("[replace") {
            faults.push(Fault::new(&page.path, index + 1, "dependencies are used as published"));
        }
    }
    faults
}

/// Rules of a crate's manifest.
pub(super) fn check_member(page: &Page) -> Vec<Fault> {
    let mut faults = forks(page);
    let mut table = "";
    let mut lints = false;
    for (index, line) in page.text.lines().enumerate() {
        let line = line.trim();
        if let Some(name) = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            table = name;
            if in_dependencies(name) {
                faults.push(Fault::new(&page.path, index + 1, "write the dependency in one line"));
            }
            continue;
        }
        lints |= table == "lints" && line == "workspace = true" || line == "lints.workspace = true";
        if !is_dependencies(table) || line.starts_with('#') {
            continue;
        }
        let Some((name, value)) = line.split_once('=') else { continue };
        let shared = name.trim().ends_with(".workspace") || value.contains("workspace = true");
        // Tests may lean on a crate that leans on this one, if no version is asked for.
        let local = table.ends_with("dev-dependencies")
            && value.contains("path = \"")
            && !value.contains("version");
        if !shared && !local {
            let text = format!("`{}`: versions stand in the root manifest", name.trim());
            faults.push(Fault::new(&page.path, index + 1, text));
        }
    }
    if !lints {
        faults.push(Fault::new(&page.path, 0, "add `[lints] workspace = true`"));
    }
    faults
}

fn forks(page: &Page) -> Vec<Fault> {
    let git = page.text.lines().enumerate().filter(|(_, line)| {
        let line = line.trim();
        !line.starts_with('#')
            && (line.starts_with("git =") || line.contains("{ git =") || line.contains(", git ="))
    });
    git.map(|(index, _)| Fault::new(&page.path, index + 1, "dependencies come from crates.io"))
        .collect()
}

/// Whether a table lists dependencies, such as `target.'cfg(unix)'.dev-dependencies`.
fn is_dependencies(table: &str) -> bool {
    table == "dependencies"
        || table == "dev-dependencies"
        || table == "build-dependencies"
        || table.starts_with("target.") && table.ends_with("dependencies")
}

/// Whether a table is one dependency, such as `dependencies.serde`.
fn in_dependencies(table: &str) -> bool {
    table.rsplit_once('.').is_some_and(|(head, _)| is_dependencies(head))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn member(text: &str) -> Vec<String> {
        let page = Page { path: "a/Cargo.toml".to_owned(), text: text.to_owned() };
        check_member(&page).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_manifest_of_the_house_passes() {
        let text = "[package]\nname = \"a\"\nversion.workspace = true\n[lints]\nworkspace = true\n\
            [dependencies]\nserde.workspace = true\ntokio = { workspace = true, features = [\n  \
            \"rt\",\n] }\n[dev-dependencies]\nakgentic-testkit = { path = \"../akgentic-testkit\" }\n";
        assert!(member(text).is_empty(), "{:?}", member(text));
    }

    #[test]
    fn lints_are_shared() {
        assert_eq!(member("[package]\n"), ["a/Cargo.toml: add `[lints] workspace = true`"]);
    }

    #[test]
    fn versions_are_shared() {
        let head = "[lints]\nworkspace = true\n";
        for bad in [
            "[dependencies]\nserde = \"1\"\n",
            "[target.'cfg(unix)'.dependencies]\nserde = { version = \"1\" }\n",
            "[dependencies]\nakgentic-core = { path = \"../akgentic-core\" }\n",
            "[dependencies.serde]\nworkspace = true\n",
            "[dependencies]\nserde = { git = \"https://example.org/serde\", workspace = true }\n",
        ] {
            assert_eq!(member(&format!("{head}{bad}")).len(), 1, "{bad}");
        }
    }

    #[test]
    fn the_root_patches_nothing() {
        let page = Page { path: "Cargo.toml".to_owned(), text: "[patch.crates-io]\n".to_owned() };
        assert_eq!(check_root(&page).len(), 1);
    }
}

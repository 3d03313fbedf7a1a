//! The edges that ARCHITECTURE.md draws are the only ones there are.

use std::fs;
use std::path::{Path, PathBuf};

/// Which modules of this crate a folder or file may name, besides its own.
const MAY_NAME: &[(&str, &[&str])] = &[
    ("src/core", &[]),
    ("src/clock.rs", &["core"]),
    ("src/process.rs", &[]),
    ("src/store/mod.rs", &["core"]),
    ("src/store/shm", &["core", "clock", "process", "store"]),
    ("src/store/redis", &["core", "clock", "process", "store"]),
    ("src/limiter.rs", &["core", "clock", "store"]),
    ("src/metrics.rs", &["core", "store", "tally"]),
    ("src/tally.rs", &["core", "process", "store", "limiter"]),
];

fn sources(path: &Path) -> Vec<PathBuf> {
    if path.is_file() {
        return vec![path.to_owned()];
    }
    let entries = fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path());
    entries
        .flat_map(|entry| sources(&entry))
        .filter(|file| file.extension().is_some_and(|e| e == "rs"))
        .collect()
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The first two segments of every path that begins with `crate::`.
fn crate_paths(source: &str) -> Vec<(String, String)> {
    let names = |rest: &str| -> Vec<String> {
        rest.split(|c: char| !(c.is_alphanumeric() || c == '_' || c == ':'))
            .next()
            .unwrap_or("")
            .split("::")
            .map(str::to_owned)
            .collect()
    };
    source
        .split("crate::")
        .skip(1)
        .map(|rest| {
            let path = names(rest);
            (path[0].clone(), path.get(1).cloned().unwrap_or_default())
        })
        .collect()
}

#[test]
fn modules_name_only_what_stands_below_them() {
    for (place, allowed) in MAY_NAME {
        let files = sources(&root().join(place));
        assert!(!files.is_empty(), "{place} has no source");
        for file in files {
            for (module, _) in crate_paths(&fs::read_to_string(&file).unwrap()) {
                let own = place.ends_with(&module) || place.ends_with(&format!("{module}.rs"));
                assert!(
                    own || allowed.contains(&module.as_str()),
                    "{} names crate::{module}",
                    file.display()
                );
            }
        }
    }
}

#[test]
fn stores_do_not_know_each_other() {
    for (place, sibling) in [("src/store/shm", "redis"), ("src/store/redis", "shm")] {
        for file in sources(&root().join(place)) {
            let source = fs::read_to_string(&file).unwrap();
            let named = crate_paths(&source).iter().any(|(a, b)| a == "store" && b == sibling);
            assert!(!named, "{} names {sibling}", file.display());
        }
    }
}

#[test]
fn only_the_binding_names_php() {
    for file in sources(&root().join("src")) {
        if !file.starts_with(root().join("src/php")) {
            let source = fs::read_to_string(&file).unwrap();
            assert!(!source.contains("ext_php_rs"), "{} names ext_php_rs", file.display());
        }
    }
}

#[test]
fn unsafe_code_stands_in_two_places_and_each_block_says_why() {
    for file in sources(&root().join("src")) {
        let source = fs::read_to_string(&file).unwrap();
        let blocks = source.matches("unsafe {").count();
        let place = file.strip_prefix(root()).unwrap();
        if !place.starts_with("src/store/shm") && !place.starts_with("src/php") {
            assert_eq!(blocks, 0, "{} has unsafe code", place.display());
        }
        let reasons = source.matches("SAFETY:").count();
        assert!(
            reasons >= blocks,
            "{}: {blocks} unsafe blocks, {reasons} reasons",
            place.display()
        );
    }
}

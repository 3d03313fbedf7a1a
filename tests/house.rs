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

/// The module that a file is, as segments from the crate's root.
fn module(file: &Path) -> Vec<String> {
    let place = file.strip_prefix(root().join("src")).unwrap().with_extension("");
    let segments = place.iter().map(|segment| segment.to_str().unwrap().to_owned());
    segments.filter(|segment| segment != "mod" && segment != "lib").collect()
}

/// What a `use` tree stands for: `a::{b, c::{d, e}}` for `a::b`, `a::c::d` and `a::c::e`.
fn expand(tree: &str) -> Vec<String> {
    let Some((before, rest)) = tree.split_once('{') else { return vec![tree.trim().to_owned()] };
    let inner = rest.rsplit_once('}').map_or(rest, |(inner, _)| inner);
    let mut depth = 0;
    let branches = inner.split(|c| {
        depth += i32::from(c == '{') - i32::from(c == '}');
        c == ',' && depth == 0
    });
    branches.flat_map(expand).map(|branch| format!("{}{branch}", before.trim_start())).collect()
}

/// The paths into this crate that a module's source names, from the crate's root: in `use` trees and
/// in the midst of code.
fn paths(source: &str, module: &[String]) -> Vec<Vec<String>> {
    let is_code = |line: &&str| !line.trim_start().starts_with("//");
    let code = source.lines().filter(is_code).collect::<Vec<_>>().join("\n");
    let trees = code.split("use ").skip(1).filter_map(|rest| rest.split(';').next());
    let words = code.split(|c: char| !(c.is_alphanumeric() || c == '_' || c == ':'));
    let named = trees.flat_map(expand).chain(words.map(str::to_owned));
    let inside = named.filter(|path| path.starts_with("crate::") || path.starts_with("super::"));
    let resolve = |path: String| {
        let mut at = module.to_vec();
        for segment in path.split("::").filter_map(|name| name.split_whitespace().next()) {
            match segment {
                "crate" => at.clear(),
                "super" => drop(at.pop()),
                "self" | "*" => {}
                name => at.push(name.to_owned()),
            }
        }
        at
    };
    inside.map(resolve).collect()
}

#[test]
fn paths_are_read_however_they_are_written() {
    let read = |source: &str| -> Vec<String> {
        let own = ["store", "shm", "table"].map(str::to_owned);
        let mut paths: Vec<String> = paths(source, &own).iter().map(|p| p.join("::")).collect();
        paths.sort();
        paths.dedup();
        paths.retain(|path| !path.is_empty());
        paths
    };
    for (source, expected) in [
        ("use crate::{limiter as _, store::redis as _};", &["limiter", "store::redis"][..]),
        ("use crate::{\n    a::{b, c::{d, e}},\n    f,\n};", &["a::b", "a::c::d", "a::c::e", "f"]),
        ("pub(super) use super::super::redis;", &["store::redis"]),
        ("use super::super::{redis::Dsn, *};", &["store", "store::redis::Dsn"]),
        ("use {crate::clock, std::fs};", &["clock"]),
        (
            "fn f() { super::super::super::limiter::g(crate::clock::h()) }",
            &["clock::h", "limiter::g"],
        ),
        ("/// [`crate::limiter`]\nuse std::fmt;", &[]),
    ] {
        let found = read(source);
        assert!(expected.iter().all(|path| found.iter().any(|f| f == path)), "{source}: {found:?}");
        let begins = |found: &String| expected.iter().any(|path| path.starts_with(found.as_str()));
        assert!(found.iter().all(begins), "{source}: {found:?}");
    }
}

#[test]
fn modules_name_only_what_stands_below_them() {
    for (place, allowed) in MAY_NAME {
        let files = sources(&root().join(place));
        assert!(!files.is_empty(), "{place} has no source");
        for file in files {
            let own = module(&file);
            for path in paths(&fs::read_to_string(&file).unwrap(), &own) {
                let Some(first) = path.first() else { continue }; // the root itself, of `crate::{`
                assert!(
                    *first == own[0] || allowed.contains(&first.as_str()),
                    "{} names {}",
                    file.display(),
                    path.join("::")
                );
            }
        }
    }
}

#[test]
fn stores_do_not_know_each_other() {
    for (place, sibling) in [("src/store/shm", "redis"), ("src/store/redis", "shm")] {
        for file in sources(&root().join(place)) {
            let paths = paths(&fs::read_to_string(&file).unwrap(), &module(&file));
            let named = paths.iter().any(|path| path.iter().any(|segment| segment == sibling));
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

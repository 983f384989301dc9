//! The arrows inside of a layer: its modules form no circle, so each can be read after those that it uses.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use super::layers::{inside, module_of, names, root, rust_files};

/// The layers whose modules are in an order. The store and the commands are not yet.
const ORDERED: &[&str] = &[
    "agents", "model", "ops", "os", "render", "screen", "secrets", "serve", "tokens", "worktree",
];

type Arrows = BTreeMap<String, BTreeSet<String>>;

/// Adds what one file of a layer uses of its siblings.
fn add(arrows: &mut Arrows, file: &str, source: &str) {
    let module = module_of(file);
    let [layer, own, ..] = module.as_slice() else {
        return;
    };
    let is_test_file = file.ends_with("/tests.rs") || file.contains("/tests/");
    let (found, _) = names(source, &module, is_test_file);
    for named in found.iter().filter(|named| !named.test) {
        let Some(path) = inside(named) else { continue };
        if let [first, other, ..] = path.as_slice()
            && first == layer
            && other != own
        {
            arrows.entry(own.clone()).or_default().insert(other.clone());
        }
    }
}

/// A circle of modules, if there is one, as the modules on it in order.
fn circle(arrows: &Arrows) -> Option<Vec<String>> {
    fn visit(at: &str, arrows: &Arrows, done: &mut BTreeSet<String>, path: &mut Vec<String>) -> Option<Vec<String>> {
        if let Some(start) = path.iter().position(|module| module == at) {
            return Some(path[start..].to_vec());
        }
        if !done.insert(at.to_owned()) {
            return None;
        }
        path.push(at.to_owned());
        let found = arrows
            .get(at)
            .into_iter()
            .flatten()
            .find_map(|next| visit(next, arrows, done, path));
        path.pop();
        found
    }
    let mut done = BTreeSet::new();
    arrows
        .keys()
        .find_map(|start| visit(start, arrows, &mut done, &mut Vec::new()))
}

#[test]
fn modules_of_a_layer_form_no_circle() {
    let src = root().join("src");
    let files = rust_files(&src);
    for layer in ORDERED {
        let mut arrows = Arrows::new();
        for file in files.iter().filter(|file| file.split('/').next() == Some(layer)) {
            // Items of the layer's own file, such as its error, are below all modules.
            if module_of(file).len() > 1 {
                add(&mut arrows, file, &fs::read_to_string(src.join(file)).unwrap());
            }
        }
        arrows.values_mut().for_each(|uses| {
            uses.retain(|module| {
                files.contains(&format!("{layer}/{module}.rs")) || files.contains(&format!("{layer}/{module}/mod.rs"))
            });
        });
        assert!(*layer != "ops" || arrows.len() > 50, "{}", arrows.len());
        assert_eq!(circle(&arrows), None, "in {layer}");
    }
}

#[test]
fn a_planted_circle_is_found() {
    let mut arrows = Arrows::new();
    add(&mut arrows, "ops/a.rs", "use super::{Error, b::{self, B}};\nfn f() {}");
    add(&mut arrows, "ops/b/inner.rs", "fn f() { crate::ops::c::g(); }");
    assert_eq!(circle(&arrows), None);
    add(
        &mut arrows,
        "ops/c.rs",
        "#[cfg(test)]\nmod tests { use super::super::a; }",
    );
    assert_eq!(circle(&arrows), None);
    add(&mut arrows, "ops/c.rs", "fn g() { super::a::f() }");
    assert_eq!(
        circle(&arrows),
        Some(vec!["a".to_owned(), "b".to_owned(), "c".to_owned()])
    );
}

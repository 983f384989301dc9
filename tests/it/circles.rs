//! The arrows inside of a layer: its modules form no circle, so each can be read after those that it uses.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use super::layers::{Named, inside, module_of, names, root, rust_files};

type Arrows = BTreeMap<String, BTreeSet<String>>;

/// Names that the layer's own file takes from its modules, with the module. Not those of the error, which names values
/// of many modules and is named by all.
fn taken(layer: &str, source: &str) -> BTreeMap<String, String> {
    let (found, _) = names(source, &[layer.to_owned()], false);
    let imports = found.iter().filter(|named| named.import);
    let split = |named: &Named| {
        let mut path = inside(named).unwrap_or_else(|| [vec![layer.to_owned()], named.segments.clone()].concat());
        let name = path.pop()?;
        match path.as_slice() {
            [first, module, ..] if first == layer && module != "error" => {
                // Another path than that of a module is the standard library's or a crate's.
                source
                    .contains(&format!("mod {module};"))
                    .then(|| (name, module.clone()))
            }
            _ => None,
        }
    };
    imports.filter_map(split).collect()
}

/// Adds what one file of a layer uses of its siblings.
fn add(arrows: &mut Arrows, file: &str, source: &str, taken: &BTreeMap<String, String>) {
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
        {
            let other = taken.get(other).unwrap_or(other);
            if other != own {
                arrows.entry(own.clone()).or_default().insert(other.clone());
            }
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
    let layers: BTreeSet<&str> = files.iter().filter_map(|file| Some(file.split_once('/')?.0)).collect();
    assert!(layers.len() > 12, "{layers:?}");
    for layer in layers {
        let own = fs::read_to_string(src.join(layer).join("mod.rs"));
        let own = own
            .or_else(|_| fs::read_to_string(src.join(format!("{layer}.rs"))))
            .unwrap();
        // The values of `formats` name each other, a session the system that it is of, and they are in the layer's file.
        let taken = if layer == "formats" {
            BTreeMap::new()
        } else {
            taken(layer, &own)
        };
        let mut arrows = Arrows::new();
        for file in files.iter().filter(|file| file.split('/').next() == Some(layer)) {
            // Items of the layer's own file, such as its error, are below all modules.
            if module_of(file).len() > 1 {
                add(&mut arrows, file, &fs::read_to_string(src.join(file)).unwrap(), &taken);
            }
        }
        arrows.values_mut().for_each(|uses| {
            uses.retain(|module| {
                files.contains(&format!("{layer}/{module}.rs")) || files.contains(&format!("{layer}/{module}/mod.rs"))
            });
        });
        assert!(layer != "ops" || arrows.len() > 50, "{}", arrows.len());
        assert_eq!(circle(&arrows), None, "in {layer}");
    }
}

#[test]
fn a_planted_circle_is_found() {
    let mut arrows = Arrows::new();
    let taken = taken(
        "ops",
        "mod c;\npub use c::{C, x::Y};\npub(crate) use self::error::Error;\nuse std::fs;",
    );
    let modules: Vec<_> = taken
        .iter()
        .map(|(name, module)| (name.as_str(), module.as_str()))
        .collect();
    assert_eq!(modules, [("C", "c"), ("Y", "c")]);
    let add = |arrows: &mut Arrows, file: &str, source: &str| add(arrows, file, source, &taken);
    add(&mut arrows, "ops/a.rs", "use super::{Error, b::{self, B}};\nfn f() {}");
    add(&mut arrows, "ops/b/inner.rs", "use crate::ops::C;\nfn f() {}");
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

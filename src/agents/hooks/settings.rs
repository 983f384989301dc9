//! Edits of an agent's JSON settings: adds our hook groups and removes exactly them, byte for byte.
//!
//! The file is the user's. It is parsed with the rules of the agent that reads it and refused where that agent could not
//! read it; then text is spliced in, so that comments, order, unknown members, indentation and line ends stay as they
//! are. No state is kept about the file before the edit. The text itself records what has to be undone: the first
//! member that is added to a container of the user's begins right after its bracket, and a container that an edit
//! creates has white space there. Removal therefore knows which empty containers were the user's.
//!
//! Our groups go last: Codex identifies a trusted hook by its position, and a group in front of it would void the trust.

mod layout;

use jsonc_parser::{
    CollectOptions, ParseOptions,
    ast::{self, Value as Node},
    common::Ranged as _,
    parse_to_ast,
};
use serde_json::Value;

use self::layout::{Container, Style, inserted, splice, without_child};

/// The member of the settings that holds the groups of each event.
const HOOKS: &str = "hooks";

/// Extensions of JSON that an agent's own parser accepts. None accepts a trailing comma without harm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JsonRules {
    /// Comments.
    pub comments: bool,
    /// A byte order mark at the start of the file.
    pub byte_order_mark: bool,
    /// The member `version` that the agent expects next to the hooks. An edit that creates the hooks adds it behind them
    /// where it is missing.
    pub version: Option<u64>,
}

/// The member of the settings with their version.
const VERSION: &str = "version";

/// A group of hooks to add to the list of an event.
#[derive(Clone, Debug)]
pub struct HookGroup {
    /// The event's name in the settings.
    pub event: &'static str,
    /// The group.
    pub value: Value,
}

/// The reason why settings are left alone.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SettingsError {
    /// The agent itself could not read the file.
    #[error("{0}")]
    Unreadable(String),
    /// A member has another type than the agent expects.
    #[error("'{member}' is not {expected}")]
    Shape {
        /// The member's path, such as `hooks.Stop`.
        member: String,
        /// The expected type, with its article.
        expected: &'static str,
    },
    /// A member occurs twice, so it is not clear which one the agent reads.
    #[error("'{0}' occurs twice")]
    Duplicate(String),
}

/// The settings with each group in place: added last to its event, or updated where one of ours is there already.
/// `text` is the file, or `None` where there is none. Equal text means that nothing has to be done.
pub fn with_groups(
    text: Option<&str>,
    rules: JsonRules,
    groups: &[HookGroup],
    is_ours: &dyn Fn(&Value) -> bool,
) -> Result<String, SettingsError> {
    let mut text = match text {
        None => return Ok(fresh(groups, rules)),
        Some(text) => text.to_owned(),
    };
    let has_hooks = has_member(&text, rules, HOOKS)?;
    for group in groups {
        text = with_group(&text, rules, group, is_ours)?;
    }
    match rules.version {
        Some(version) if !has_hooks && !groups.is_empty() && !has_member(&text, rules, VERSION)? => {
            with_version(&text, rules, version)
        }
        _ => Ok(text),
    }
}

fn has_member(text: &str, rules: JsonRules, name: &str) -> Result<bool, SettingsError> {
    let (_, body) = split_mark(text, rules)?;
    Ok(member(&parse(body, rules)?, name)?.is_some())
}

fn with_version(text: &str, rules: JsonRules, version: u64) -> Result<String, SettingsError> {
    let (mark, body) = split_mark(text, rules)?;
    let root = parse(body, rules)?;
    let style = Style::of(body, &root);
    let edited = inserted(
        body,
        &style,
        &Container::object(&root),
        1,
        Some(VERSION),
        &version.into(),
    );
    Ok(format!("{mark}{edited}"))
}

/// The settings without our groups, and without the containers that only they needed. `None` means that an edit created
/// the file and nothing else is in it.
pub fn without_groups(
    text: &str,
    rules: JsonRules,
    is_ours: &dyn Fn(&Value) -> bool,
) -> Result<Option<String>, SettingsError> {
    let mut text = text.to_owned();
    loop {
        let (mark, body) = split_mark(&text, rules)?;
        let root = parse(body, rules)?;
        let Some(path) = last_of_ours(&root, is_ours)? else {
            return Ok(Some(text));
        };
        if let Some(rest) = without_version(body, &root, &path, rules) {
            text = format!("{mark}{rest}");
            continue;
        }
        match removed(body, &root, &path) {
            None => return Ok(None),
            Some(rest) => text = format!("{mark}{rest}"),
        }
    }
}

/// Each event that has one of our groups, in the order of the file.
pub fn events_of_ours(
    text: &str,
    rules: JsonRules,
    is_ours: &dyn Fn(&Value) -> bool,
) -> Result<Vec<String>, SettingsError> {
    let mut events: Vec<String> = Vec::new();
    for place in places_of_ours(text, rules, is_ours)? {
        if events.last() != Some(&place.event) {
            events.push(place.event);
        }
    }
    Ok(events)
}

/// The place of a group in the settings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HookPlace {
    /// The event's name.
    pub event: String,
    /// The number of the group in the event's list, from 0.
    pub index: usize,
}

/// The place of each of our groups, in the order of the file.
pub fn places_of_ours(
    text: &str,
    rules: JsonRules,
    is_ours: &dyn Fn(&Value) -> bool,
) -> Result<Vec<HookPlace>, SettingsError> {
    let (_, body) = split_mark(text, rules)?;
    let root = parse(body, rules)?;
    let mut out = Vec::new();
    let Some(hooks) = member(&root, HOOKS)? else {
        return Ok(out);
    };
    for event in &object_of(&hooks.value, HOOKS)?.properties {
        let Node::Array(list) = &event.value else { continue };
        let groups = list.elements.iter().enumerate();
        out.extend(
            groups
                .filter(|(_, group)| is_ours(&plain(group)))
                .map(|(index, _)| HookPlace {
                    event: event.name.as_str().to_owned(),
                    index,
                }),
        );
    }
    Ok(out)
}

/// A file of JSON with comments as a value; `None` for one that cannot be read.
pub fn value(text: &str) -> Option<Value> {
    let rules = JsonRules {
        comments: true,
        byte_order_mark: true,
        version: None,
    };
    let (_, body) = split_mark(text, rules).ok()?;
    let root = parse(body, rules).ok()?;
    Some(plain(&Node::Object(root)))
}

/// A boolean deep in such a file.
pub fn boolean(text: &str, path: &[&str]) -> Option<bool> {
    let value = value(text)?;
    path.iter().try_fold(&value, |value, name| value.get(name))?.as_bool()
}

/// A file that holds our groups alone.
fn fresh(groups: &[HookGroup], rules: JsonRules) -> String {
    let mut hooks = serde_json::Map::new();
    for group in groups {
        let list = hooks.entry(group.event).or_insert_with(|| Value::Array(Vec::new()));
        if let Value::Array(list) = list {
            list.push(group.value.clone());
        }
    }
    let mut root = serde_json::Map::from_iter([(HOOKS.to_owned(), Value::Object(hooks))]);
    root.extend(rules.version.map(|version| (VERSION.to_owned(), version.into())));
    let root = Value::Object(root);
    let style = Style {
        unit: "  ".to_owned(),
        eol: "\n",
        inline: false,
    };
    format!("{}\n", style.pretty(&root, 0))
}

fn with_group(
    text: &str,
    rules: JsonRules,
    group: &HookGroup,
    is_ours: &dyn Fn(&Value) -> bool,
) -> Result<String, SettingsError> {
    let (mark, body) = split_mark(text, rules)?;
    let root = parse(body, rules)?;
    let style = Style::of(body, &root);
    let event_path = || format!("{HOOKS}.{}", group.event);
    let list_value = || Value::Array(vec![group.value.clone()]);
    let edited = match member(&root, HOOKS)? {
        None => {
            let hooks = Value::Object([(group.event.to_owned(), list_value())].into_iter().collect());
            inserted(body, &style, &Container::object(&root), 1, Some(HOOKS), &hooks)
        }
        Some(hooks) => {
            let object = object_of(&hooks.value, HOOKS)?;
            match unique(object, group.event, &event_path)? {
                None => inserted(
                    body,
                    &style,
                    &Container::object(object),
                    2,
                    Some(group.event),
                    &list_value(),
                ),
                Some(event) => {
                    let Node::Array(list) = &event.value else {
                        return Err(SettingsError::Shape {
                            member: event_path(),
                            expected: "a list",
                        });
                    };
                    match list.elements.iter().find(|element| is_ours(&plain(element))) {
                        Some(there) if plain(there) == group.value => body.to_owned(),
                        Some(there) => {
                            let value = style.pretty(&group.value, style.depth_at(body, there.start()));
                            splice(body, there.start()..there.end(), &value)
                        }
                        None => inserted(body, &style, &Container::array(list), 3, None, &group.value),
                    }
                }
            }
        }
    };
    Ok(format!("{mark}{edited}"))
}

/// The child to remove, outermost container first: its index in the root, in `hooks`, in the event's list.
type Path = [usize; 3];

fn last_of_ours(root: &ast::Object<'_>, is_ours: &dyn Fn(&Value) -> bool) -> Result<Option<Path>, SettingsError> {
    if member(root, HOOKS)?.is_none() {
        return Ok(None);
    }
    let at = root.properties.iter().position(|child| child.name.as_str() == HOOKS);
    let at = at.expect("the member was just found");
    let hooks = object_of(&root.properties[at].value, HOOKS)?;
    for (event_at, event) in hooks.properties.iter().enumerate().rev() {
        let Node::Array(list) = &event.value else { continue };
        if let Some(found) = list.elements.iter().rposition(|element| is_ours(&plain(element))) {
            return Ok(Some([at, event_at, found]));
        }
    }
    Ok(None)
}

/// The text without the version that an edit added behind the hooks, once the last group that the edit made them for goes.
fn without_version(text: &str, root: &ast::Object<'_>, path: &Path, rules: JsonRules) -> Option<String> {
    let version = rules.version?;
    let Node::Object(hooks) = &root.properties[path[0]].value else {
        return None;
    };
    let Node::Array(list) = &hooks.properties[path[1]].value else {
        return None;
    };
    // A version of the user's is not behind hooks that an edit made, since those go last.
    let behind = root.properties.get(path[0] + 1)?;
    let is_added = behind.name.as_str() == VERSION && plain(&behind.value) == version;
    let is_made = |container: &Container, at: usize| {
        container.children.len() == 1 && container.children[at].start != container.range.start + 1
    };
    let goes = is_made(&Container::array(list), path[2]) && is_made(&Container::object(hooks), path[1]);
    (is_added && goes).then(|| without_child(text, &Container::object(root), path[0] + 1))
}

/// The text without one group, and without the containers that an edit created for it; `None` if one created the file.
fn removed(text: &str, root: &ast::Object<'_>, path: &Path) -> Option<String> {
    let hooks = &root.properties[path[0]].value;
    let Node::Object(hooks) = hooks else {
        return Some(text.to_owned());
    };
    let Node::Array(list) = &hooks.properties[path[1]].value else {
        return Some(text.to_owned());
    };
    let levels = [
        (Container::array(list), path[2]),
        (Container::object(hooks), path[1]),
        (Container::object(root), path[0]),
    ];
    for (container, at) in levels {
        let was_empty = container.children[at].start == container.range.start + 1;
        if container.children.len() > 1 || was_empty {
            return Some(without_child(text, &container, at));
        }
    }
    None
}

fn split_mark(text: &str, rules: JsonRules) -> Result<(&str, &str), SettingsError> {
    match text.strip_prefix('\u{feff}') {
        Some(_) if !rules.byte_order_mark => {
            Err(SettingsError::Unreadable("it begins with a byte order mark".to_owned()))
        }
        Some(body) => Ok((&text[..text.len() - body.len()], body)),
        None => Ok(("", text)),
    }
}

fn parse(body: &str, rules: JsonRules) -> Result<ast::Object<'_>, SettingsError> {
    let options = ParseOptions {
        allow_comments: rules.comments,
        allow_loose_object_property_names: false,
        allow_trailing_commas: false,
        allow_missing_commas: false,
        allow_single_quoted_strings: false,
        allow_hexadecimal_numbers: false,
        allow_unary_plus_numbers: false,
        allow_bare_decimal_point_numbers: false,
        allow_non_finite_numbers: false,
        allow_extended_string_escapes: false,
    };
    let parsed = parse_to_ast(body, &CollectOptions::default(), &options)
        .map_err(|error| SettingsError::Unreadable(error.to_string()))?;
    match parsed.value {
        Some(Node::Object(root)) => Ok(root),
        _ => Err(SettingsError::Unreadable("it does not hold an object".to_owned())),
    }
}

fn member<'b, 'a>(object: &'b ast::Object<'a>, name: &str) -> Result<Option<&'b ast::ObjectProp<'a>>, SettingsError> {
    unique(object, name, &|| name.to_owned())
}

fn unique<'b, 'a>(
    object: &'b ast::Object<'a>,
    name: &str,
    path: &dyn Fn() -> String,
) -> Result<Option<&'b ast::ObjectProp<'a>>, SettingsError> {
    let mut all = object.properties.iter().filter(|child| child.name.as_str() == name);
    let first = all.next();
    match all.next() {
        Some(_) => Err(SettingsError::Duplicate(path())),
        None => Ok(first),
    }
}

fn object_of<'b, 'a>(value: &'b Node<'a>, name: &str) -> Result<&'b ast::Object<'a>, SettingsError> {
    match value {
        Node::Object(object) => Ok(object),
        _ => Err(SettingsError::Shape {
            member: name.to_owned(),
            expected: "an object",
        }),
    }
}

/// The value without comments and layout.
fn plain(node: &Node<'_>) -> Value {
    match node {
        Node::StringLit(text) => Value::from(text.value.as_ref()),
        Node::NumberLit(number) => serde_json::from_str(number.value).unwrap_or(Value::Null),
        Node::BooleanLit(value) => Value::from(value.value),
        Node::NullKeyword(_) => Value::Null,
        Node::Array(array) => array.elements.iter().map(plain).collect(),
        Node::Object(object) => object
            .properties
            .iter()
            .map(|child| (child.name.as_str().to_owned(), plain(&child.value)))
            .collect::<serde_json::Map<_, _>>()
            .into(),
    }
}

#[cfg(test)]
mod tests;

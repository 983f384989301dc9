//! Generation of schemas from types.

use schemars::{JsonSchema, SchemaGenerator, generate::SchemaSettings, transform::RecursiveTransform};
use serde_json::{Map, Value};

/// The schema of a type, complete with the definitions it uses. The name of an output is its first member, and the
/// first line of its description its title.
pub(super) fn generate<T: JsonSchema>() -> Value {
    let mut schema = generator().into_root_schema_for::<T>().to_value();
    let Some(members) = schema.as_object_mut() else {
        return schema;
    };
    // Without a title of its own, a type has its name for one.
    let name = T::schema_name();
    if members.get("title").is_none_or(|title| *title == *name)
        && let Some(Value::String(description)) = members.shift_remove("description")
    {
        let (title, rest) = description.split_once('\n').unwrap_or((&description, ""));
        members.shift_insert(0, "title".to_owned(), title.trim_end_matches('.').into());
        if !rest.trim().is_empty() {
            members.insert("description".to_owned(), rest.trim().into());
        }
    }
    tagged(members, &name);
    if let Some(Value::Object(definitions)) = members.get_mut("$defs") {
        for (name, mut definition) in std::mem::take(definitions) {
            if let Some(members) = definition.as_object_mut() {
                tagged(members, &name);
            }
            let name = super::of(&name).unwrap_or(&name).to_owned();
            definitions.insert(name, definition);
        }
    }
    schema
}

/// Adds the member `schema`, where serde writes the name of a type before the type's own members.
fn tagged(members: &mut Map<String, Value>, name: &str) {
    if super::of(name).is_none() {
        return;
    }
    if let Value::Array(required) = members.entry("required").or_insert_with(|| Value::Array(Vec::new())) {
        required.insert(0, "schema".into());
    }
    if let Value::Object(properties) = members.entry("properties").or_insert_with(|| Map::new().into()) {
        properties.shift_insert(0, "schema".to_owned(), serde_json::json!({ "const": name }));
    }
}

/// The schema of a type that is read, in the plain form that all clients understand: without references, and a member
/// that may be left out has its one type, although null is taken as well.
pub(super) fn arguments<T: JsonSchema>() -> Value {
    let present = RecursiveTransform(|schema: &mut schemars::Schema| {
        if let Some(members) = schema.as_object_mut() {
            without_null(members);
        }
    });
    let settings = SchemaSettings::draft2020_12().for_deserialize().with_transform(present);
    let generator = settings
        .with(|settings| settings.inline_subschemas = true)
        .into_generator();
    generator.into_root_schema_for::<T>().to_value()
}

/// Takes null out of the types that a value may have.
fn without_null(schema: &mut Map<String, Value>) {
    schema.remove("default");
    schema.remove("format");
    let is_null = |value: &Value| value == "null" || value.is_null();
    if let Some(Value::Array(types)) = schema.get_mut("type") {
        types.retain(|name| !is_null(name));
        if let [only] = types.as_slice() {
            let only = only.clone();
            schema.insert("type".to_owned(), only);
        }
    }
    if let Some(Value::Array(words)) = schema.get_mut("enum") {
        words.retain(|word| !is_null(word));
    }
    let Some(Value::Array(choices)) = schema.get_mut("anyOf") else {
        return;
    };
    choices.retain(|choice| !is_null(&choice["type"]));
    if let [Value::Object(only)] = choices.as_slice() {
        let only = only.clone();
        schema.shift_remove("anyOf");
        for (name, value) in only {
            // The description of the member has more than that of its type.
            schema.entry(name).or_insert(value);
        }
    }
}

fn generator() -> SchemaGenerator {
    let plain = RecursiveTransform(|schema: &mut schemars::Schema| {
        if let Some(members) = schema.as_object_mut() {
            plain(members);
        }
    });
    SchemaSettings::draft2020_12()
        .for_serialize()
        .with_transform(plain)
        .into_generator()
}

/// Uses fewer keywords: alternatives of fixed words become `enum`, with the meaning of each in the description, and
/// numbers lose the names of machine types.
fn plain(schema: &mut Map<String, Value>) {
    if let Some(Value::String(reference)) = schema.get_mut("$ref") {
        *reference = reference.replace("git-checkpoint.", "").replace("~11", "");
    }
    schema.remove("default");
    if schema
        .get("format")
        .and_then(Value::as_str)
        .is_some_and(|format| format != "date-time")
    {
        schema.remove("format");
    }
    let Some(Value::Array(choices)) = schema.get("oneOf").cloned() else {
        return;
    };
    let mut words = Vec::new();
    let mut meanings = Vec::new();
    for choice in &choices {
        let fixed = choice.get("const").map(|word| vec![word.clone()]);
        let Some(found) = fixed.or_else(|| choice["enum"].as_array().cloned()) else {
            schema.shift_remove("oneOf");
            schema.insert("anyOf".to_owned(), Value::Array(choices));
            return;
        };
        if let (Some(word), Some(meaning)) = (found[0].as_str(), choice["description"].as_str()) {
            meanings.push(format!("`{word}`: {meaning}"));
        }
        words.extend(found);
    }
    let begin = schema.get("description").and_then(Value::as_str).map(str::to_owned);
    let lines: Vec<String> = begin.into_iter().chain(meanings).collect();
    schema.shift_remove("oneOf");
    if !lines.is_empty() {
        schema.insert("description".to_owned(), lines.join("\n").into());
    }
    schema.insert("enum".to_owned(), Value::Array(words));
}

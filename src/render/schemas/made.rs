//! Schemas made from the types that are printed.

use schemars::{JsonSchema, SchemaGenerator, generate::SchemaSettings, transform::RecursiveTransform};
use serde_json::{Map, Value};

use crate::model::{document::Document, report::ChangeReport};

/// The schema of a type, complete with the definitions it uses.
pub(super) fn made<T: JsonSchema>() -> Value {
    generator().into_root_schema_for::<T>().to_value()
}

/// The definitions of the stored document and of the change report, for schemas that are still written by hand.
pub(super) fn definitions() -> Value {
    let mut generator = generator();
    generator.subschema_for::<Document>();
    generator.subschema_for::<ChangeReport>();
    Value::Object(generator.take_definitions(true))
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
            // The description of the member says more than that of its type.
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

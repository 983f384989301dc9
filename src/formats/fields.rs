//! The members of a foreign JSON object, taken one by one; what was not taken is left for `extra`, so nothing is lost.
//!
//! A member whose value is not of the kind that is asked for stays where it is: it lands in `extra` as it was.

use serde_json::{Map, Value};

use super::time;
use crate::model::time::Timestamp;

/// An object that is being taken apart.
#[derive(Clone, Debug, Default)]
pub(super) struct ObjectFields(Map<String, Value>);

impl ObjectFields {
    /// The members of an object.
    pub(super) fn new(map: Map<String, Value>) -> Self {
        Self(map)
    }

    /// The members of a value that is an object.
    pub(super) fn of(value: Value) -> Option<Self> {
        match value {
            Value::Object(map) => Some(Self(map)),
            _ => None,
        }
    }

    /// Whether there is a member of this name.
    pub(super) fn has(&self, key: &str) -> bool {
        self.0.contains_key(key)
    }

    /// A member without taking it.
    pub(super) fn get(&self, key: &str) -> Option<&Value> {
        self.0.get(key)
    }

    /// Takes a member of any kind.
    pub(super) fn take(&mut self, key: &str) -> Option<Value> {
        self.0.shift_remove(key)
    }

    fn take_if<T>(&mut self, key: &str, read: impl FnOnce(&Value) -> Option<T>) -> Option<T> {
        let value = read(self.0.get(key)?)?;
        self.0.shift_remove(key);
        Some(value)
    }

    /// Takes a text that is not empty. An empty one has no content, and is taken too.
    pub(super) fn text(&mut self, key: &str) -> Option<String> {
        let text = self.take_if(key, |value| value.as_str().map(str::to_owned))?;
        (!text.is_empty()).then_some(text)
    }

    /// An id without taking it: a text that is not empty, or a whole number.
    pub(super) fn peek_id(&self, key: &str) -> Option<String> {
        match self.0.get(key)? {
            Value::String(text) if !text.is_empty() => Some(text.clone()),
            Value::Number(number) if number.is_i64() || number.is_u64() => Some(number.to_string()),
            _ => None,
        }
    }

    /// Takes an id.
    pub(super) fn id(&mut self, key: &str) -> Option<String> {
        let id = self.peek_id(key)?;
        self.0.shift_remove(key);
        Some(id)
    }

    /// A text without taking it.
    pub(super) fn peek_text(&self, key: &str) -> Option<&str> {
        self.0.get(key).and_then(Value::as_str).filter(|text| !text.is_empty())
    }

    /// Takes a time, unless it cannot be read.
    pub(super) fn time(&mut self, key: &str) -> Option<Timestamp> {
        self.take_if(key, time::of_value)
    }

    /// A time without taking it.
    pub(super) fn peek_time(&self, key: &str) -> Option<Timestamp> {
        self.0.get(key).and_then(time::of_value)
    }

    /// Takes a list; also one that is empty.
    pub(super) fn list(&mut self, key: &str) -> Option<Vec<Value>> {
        match self.0.get(key) {
            Some(Value::Array(_)) => match self.0.shift_remove(key) {
                Some(Value::Array(items)) => Some(items),
                _ => None,
            },
            _ => None,
        }
    }

    /// Takes a list if all its items are texts.
    pub(super) fn texts(&mut self, key: &str) -> Option<Vec<String>> {
        self.take_if(key, texts)
    }

    /// Takes an object.
    pub(super) fn fields(&mut self, key: &str) -> Option<Self> {
        match self.0.get(key) {
            Some(Value::Object(_)) => Self::of(self.0.shift_remove(key)?),
            _ => None,
        }
    }

    /// Puts back what was left of an object that was taken apart, unless nothing is left.
    pub(super) fn put_back(&mut self, key: &str, rest: Self) {
        if !rest.0.is_empty() {
            self.0.insert(key.to_owned(), Value::Object(rest.0));
        }
    }

    /// Puts a value back under a name.
    pub(super) fn put(&mut self, key: &str, value: Value) {
        self.0.insert(key.to_owned(), value);
    }

    /// Members that were not taken.
    pub(super) fn rest(self) -> Map<String, Value> {
        self.0
    }

    /// Whether nothing is left.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// The texts of a list that holds nothing else.
pub(super) fn texts(value: &Value) -> Option<Vec<String>> {
    let items = value.as_array()?;
    items.iter().map(|item| item.as_str().map(str::to_owned)).collect()
}

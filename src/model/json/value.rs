//! Values read into types with every digit of their numbers.
//!
//! serde_json hands an integer of more than 64 bits to a visitor as one of 128 bits. What serde keeps for a flattened or
//! untagged member has no place for such a one, and the whole value is refused. As the text of a number it has.

use serde::{
    Deserializer,
    de::{
        DeserializeOwned, IntoDeserializer, Visitor,
        value::{MapDeserializer, SeqDeserializer},
    },
    forward_to_deserialize_any,
};
use serde_json::{Error, Value};

/// Reads a value into a type.
pub fn from_value<T: DeserializeOwned>(value: Value) -> Result<T, Error> {
    T::deserialize(ExactValue(value))
}

/// A value whose large integers are given as texts of numbers.
struct ExactValue(Value);

impl IntoDeserializer<'_, Error> for ExactValue {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

macro_rules! as_value {
    ($($method:ident)*) => {
        $(fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
            self.0.$method(visitor)
        })*
    };
}

impl<'de> Deserializer<'de> for ExactValue {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.0 {
            Value::Number(number) => {
                let text = number.to_string();
                let is_plain = |integer: Option<String>| integer.is_some_and(|integer| integer == text);
                // That of `-0` is another one.
                if is_plain(number.as_u64().map(|n| n.to_string())) || is_plain(number.as_i64().map(|n| n.to_string()))
                {
                    return Value::Number(number).deserialize_any(visitor);
                }
                // A reader, as the visitor may not borrow the text.
                serde_json::Deserializer::from_reader(text.as_bytes()).deserialize_any(visitor)
            }
            Value::Array(items) => {
                let mut items = SeqDeserializer::new(items.into_iter().map(ExactValue));
                let value = visitor.visit_seq(&mut items)?;
                items.end()?;
                Ok(value)
            }
            Value::Object(members) => {
                let members = members.into_iter().map(|(name, value)| (name, ExactValue(value)));
                let mut members = MapDeserializer::new(members);
                let value = visitor.visit_map(&mut members)?;
                members.end()?;
                Ok(value)
            }
            other => other.deserialize_any(visitor),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.0 {
            Value::Null => visitor.visit_none(),
            _ => visitor.visit_some(self),
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, _: &'static str, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        self.0.deserialize_enum(name, variants, visitor)
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.0 {
            Value::Array(_) => self.deserialize_any(visitor),
            other => other.deserialize_seq(visitor),
        }
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.0 {
            Value::Object(_) => self.deserialize_any(visitor),
            other => other.deserialize_map(visitor),
        }
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        members: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        match self.0 {
            Value::Array(_) | Value::Object(_) => self.deserialize_any(visitor),
            other => other.deserialize_struct(name, members, visitor),
        }
    }

    // A number that does not fit is refused in words of its own.
    as_value! {
        deserialize_i8 deserialize_i16 deserialize_i32 deserialize_i64 deserialize_i128 deserialize_u8 deserialize_u16
        deserialize_u32 deserialize_u64 deserialize_u128 deserialize_f32 deserialize_f64 deserialize_bool deserialize_char
        deserialize_str deserialize_string deserialize_bytes deserialize_byte_buf deserialize_unit
    }

    forward_to_deserialize_any! {
        unit_struct tuple tuple_struct identifier ignored_any
    }
}

#[cfg(test)]
mod tests {
    use serde::{Deserialize, Serialize};
    use serde_json::Map;

    use super::{super::*, *};

    /// Members of a type, some of which it does not know.
    #[derive(Debug, Serialize, Deserialize)]
    struct Sample {
        state: Option<Value>,
        list: Vec<Value>,
        #[serde(flatten)]
        unknown: Map<String, Value>,
    }

    #[derive(Debug, Serialize, Deserialize)]
    struct Outer {
        n: u64,
        ratio: f64,
        #[serde(flatten)]
        inner: Sample,
    }

    #[test]
    fn numbers_of_any_length_are_kept_wherever_they_stand() {
        for digits in [
            "18446744073709551615",
            "18446744073709551616",
            "-9223372036854775808",
            "-9223372036854775809",
            "340282366920938463463374607431768211455",
            "340282366920938463463374607431768211456",
            "-170141183460469231731687303715884105729",
            "0.10",
            "1e+400",
            "-0",
        ] {
            let text = format!(
                r#"{{"n":7,"ratio":0.50,"state":{{"a":[{digits}]}},"list":[{digits},null],"later":{digits},"deep":[{{"x":{digits}}}]}}"#
            );
            let value = parse(text.as_bytes(), INPUT_LIMIT).expect("valid");
            let read: Outer = from_value(value).unwrap_or_else(|error| panic!("{digits}: {error}"));
            let back = String::from_utf8(to_line(&read)).expect("JSON is UTF-8");
            assert_eq!(back.matches(&format!("{digits}]")).count(), 1, "{back}");
            assert_eq!(back.matches(digits).count(), text.matches(digits).count(), "{back}");
            assert_eq!(read.n, 7);
        }
    }

    #[test]
    fn what_does_not_fit_is_said_in_plain_words() {
        let words_of = |text: &str| {
            let value = parse(text.as_bytes(), INPUT_LIMIT).expect("valid");
            words(&from_value::<Outer>(value).expect_err("does not fit"))
        };
        for text in [
            r#"{"n":18446744073709551616,"ratio":1,"list":[]}"#,
            r#"{"n":-1,"ratio":1,"list":[]}"#,
            r#"{"n":1,"ratio":1,"list":18446744073709551616}"#,
            r#"{"n":"x","ratio":1,"list":[]}"#,
        ] {
            let words = words_of(text);
            assert!(words.starts_with("it must be "), "{text}: {words}");
            assert!(!words.contains("128") && !words.contains('\''), "{text}: {words}");
        }
    }
}

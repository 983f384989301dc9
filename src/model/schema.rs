//! JSON schemas of types that are stored as text.

/// Implements `JsonSchema` for a type by a fixed schema under a fixed name.
macro_rules! text_schema {
    ($type:ty, $name:literal, $schema:tt) => {
        impl schemars::JsonSchema for $type {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                $name.into()
            }

            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                schemars::json_schema!($schema)
            }
        }
    };
}

pub(super) use text_schema;

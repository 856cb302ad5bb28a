//! How frames are declared: once, for what is sent and for the published schema.

/// Declares frames and parts of them: each field with its type, and its type in the schema. The comments are the schema's
/// descriptions. The feature `schema` adds it: `schemars` is no part of the program.
macro_rules! frames {
    ($(
        $(#[doc = $doc:literal])+
        $(#[derive($($trait:ident),+)])?
        $name:ident $(<$life:lifetime>)? $(= $kind:literal)? { $(
            $(#[doc = $field_doc:literal])*
            $(#[serde($($rule:tt)+)])*
            $(#[schemars($($note:tt)+)])*
            $field:ident: $type:ty => $schema:ty,
        )+ }
    )+) => {$(
        $(#[doc = $doc])+
        #[derive(Debug, serde::Serialize $(, $($trait),+)?)]
        $(#[serde(tag = "type", rename = $kind)])?
        pub struct $name $(<$life>)? {$(
            $(#[doc = $field_doc])*
            $(#[serde($($rule)+)])*
            pub $field: $type,
        )+}

        #[cfg(feature = "schema")]
        impl<$($life)?> schemars::JsonSchema for $name<$($life)?> {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($name).into()
            }

            fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
                $(#[doc = $doc])+
                #[derive(schemars::JsonSchema)]
                #[expect(dead_code, reason = "only its declaration is used")]
                struct $name {
                    $(
                        #[doc = concat!("Always `", $kind, "`.")]
                        #[schemars(extend("const" = $kind))]
                        r#type: String,
                    )?
                    $(
                        $(#[doc = $field_doc])*
                        $(#[serde($($rule)+)])*
                        $(#[schemars($($note)+)])*
                        $field: $schema,
                    )+
                }
                <$name as schemars::JsonSchema>::json_schema(generator)
            }
        }
    )+};
}

pub(super) use frames;

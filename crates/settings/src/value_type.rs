//! The Rust types that settings can have, and how each is taken out of a checked value.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::profile_field::ProfileField;
use crate::value::{ByteSize, Secret, Value, WrittenUrl};

/// A type that a setting can have; `Option<T>` is that of a setting which may be left unset. Keys
/// exist only for the types of this module.
pub trait ValueType {
    /// What a look-up gives: copied where it is small, otherwise borrowed from the settings.
    type Out<'a>;

    /// Takes the value out; `None` only if the kind of the setting is not the one of this type.
    #[doc(hidden)]
    fn read(value: Option<&Value>) -> Option<Self::Out<'_>>;
}

/// An integer type, and the part of its range that can be written.
pub(crate) trait Integer: ValueType {
    const MIN: i64;
    const MAX: i64;
}

impl<T: ValueType> ValueType for Option<T> {
    type Out<'a> = Option<T::Out<'a>>;

    fn read(value: Option<&Value>) -> Option<Self::Out<'_>> {
        match value {
            None => Some(None),
            value => T::read(value).map(Some),
        }
    }
}

macro_rules! value_type {
    ($type:ty => $out:ty, $pattern:pat => $taken:expr) => {
        impl ValueType for $type {
            type Out<'a> = $out;

            fn read(value: Option<&Value>) -> Option<Self::Out<'_>> {
                match value? {
                    $pattern => $taken,
                    _ => None,
                }
            }
        }
    };
}

value_type!(bool => bool, Value::Bool(value) => Some(*value));
value_type!(Duration => Duration, Value::Duration(value) => Some(*value));
value_type!(ByteSize => u64, Value::Bytes(value) => Some(*value));
value_type!(String => &'a str, Value::Text(text) => Some(text));
value_type!(PathBuf => &'a Path, Value::Text(text) => Some(Path::new(text)));
value_type!(WrittenUrl => &'a WrittenUrl, Value::Url(url) => Some(url));
value_type!(Secret => &'a Secret, Value::Secret(secret) => Some(secret));
value_type!(Vec<String> => &'a [String], Value::List(items) => Some(items));
value_type!(Vec<u16> => Vec<u16>, Value::List(items) => {
    items.iter().map(|item| item.parse().ok()).collect()
});
value_type!(
    BTreeMap<String, String> => &'a BTreeMap<String, String>,
    Value::Table(entries) => Some(entries)
);
value_type!(
    BTreeMap<String, Secret> => &'a BTreeMap<String, Secret>,
    Value::SecretTable(entries) => Some(entries)
);
value_type!(
    Vec<BTreeMap<String, String>> => &'a [BTreeMap<String, String>],
    Value::Records(records) => Some(records)
);
// Settings with a field that is not valid are not loaded, so none is left out.
value_type!(Vec<ProfileField> => Vec<ProfileField>, Value::Records(records) => {
    Some(records.iter().flat_map(ProfileField::parse).collect())
});

macro_rules! integers {
    ($($type:ty: $min:expr, $max:expr;)+) => {
        $(
            value_type!($type => $type, Value::Integer(value) => (*value).try_into().ok());

            impl Integer for $type {
                const MIN: i64 = $min;
                const MAX: i64 = $max;
            }
        )+
    };
}

integers! {
    u8: 0, u8::MAX as i64;
    u16: 0, u16::MAX as i64;
    u32: 0, u32::MAX as i64;
    u64: 0, i64::MAX;
    usize: 0, if usize::BITS < 64 { usize::MAX as i64 } else { i64::MAX };
    i64: i64::MIN, i64::MAX;
}

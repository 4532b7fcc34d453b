//! The forms in which settings are declared: each function fixes the Rust type, the kind that
//! checks what is written, and the default together.

use std::collections::BTreeMap;
use std::marker::PhantomData;
use std::path::PathBuf;
use std::time::Duration;

use crate::declaration::{Declaration, DefaultValue};
use crate::kind::Kind;
use crate::profile_field::ProfileField;
use crate::value::{ByteSize, Secret, WrittenUrl};
use crate::value_type::Integer;

type Words = &'static [&'static str];

/// A setting of type `T` before it has a description.
pub(crate) struct Form<T> {
    path: &'static str,
    kind: Kind,
    default: DefaultValue,
    is_inert: bool,
    value: PhantomData<fn() -> T>,
}

impl<T> Clone for Form<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Form<T> {}

impl<T> Form<T> {
    const fn new(path: &'static str, kind: Kind, default: DefaultValue) -> Self {
        Self {
            path,
            kind,
            default,
            is_inert: false,
            value: PhantomData,
        }
    }

    /// Marks a setting that Plinth takes only so that existing files load.
    pub(crate) const fn inert(mut self) -> Self {
        self.is_inert = true;
        self
    }

    pub(crate) const fn declaration(self, meaning: &'static str) -> Declaration {
        Declaration {
            path: self.path,
            kind: self.kind,
            default: self.default,
            // Doc comments begin with a space.
            meaning: meaning.trim_ascii_start(),
            is_inert: self.is_inert,
        }
    }
}

pub(crate) const fn flag(path: &'static str, default: bool) -> Form<bool> {
    Form::new(path, Kind::Bool, DefaultValue::Bool(default))
}

pub(crate) const fn optional_flag(path: &'static str) -> Form<Option<bool>> {
    Form::new(path, Kind::Bool, DefaultValue::Unset)
}

pub(crate) const fn integer<T: Integer>(
    path: &'static str,
    bounds: (i64, i64),
    default: i64,
) -> Form<T> {
    Form::new(path, within::<T>(bounds), DefaultValue::Integer(default))
}

pub(crate) const fn optional_integer<T: Integer>(
    path: &'static str,
    bounds: (i64, i64),
) -> Form<Option<T>> {
    Form::new(path, within::<T>(bounds), DefaultValue::Unset)
}

/// A number within these bounds that also fits its type.
const fn within<T: Integer>((min, max): (i64, i64)) -> Kind {
    Kind::Integer {
        min: if min < T::MIN { T::MIN } else { min },
        max: if max > T::MAX { T::MAX } else { max },
    }
}

pub(crate) const fn listen_port(path: &'static str, default: i64) -> Form<u16> {
    Form::new(path, Kind::ListenPort, DefaultValue::Integer(default))
}

pub(crate) const fn optional_port(path: &'static str) -> Form<Option<u16>> {
    Form::new(path, Kind::Port, DefaultValue::Unset)
}

pub(crate) const fn text(path: &'static str, default: &'static str) -> Form<String> {
    Form::new(path, Kind::Text, DefaultValue::Text(default))
}

pub(crate) const fn optional_text(path: &'static str) -> Form<Option<String>> {
    Form::new(path, Kind::Text, DefaultValue::Unset)
}

pub(crate) const fn secret(path: &'static str) -> Form<Option<Secret>> {
    Form::new(path, Kind::Secret, DefaultValue::Unset)
}

pub(crate) const fn url(path: &'static str, default: &'static str) -> Form<WrittenUrl> {
    Form::new(path, Kind::Url, DefaultValue::Text(default))
}

pub(crate) const fn optional_url(path: &'static str) -> Form<Option<WrittenUrl>> {
    Form::new(path, Kind::Url, DefaultValue::Unset)
}

pub(crate) const fn url_path(path: &'static str, default: &'static str) -> Form<String> {
    Form::new(path, Kind::UrlPath, DefaultValue::Text(default))
}

pub(crate) const fn optional_accent(path: &'static str) -> Form<Option<String>> {
    Form::new(path, Kind::Accent, DefaultValue::Unset)
}

pub(crate) const fn optional_path(path: &'static str) -> Form<Option<PathBuf>> {
    Form::new(path, Kind::Path, DefaultValue::Unset)
}

pub(crate) const fn duration(path: &'static str, default: &'static str) -> Form<Duration> {
    Form::new(path, Kind::Duration, DefaultValue::Text(default))
}

pub(crate) const fn optional_duration(path: &'static str) -> Form<Option<Duration>> {
    Form::new(path, Kind::Duration, DefaultValue::Unset)
}

pub(crate) const fn bytes(path: &'static str, default: &'static str) -> Form<ByteSize> {
    Form::new(path, Kind::Bytes, DefaultValue::Text(default))
}

pub(crate) const fn optional_bytes(path: &'static str) -> Form<Option<ByteSize>> {
    Form::new(path, Kind::Bytes, DefaultValue::Unset)
}

pub(crate) const fn choice(
    path: &'static str,
    words: Words,
    default: &'static str,
) -> Form<String> {
    Form::new(path, Kind::Choice(words), DefaultValue::Text(default))
}

pub(crate) const fn optional_choice(path: &'static str, words: Words) -> Form<Option<String>> {
    Form::new(path, Kind::Choice(words), DefaultValue::Unset)
}

pub(crate) const fn list(path: &'static str, default: Words) -> Form<Vec<String>> {
    Form::new(path, Kind::List, DefaultValue::List(default))
}

/// Some of these words, at least one.
pub(crate) const fn choices(path: &'static str, words: Words, default: Words) -> Form<Vec<String>> {
    Form::new(path, Kind::Choices(words), DefaultValue::List(default))
}

pub(crate) const fn networks(path: &'static str, default: Words) -> Form<Vec<String>> {
    Form::new(path, Kind::Networks, DefaultValue::List(default))
}

pub(crate) const fn ports(path: &'static str, default: Words) -> Form<Vec<u16>> {
    Form::new(path, Kind::Ports, DefaultValue::List(default))
}

pub(crate) const fn names(path: &'static str) -> Form<Vec<String>> {
    Form::new(path, Kind::Names, DefaultValue::EmptyTable)
}

pub(crate) const fn table(path: &'static str) -> Form<BTreeMap<String, String>> {
    Form::new(path, Kind::Table, DefaultValue::EmptyTable)
}

pub(crate) const fn secret_table(path: &'static str) -> Form<BTreeMap<String, Secret>> {
    Form::new(path, Kind::SecretTable, DefaultValue::EmptyTable)
}

pub(crate) const fn records(
    path: &'static str,
    names: Words,
) -> Form<Vec<BTreeMap<String, String>>> {
    Form::new(path, Kind::Records(names), DefaultValue::List(&[]))
}

pub(crate) const fn profile_fields(path: &'static str) -> Form<Vec<ProfileField>> {
    Form::new(
        path,
        Kind::Records(ProfileField::NAMES),
        DefaultValue::List(&[]),
    )
}

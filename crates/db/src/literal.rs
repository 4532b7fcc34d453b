//! Parameters whose type Postgres infers from where they stand, as it does for a quoted literal.

use std::borrow::Cow;

use bytes::Bytes;
use postgres_types::{Format, Type};

/// A value as a client wrote it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Literal<'a> {
    /// Text form of whatever type is wanted.
    Text(Cow<'a, str>),
    /// The same, as bytes that are text already.
    Utf8(Bytes),
    /// Binary data for a `bytea`.
    Binary(Bytes),
    /// No value.
    Null,
}

impl Literal<'_> {
    /// What Postgres is told; for `unknown` it infers the type.
    pub(crate) fn declared_type(&self) -> Type {
        match self {
            Self::Binary(_) => Type::BYTEA,
            Self::Text(_) | Self::Utf8(_) | Self::Null => Type::UNKNOWN,
        }
    }

    pub(crate) fn format(&self) -> Format {
        match self {
            Self::Binary(_) => Format::Binary,
            Self::Text(_) | Self::Utf8(_) | Self::Null => Format::Text,
        }
    }

    /// `None` for NULL.
    pub(crate) fn bytes(&self) -> Option<&[u8]> {
        match self {
            Self::Text(text) => Some(text.as_bytes()),
            Self::Utf8(bytes) | Self::Binary(bytes) => Some(bytes),
            Self::Null => None,
        }
    }
}

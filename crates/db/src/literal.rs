//! Parameters whose type PostgreSQL infers from the context, as it does for a quoted literal.

use std::borrow::Cow;

use bytes::Bytes;
use postgres_types::{Format, Type};

/// A value as the client sent it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Literal<'a> {
    /// Text format of the inferred type.
    Text(Cow<'a, str>),
    /// The same, as bytes that are valid text.
    Utf8(Bytes),
    /// Binary data for a `bytea`.
    Binary(Bytes),
    /// NULL.
    Null,
}

impl Literal<'_> {
    /// The declared type; for `unknown` PostgreSQL infers it.
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

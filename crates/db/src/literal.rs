//! Parameters whose type Postgres infers from where they stand, as it does for a quoted literal.

use std::{borrow::Cow, error::Error};

use bytes::{BufMut, Bytes, BytesMut};
use postgres_types::{Format, IsNull, ToSql, Type};

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
}

impl ToSql for Literal<'_> {
    fn to_sql(
        &self,
        _ty: &Type,
        out: &mut BytesMut,
    ) -> Result<IsNull, Box<dyn Error + Sync + Send>> {
        match self {
            Self::Text(text) => out.put_slice(text.as_bytes()),
            Self::Utf8(bytes) | Self::Binary(bytes) => out.put_slice(bytes),
            Self::Null => return Ok(IsNull::Yes),
        }
        Ok(IsNull::No)
    }

    fn accepts(_ty: &Type) -> bool {
        true
    }

    fn encode_format(&self, _ty: &Type) -> Format {
        match self {
            Self::Binary(_) => Format::Binary,
            Self::Text(_) | Self::Utf8(_) | Self::Null => Format::Text,
        }
    }

    postgres_types::to_sql_checked!();
}

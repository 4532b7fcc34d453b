//! The values of a row.

use bytes::{Buf as _, Bytes};

use super::decode::Malformed;

/// A row's values, in the order of the relation's columns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tuple(Vec<Value>);

/// One value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Value {
    /// NULL.
    Null,
    /// An unchanged TOASTed value, which is not sent.
    Unchanged,
    /// Text format, in the database's encoding if that is `SQL_ASCII`, else in UTF-8.
    Text(Bytes),
    /// Binary format, only sent on request.
    Binary(Bytes),
}

/// Upper bound for preallocation: PostgreSQL's limit of columns.
const MAX_COLUMNS: usize = 1600;

impl Tuple {
    /// A row of these values.
    pub fn new(values: Vec<Value>) -> Self {
        Self(values)
    }

    /// All values.
    pub fn values(&self) -> &[Value] {
        &self.0
    }

    /// The value at an index; `None` where there is no such column.
    pub fn get(&self, index: usize) -> Option<&Value> {
        self.0.get(index)
    }

    pub(super) fn decode(bytes: &mut Bytes) -> Result<Self, Malformed> {
        let count = usize::from(bytes.try_get_u16()?);
        let mut values = Vec::with_capacity(count.min(MAX_COLUMNS));
        for _ in 0..count {
            values.push(Value::decode(bytes)?);
        }
        Ok(Self(values))
    }
}

impl Value {
    fn decode(bytes: &mut Bytes) -> Result<Self, Malformed> {
        match bytes.try_get_u8()? {
            b'n' => Ok(Self::Null),
            b'u' => Ok(Self::Unchanged),
            b't' => length_prefixed(bytes).map(Self::Text),
            b'b' => length_prefixed(bytes).map(Self::Binary),
            kind => Err(Malformed::Unknown("kind of value", kind)),
        }
    }
}

fn length_prefixed(bytes: &mut Bytes) -> Result<Bytes, Malformed> {
    let length = bytes.try_get_u32()? as usize;
    if length <= bytes.len() {
        Ok(bytes.split_to(length))
    } else {
        Err(Malformed::TooShort)
    }
}

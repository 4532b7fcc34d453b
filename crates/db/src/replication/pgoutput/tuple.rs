//! The values of a row.

use bytes::{Buf as _, Bytes};

use super::decode::Malformed;

/// A row's values, in the order of the relation's columns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tuple(Vec<Value>);

/// One value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Value {
    /// None.
    Null,
    /// A large one that the change left alone, so that it was not read.
    Unchanged,
    /// As text, in the database's own encoding if that is `SQL_ASCII` and in UTF-8 otherwise.
    Text(Bytes),
    /// As the type sends it, which has to be asked for.
    Binary(Bytes),
}

/// Room is made in advance for no more, whatever a message says.
const MAX_COLUMNS: usize = 1600;

impl Tuple {
    /// Of given values.
    pub fn new(values: Vec<Value>) -> Self {
        Self(values)
    }

    /// All values.
    pub fn values(&self) -> &[Value] {
        &self.0
    }

    /// The value at a place; `None` where there is no such column.
    pub fn get(&self, place: usize) -> Option<&Value> {
        self.0.get(place)
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
            b't' => counted(bytes).map(Self::Text),
            b'b' => counted(bytes).map(Self::Binary),
            kind => Err(Malformed::Unknown("kind of value", kind)),
        }
    }
}

fn counted(bytes: &mut Bytes) -> Result<Bytes, Malformed> {
    let length = bytes.try_get_u32()? as usize;
    match length <= bytes.len() {
        true => Ok(bytes.split_to(length)),
        false => Err(Malformed::TooShort),
    }
}

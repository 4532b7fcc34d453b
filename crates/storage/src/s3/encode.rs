//! Names in responses: as they are, or percent-encoded.

use percent_encoding::utf8_percent_encode;

use super::query::Query;
use crate::{error::StorageError, objects::URI_COMPONENT};

/// What `encoding-type` asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Encoding {
    None,
    Url,
}

impl Encoding {
    pub(super) fn parse(query: &Query) -> Result<Self, StorageError> {
        match query.non_empty("encoding-type") {
            None => Ok(Self::None),
            Some("url") => Ok(Self::Url),
            Some(_) => Err(StorageError::invalid_parameter("encoding-type")),
        }
    }

    pub(super) fn encode(self, text: &str) -> String {
        match self {
            Self::None => text.to_owned(),
            Self::Url => utf8_percent_encode(text, URI_COMPONENT).to_string(),
        }
    }

    pub(super) fn name(self) -> Option<&'static str> {
        (self == Self::Url).then_some("url")
    }
}

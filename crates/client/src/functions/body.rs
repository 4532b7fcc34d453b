//! Request bodies.

use std::io;

use bytes::Bytes;

use crate::runtime::BoxStream;

/// The body of a call and its default content type.
#[derive(Default)]
pub(super) enum Body {
    #[default]
    None,
    Whole {
        bytes: Bytes,
        content_type: String,
    },
    Pieces(BoxStream<'static, io::Result<Bytes>>),
}

impl Body {
    pub(super) fn whole(bytes: impl Into<Bytes>, content_type: impl Into<String>) -> Self {
        Self::Whole {
            bytes: bytes.into(),
            content_type: content_type.into(),
        }
    }

    pub(super) fn content_type(&self) -> Option<&str> {
        match self {
            Self::None => None,
            Self::Whole { content_type, .. } => Some(content_type),
            Self::Pieces(_) => Some("application/octet-stream"),
        }
    }
}

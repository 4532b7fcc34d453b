//! Who signed a request.

use std::sync::Arc;

use plinth_project::{Caller, Project, S3Pair};
use plinth_token::Secret;
use time::OffsetDateTime;

use crate::{
    error::{Code, StorageError},
    request::caller_from_token,
};

/// Whose signature it is.
pub(super) enum Signer<'a> {
    /// An S3 access key of the project.
    Pair(Arc<S3Pair>),
    /// A user, who signs with a public API key as secret and sends an access token as session token.
    Session {
        secrets: Vec<Secret>,
        token: &'a Secret,
    },
}

impl<'a> Signer<'a> {
    pub(super) fn find(
        project: &Project,
        access_key: &str,
        token: Option<&'a Secret>,
    ) -> Result<Self, StorageError> {
        let keys = project.keys();
        let Some(token) = token else {
            let pair = keys.s3.pairs.get(access_key).cloned();
            return pair.map(Self::Pair).ok_or_else(|| {
                let message = "The access key is unknown";
                StorageError::new(Code::InvalidAccessKeyId, 403, message)
            });
        };
        if access_key != project.reference().as_str() {
            return Err(StorageError::access_denied("Invalid Access Key"));
        }
        let secrets = keys.s3.session_secrets.clone();
        Ok(Self::Session { secrets, token })
    }

    /// The secrets that the signature may be made with.
    pub(super) fn secrets(&self) -> impl Iterator<Item = &Secret> {
        let secrets = match self {
            Self::Pair(pair) => std::slice::from_ref(&pair.secret_key),
            Self::Session { secrets, .. } => secrets,
        };
        secrets.iter()
    }

    pub(super) fn caller(
        &self,
        project: &Project,
        now: OffsetDateTime,
    ) -> Result<Caller, StorageError> {
        match self {
            Self::Pair(pair) => Ok(Caller::from_s3_pair(pair.clone())),
            Self::Session { token, .. } => {
                caller_from_token(project, token.expose(), now.unix_timestamp())
            }
        }
    }
}

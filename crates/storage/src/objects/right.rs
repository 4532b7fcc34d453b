//! On whose word something is uploaded: the caller's, or that of a token for one object.

use super::probe::{Intent, probe};
use crate::{
    error::{Code, StorageError},
    request::{Context, Place},
    signed_url::{self, Scope},
};

/// On what terms somebody uploads.
pub(crate) struct Right {
    pub(crate) owner: Option<String>,
    pub(crate) may_replace: bool,
    /// A token has settled that it is allowed; nobody's policies are asked.
    is_granted: bool,
}

impl Right {
    /// That of whoever calls; policies will be asked.
    pub(crate) fn of_caller(context: &Context, may_replace: bool) -> Self {
        Self {
            owner: context.owner().map(str::to_owned),
            may_replace,
            is_granted: false,
        }
    }

    /// That of whoever has a token for this place.
    pub(crate) fn of_token(
        context: &Context,
        place: &Place,
        token: &str,
    ) -> Result<Self, StorageError> {
        let grant = signed_url::check(context, Scope::Upload, &place.path(), token)?;
        Ok(Self {
            owner: grant.owner().map(str::to_owned),
            may_replace: grant.may_replace(),
            is_granted: true,
        })
    }

    /// Refuses what policies, or a name that is taken, would refuse.
    pub(crate) async fn check(
        &self,
        context: &Context,
        intent: &Intent<'_>,
    ) -> Result<(), StorageError> {
        match (self.is_granted, intent.may_replace) {
            (true, true) => Ok(()),
            (true, false) => refuse_taken(context, intent.place).await,
            (false, _) => probe(context, intent).await,
        }
    }
}

/// A token may be shown twice, but without the right to replace it is good for one object.
async fn refuse_taken(context: &Context, place: &Place) -> Result<(), StorageError> {
    const SQL: &str = "select from storage.objects where bucket_id = $1 and name = $2";
    let Place { bucket, key } = place;
    let rows = context
        .as_service_role()
        .read_only()
        .query(SQL, &[bucket, key])
        .await?;
    match rows.is_empty() {
        true => Ok(()),
        false => Err(StorageError::already_exists(Code::KeyAlreadyExists)),
    }
}

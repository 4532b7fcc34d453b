//! Finding an object on somebody's word (storage contract §3.3, §10.2).

use plinth_db::Row;

use super::Object;
use crate::{
    buckets::BucketRules,
    error::StorageError,
    request::{Access, Context, Place, check_bucket, check_key},
    signed_url::{self, Grant, Scope},
};

/// Finds an object for a request that may see it.
///
/// Bucket and object are read together in the service's own name. A public bucket needs no more;
/// for any other one Postgres is asked again as the caller, and the policies decide.
pub(crate) async fn find(
    context: &Context,
    access: Access,
    place: &Place,
) -> Result<Object, StorageError> {
    if access == Access::Authenticated {
        context.caller()?;
    }
    check_bucket(&place.bucket)?;
    check_key(&place.key)?;
    let (rules, object) = look_up(context, place)
        .await?
        .ok_or_else(StorageError::no_such_bucket)?;
    if rules.is_public {
        return object.ok_or_else(StorageError::no_such_key);
    }
    // Nobody learns from outside that a private bucket exists.
    let is_nobody = access == Access::Public || context.maybe_caller().is_none();
    match is_nobody {
        true => Err(StorageError::no_such_bucket()),
        false => find_as_caller(context, place).await,
    }
}

/// Finds an object that the caller's policies show.
pub(crate) async fn find_as_caller(
    context: &Context,
    place: &Place,
) -> Result<Object, StorageError> {
    let sql = format!(
        "select {} from storage.objects o where o.bucket_id = $1 and o.name = $2",
        Object::COLUMNS
    );
    let rows = context
        .as_caller()?
        .read_only()
        .query(&sql, &[&place.bucket, &place.key])
        .await?;
    rows.first()
        .map(Object::of_row)
        .ok_or_else(StorageError::no_such_key)
}

/// Finds an object that a signed URL is for.
pub(crate) async fn find_signed(
    context: &Context,
    place: &Place,
) -> Result<(Object, Grant), StorageError> {
    let query = context.query();
    let token = query.text("token")?.ok_or_else(|| query.missing("token"))?;
    check_bucket(&place.bucket)?;
    check_key(&place.key)?;
    let grant = signed_url::check(context, Scope::Download, &place.path(), &token)?;
    let found = look_up(context, place).await?;
    let object = found.and_then(|(_, object)| object);
    Ok((object.ok_or_else(StorageError::no_such_key)?, grant))
}

async fn look_up(
    context: &Context,
    place: &Place,
) -> Result<Option<(BucketRules, Option<Object>)>, StorageError> {
    let sql = format!(
        "select {}, {}
         from storage.buckets b
         left join storage.objects o on o.bucket_id = b.id and o.name = $2
         where b.id = $1",
        BucketRules::COLUMNS,
        Object::COLUMNS
    );
    let rows = context
        .as_service_role()
        .read_only()
        .query(&sql, &[&place.bucket, &place.key])
        .await?;
    let has_object = |row: &&Row| row.get::<_, Option<uuid::Uuid>>("id").is_some();
    Ok(rows.first().map(|row| {
        let object = Some(row).filter(has_object).map(Object::of_row);
        (BucketRules::of_row(row), object)
    }))
}

//! Finding an object that a request may read (storage contract §3.3, §10.2).

use plinth_db::Row;

use super::Object;
use crate::{
    buckets::BucketRules,
    error::StorageError,
    request::{Access, ObjectPath, RequestContext, check_bucket, check_key},
    signed_url::{self, Grant, Scope},
};

/// Finds an object that the request may read.
///
/// Bucket and object are read together as `service_role`. For a public bucket that is all; for any
/// other one the object is read again as the caller, and the policies decide.
pub(crate) async fn find(
    context: &RequestContext,
    access: Access,
    path: &ObjectPath,
) -> Result<Object, StorageError> {
    if access == Access::Authenticated {
        context.caller()?;
    }
    check_bucket(&path.bucket)?;
    check_key(&path.key, context.config.key_rules)?;
    let (rules, object) = find_with_bucket(context, path)
        .await?
        .ok_or_else(StorageError::no_such_bucket)?;
    if rules.is_public {
        return object.ok_or_else(StorageError::no_such_key);
    }
    // Without a credential no caller learns that a private bucket exists.
    let is_anonymous = access == Access::Public || context.optional_caller().is_none();
    if is_anonymous {
        Err(StorageError::no_such_bucket())
    } else {
        find_as_caller(context, path).await
    }
}

/// Finds an object that the caller's policies let through.
pub(crate) async fn find_as_caller(
    context: &RequestContext,
    path: &ObjectPath,
) -> Result<Object, StorageError> {
    let sql = format!(
        "select {} from storage.objects o where o.bucket_id = $1 and o.name = $2",
        Object::COLUMNS
    );
    let rows = context
        .as_caller()?
        .read_only()
        .query(&sql, &[&path.bucket, &path.key])
        .await?;
    rows.first()
        .map(Object::from_row)
        .ok_or_else(StorageError::no_such_key)
}

/// Finds the object of a signed URL.
pub(crate) async fn find_signed(
    context: &RequestContext,
    path: &ObjectPath,
) -> Result<(Object, Grant), StorageError> {
    let query = context.query();
    let token = query.text("token")?.ok_or_else(|| query.missing("token"))?;
    check_bucket(&path.bucket)?;
    check_key(&path.key, context.config.key_rules)?;
    let grant = signed_url::verify(context, Scope::Download, &path.joined(), &token)?;
    let found = find_with_bucket(context, path).await?;
    let object = found.and_then(|(_, object)| object);
    Ok((object.ok_or_else(StorageError::no_such_key)?, grant))
}

async fn find_with_bucket(
    context: &RequestContext,
    path: &ObjectPath,
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
        .query(&sql, &[&path.bucket, &path.key])
        .await?;
    let has_object = |row: &&Row| row.get::<_, Option<uuid::Uuid>>("id").is_some();
    Ok(rows.first().map(|row| {
        let object = Some(row).filter(has_object).map(Object::from_row);
        (BucketRules::from_row(row), object)
    }))
}

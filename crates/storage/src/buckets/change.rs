//! Creates, updates, empties and deletes buckets.

use axum::{
    Json,
    body::Body,
    response::{IntoResponse, Response},
};
use plinth_db::{End, Step};
use serde_json::json;
use time::OffsetDateTime;

use crate::{
    error::{Code, StorageError, unique_violation_as},
    request::{
        Fields, RequestContext, check_allowed_types, check_bucket, check_new_bucket,
        parse_file_size, read_fields,
    },
    response::message,
};

/// `POST /bucket`
pub(crate) async fn create(context: &RequestContext, body: Body) -> Result<Response, StorageError> {
    context.caller()?;
    let fields = read_fields(body).await?;
    let name = fields.required_text("name")?;
    let id = fields.text("id")?.unwrap_or_else(|| name.clone());
    let kind = fields.choice("type", &["STANDARD", "ANALYTICS"])?;
    check_new_bucket(&name)?;
    check_new_bucket(&id)?;
    if kind == Some("ANALYTICS") {
        let text = "The feature analytics buckets is not enabled for this resource";
        return Err(StorageError::new(Code::FeatureNotEnabled, 409, text));
    }
    let is_public = fields.flag("public")?.unwrap_or(false);
    let limit = size_limit(context, &fields)?.flatten();
    let types = allowed_types(&fields)?.flatten();
    let owner_id = context.owner();
    let owner = owner_id.and_then(|owner| uuid::Uuid::try_parse(owner).ok());

    const SQL: &str = "
        insert into storage.buckets
            (id, name, owner, owner_id, public, file_size_limit, allowed_mime_types)
        values ($1, $2, $3, $4, $5, $6, $7)
    ";
    context
        .as_caller()?
        .query(
            SQL,
            &[&id, &name, &owner, &owner_id, &is_public, &limit, &types],
        )
        .await
        .map_err(unique_violation_as(Code::BucketAlreadyExists))?;
    Ok(Json(json!({ "name": name })).into_response())
}

/// `PUT /bucket/{id}`
pub(crate) async fn update(
    context: &RequestContext,
    id: &str,
    body: Body,
) -> Result<Response, StorageError> {
    context.caller()?;
    let fields = read_fields(body).await?;
    check_bucket(id)?;
    let is_public = fields.flag("public")?;
    let limit = size_limit(context, &fields)?;
    let types = allowed_types(&fields)?;
    if is_public.is_none() && limit.is_none() && types.is_none() {
        let text = "body must have required property 'public'";
        return Err(StorageError::invalid_field(text));
    }

    const SQL: &str = "
        update storage.buckets set
            public = coalesce($2, public),
            file_size_limit = case when $3 then $4 else file_size_limit end,
            allowed_mime_types = case when $5 then $6 else allowed_mime_types end,
            updated_at = now()
        where id = $1
        returning id
    ";
    let (sets_limit, limit) = (limit.is_some(), limit.flatten());
    let (sets_types, types) = (types.is_some(), types.flatten());
    let rows = context
        .as_caller()?
        .query(
            SQL,
            &[&id, &is_public, &sets_limit, &limit, &sets_types, &types],
        )
        .await?;
    if rows.is_empty() {
        Err(StorageError::no_such_bucket())
    } else {
        Ok(message("Successfully updated"))
    }
}

/// `DELETE /bucket/{id}`
pub(crate) async fn delete(context: &RequestContext, id: &str) -> Result<Response, StorageError> {
    context.caller()?;
    check_bucket(id)?;
    // Policies decide whether the caller sees it, but not whether it is empty.
    const VISIBLE: &str = "select from storage.buckets where id = $1";
    let rows = context.as_caller()?.query(VISIBLE, &[&id]).await?;
    if rows.is_empty() {
        return Err(StorageError::no_such_bucket());
    }
    const CONTENTS: &str = "
        select
            exists (select from storage.objects where bucket_id = $1) as has_objects,
            exists (select from storage.s3_multipart_uploads where bucket_id = $1) as has_uploads
    ";
    let rows = context
        .as_service_role()
        .read_only()
        .query(CONTENTS, &[&id])
        .await?;
    let has = |what: &str| rows.first().is_some_and(|row| row.get(what));
    if has("has_objects") {
        return Err(not_empty());
    }
    if has("has_uploads") {
        return Err(referenced());
    }
    const SQL: &str = "delete from storage.buckets where id = $1 returning id";
    let deleted = context.as_caller()?.query(SQL, &[&id]).await;
    match deleted {
        Ok(rows) if rows.is_empty() => Err(StorageError::no_such_bucket()),
        Ok(_) => Ok(message("Successfully deleted")),
        // An object was created meanwhile.
        Err(error)
            if error
                .sqlstate()
                .is_some_and(|state| state.code() == "23503") =>
        {
            Err(not_empty())
        }
        Err(error) => Err(error.into()),
    }
}

fn not_empty() -> StorageError {
    let text = "The bucket you tried to delete is not empty";
    StorageError::new(Code::ResourceNotEmpty, 409, text)
}

fn referenced() -> StorageError {
    let text = "The bucket you tried to delete is referenced by a pending multipart upload";
    StorageError::new(Code::ResourceReferenced, 409, text)
}

/// Rows per transaction when a bucket is emptied.
const BATCH_SIZE: i64 = 500;

/// `POST /bucket/{id}/empty`
pub(crate) async fn empty(context: &RequestContext, id: &str) -> Result<Response, StorageError> {
    context.require_service_role()?;
    check_bucket(id)?;
    const COUNT: &str = "
        select (
            select count(*) from (
                select from storage.objects where bucket_id = b.id limit $2
            ) as counted
        ) as objects,
            now() as asked_at
        from storage.buckets b
        where b.id = $1
    ";
    let max_objects = context.config.empty_bucket_max;
    let rows = context
        .as_service_role()
        .read_only()
        .query(COUNT, &[&id, &(max_objects + 1)])
        .await?;
    let Some(row) = rows.first() else {
        return Err(StorageError::no_such_bucket());
    };
    let count: i64 = row.get("objects");
    // By the clock of the database: objects created later are kept.
    let asked_at: OffsetDateTime = row.get("asked_at");
    if count > max_objects {
        let text = "Unable to empty the bucket because it contains too many objects";
        return Err(StorageError::new(Code::InvalidRequest, 409, text));
    }
    // Triggers hand the blobs to the garbage collection in the same transaction.
    const SQL: &str = "
        delete from storage.objects where id in (
            select id from storage.objects
            where bucket_id = $1 and (created_at <= $2 or created_at is null)
            limit $3
        )
        returning id
    ";
    loop {
        let params: plinth_db::Params<'_> = &[&id, &asked_at, &BATCH_SIZE];
        let steps = [Step::typed(SQL, params)];
        let rows = context.as_service_role().run(&steps, End::Commit).await?;
        if rows.first().is_none_or(Vec::is_empty) {
            return Ok(message(
                "Empty bucket has been queued. Completion may take up to an hour.",
            ));
        }
    }
}

/// Outer `None`: not given. Inner `None`: no limit.
fn size_limit(
    context: &RequestContext,
    fields: &Fields,
) -> Result<Option<Option<i64>>, StorageError> {
    let name = "file_size_limit";
    if !fields.has(name) {
        return Ok(None);
    }
    if fields.is_null(name) {
        return Ok(Some(None));
    }
    let limit = match fields.value(name) {
        Some(serde_json::Value::String(text)) if text.parse::<i64>().is_err() => {
            parse_file_size(text)?
        }
        _ => fields.required_integer(name, 0)?,
    };
    let service_limit = i64::try_from(context.config.file_size_limit).unwrap_or(i64::MAX);
    if limit > service_limit {
        Err(StorageError::too_large())
    } else {
        Ok(Some(Some(limit)))
    }
}

/// Outer `None`: not given. Inner `None`: all types.
fn allowed_types(fields: &Fields) -> Result<Option<Option<Vec<String>>>, StorageError> {
    let name = "allowed_mime_types";
    if fields.is_null(name) {
        return Ok(Some(None));
    }
    let types = fields.texts(name)?.map(check_allowed_types).transpose()?;
    Ok(types.map(Some))
}

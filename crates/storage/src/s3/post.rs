//! Uploads from an HTML form with a signed policy.

use std::{collections::BTreeMap, sync::Arc};

use axum::{body::Body, response::Response};
use bytes::Bytes;
use http::{
    HeaderMap, StatusCode,
    header::{CONTENT_TYPE, ETAG},
    request::Parts,
};
use time::OffsetDateTime;

use super::{
    authenticate::authenticate_policy,
    operation::{Operation, Target},
    policy,
    put::{ObjectInfo, StoreOptions, etag, store},
    xml::Xml,
};
use crate::{
    blobs::ByteSource,
    error::StorageError,
    objects::respond,
    request::{Form, ObjectPath, Part, ProjectContext, RequestContext},
};

const MAX_FIELDS: usize = 100;
const MAX_FIELD_BYTES: usize = 64 * 1024;

/// `POST /{bucket}`
pub(super) async fn post(
    project: ProjectContext,
    parts: Parts,
    body: Body,
    target: Target,
) -> Result<Response, StorageError> {
    let now = OffsetDateTime::now_utc();
    let mut form = FileForm::open(&parts.headers, body).await?;
    let field = |name: &str| form.fields.get(name).cloned();
    let region = &project.config.s3_region;
    let caller = authenticate_policy(&project.project, region, field, now)?;
    let policy = form.field("policy")?;
    let sizes = policy::check(policy, &target.bucket, &form.fields, now)?;
    let key = form.field("key")?.replace("${filename}", &form.file_name);
    let path = ObjectPath {
        bucket: target.bucket,
        key,
    };
    let fields = form.fields.iter();
    let info = ObjectInfo::from_fields(fields.map(|(name, value)| (name.as_str(), value.clone())));
    let status = form.fields.get("success_action_status").cloned();
    let context = Arc::new(RequestContext::with_caller(
        project,
        parts,
        Operation::PostObject.name(),
        caller,
    ));
    let options = StoreOptions {
        may_replace: true,
        length: None,
        min_size: sizes.min,
        max_size: sizes.max,
    };
    let object = store(&context, path, info, options, &mut form).await?;
    let mut response = match status.as_deref() {
        Some("200") => respond(StatusCode::OK, HeaderMap::new(), Body::empty()),
        Some("201") => Xml::document("PostResponse", |xml| {
            xml.text("Location", format!("{}/{}", object.bucket_id, object.name));
            xml.text("Bucket", &object.bucket_id);
            xml.text("Key", &object.name);
            xml.optional_text("ETag", object.details().etag());
        })
        .into_response(StatusCode::CREATED),
        _ => respond(StatusCode::NO_CONTENT, HeaderMap::new(), Body::empty()),
    };
    response.headers_mut().insert(ETAG, etag(&object)?);
    Ok(response)
}

/// A form that was read up to its file.
struct FileForm {
    /// By their names in lower case.
    fields: BTreeMap<String, String>,
    file_name: String,
    file: Part,
    /// Fields behind the file are ignored.
    _rest: Form,
}

impl FileForm {
    async fn open(headers: &HeaderMap, body: Body) -> Result<Self, StorageError> {
        let kind = headers
            .get(CONTENT_TYPE)
            .and_then(|kind| kind.to_str().ok());
        let mut form = Form::open(kind.unwrap_or_default(), body)?;
        let mut fields = BTreeMap::new();
        while let Some(part) = form.next().await? {
            let name = part.name().to_ascii_lowercase();
            if name == "file" {
                return Ok(Self {
                    fields,
                    file_name: part.file_name().unwrap_or_default().to_owned(),
                    file: part,
                    _rest: form,
                });
            }
            let value = read_field(part).await?;
            if fields.len() == MAX_FIELDS || fields.insert(name, value).is_some() {
                let message = "The form has a duplicate field, or too many fields";
                return Err(StorageError::invalid_request(message));
            }
        }
        Err(StorageError::invalid_request("The form has no file"))
    }

    fn field(&self, name: &str) -> Result<&str, StorageError> {
        let value = self.fields.get(name).map(String::as_str);
        value.ok_or_else(|| StorageError::invalid_request(format!("The form has no field {name}")))
    }
}

impl ByteSource for FileForm {
    async fn next_chunk(&mut self) -> Result<Option<Bytes>, StorageError> {
        self.file.chunk().await
    }
}

async fn read_field(mut part: Part) -> Result<String, StorageError> {
    let mut text = Vec::new();
    while let Some(bytes) = part.chunk().await? {
        if text.len() + bytes.len() > MAX_FIELD_BYTES {
            let message = "A field of the form is too large";
            return Err(StorageError::invalid_request(message));
        }
        text.extend_from_slice(&bytes);
    }
    String::from_utf8(text)
        .map_err(|_| StorageError::invalid_request("A field of the form is not UTF-8"))
}

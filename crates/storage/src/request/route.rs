//! What a path and a method mean (storage contract §1.1).
//!
//! Fixed segments win over bucket names, and bucket names over the rest of the path; but a fixed
//! segment counts only with the methods that it is a route of, and only at the right length. So a
//! table decides, not a router.

use http::Method;

use crate::error::StorageError;

/// The endpoint of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Route {
    Status,
    Version,
    Health,
    ListBuckets,
    CreateBucket,
    Bucket(BucketAction, String),
    Object(ObjectAction, ObjectPath),
    /// Signed URLs for many objects of a bucket.
    SignMany(String),
    DeleteMany(String),
    List(String),
    ListV2(String),
    Move,
    Copy,
    Render(Access, ObjectPath),
    /// `/upload/resumable`, with the id behind it.
    Resumable {
        is_signed: bool,
        id: Option<String>,
    },
    /// Everything below `/s3`.
    S3,
    PurgeCache {
        bucket: Option<String>,
        key: Option<String>,
    },
}

/// What is done with one bucket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BucketAction {
    Get,
    Update,
    Delete,
    Empty,
}

/// What is done with one object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ObjectAction {
    /// `POST`
    Create,
    /// `PUT`
    Replace,
    SignUpload,
    UploadSigned,
    Download(Access),
    Head(Access),
    Info(Access),
    Sign,
    Delete,
}

/// What authorizes a request to read an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    /// The caller's policies, or nothing where the bucket is public.
    Any,
    /// The caller's policies.
    Authenticated,
    /// Nothing: the bucket must be public.
    Public,
    /// A signed URL.
    Signed,
}

/// The bucket and the name of an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ObjectPath {
    pub(crate) bucket: String,
    pub(crate) key: String,
}

impl ObjectPath {
    /// `bucket/key`
    pub(crate) fn joined(&self) -> String {
        format!("{}/{}", self.bucket, self.key)
    }
}

impl Route {
    /// Whether the request body is a file.
    pub(crate) fn takes_file(&self) -> bool {
        use ObjectAction::{Create, Replace, UploadSigned};
        matches!(self, Self::Object(Create | Replace | UploadSigned, _))
    }

    /// Whether the request needs no credential, or has one that is no API key.
    pub(crate) fn is_open(&self, method: &Method) -> bool {
        use Access::{Public, Signed};
        match self {
            Self::Status | Self::Version | Self::S3 => true,
            Self::Object(action, _) => match action {
                ObjectAction::UploadSigned => true,
                ObjectAction::Download(access)
                | ObjectAction::Head(access)
                | ObjectAction::Info(access) => matches!(access, Public | Signed),
                _ => false,
            },
            Self::Render(access, _) => matches!(access, Public | Signed),
            // Clients ask for the protocol's capabilities without a credential.
            Self::Resumable { is_signed, .. } => *is_signed || method == Method::OPTIONS,
            _ => false,
        }
    }

    /// Whether the object may be public, so that a request without a credential may succeed.
    pub(crate) fn may_be_public(&self) -> bool {
        use ObjectAction::{Download, Head, Info};
        match self {
            Self::Object(Download(access) | Head(access) | Info(access), _)
            | Self::Render(access, _) => matches!(access, Access::Any),
            _ => false,
        }
    }

    /// Parses a path below the mount point, percent-encoded as it was sent.
    pub(crate) fn parse(method: &Method, path: &str) -> Result<Self, StorageError> {
        let segments: Vec<_> = path.strip_prefix('/').unwrap_or(path).split('/').collect();
        let found = Self::find(method, &segments)?;
        found.ok_or_else(|| StorageError::no_such_route(method, path))
    }

    fn find(method: &Method, segments: &[&str]) -> Result<Option<Self>, StorageError> {
        let is_read = method == Method::GET || method == Method::HEAD;
        let route = match segments {
            ["status"] if is_read => Self::Status,
            ["version"] if is_read => Self::Version,
            ["health"] if is_read => Self::Health,
            ["bucket", rest @ ..] => return bucket_route(method, rest),
            ["object", rest @ ..] => return object_route(method, rest),
            ["render", "image", rest @ ..] if is_read => return render_route(rest),
            ["upload", "resumable", rest @ ..] => resumable_route(rest)?,
            ["s3", ..] => Self::S3,
            ["cdn", rest @ ..] if method == Method::DELETE => return cdn_route(rest),
            _ => return Ok(None),
        };
        Ok(Some(route))
    }
}

fn bucket_route(method: &Method, rest: &[&str]) -> Result<Option<Route>, StorageError> {
    let one = |action, id: &str| Ok(Some(Route::Bucket(action, percent_decode(id)?)));
    match (method, rest) {
        (&Method::GET | &Method::HEAD, [] | [""]) => Ok(Some(Route::ListBuckets)),
        (&Method::POST, [] | [""]) => Ok(Some(Route::CreateBucket)),
        (&Method::GET | &Method::HEAD, [id]) => one(BucketAction::Get, id),
        (&Method::PUT, [id]) if !id.is_empty() => one(BucketAction::Update, id),
        (&Method::DELETE, [id]) if !id.is_empty() => one(BucketAction::Delete, id),
        (&Method::POST, [id, "empty"]) => one(BucketAction::Empty, id),
        _ => Ok(None),
    }
}

fn object_route(method: &Method, rest: &[&str]) -> Result<Option<Route>, StorageError> {
    use {Access::*, ObjectAction::*};
    let of_bucket =
        |make: fn(String) -> Route, bucket: &str| Ok(Some(make(percent_decode(bucket)?)));
    let object = |action, bucket: &str, key: &[&str]| {
        Ok(Some(Route::Object(action, object_path(bucket, key)?)))
    };
    match (method, rest) {
        (&Method::POST, ["move"]) => Ok(Some(Route::Move)),
        (&Method::POST, ["copy"]) => Ok(Some(Route::Copy)),
        (&Method::POST, ["list", bucket]) => of_bucket(Route::List, bucket),
        (&Method::POST, ["list-v2", bucket]) => of_bucket(Route::ListV2, bucket),
        (&Method::POST, ["sign", bucket]) => of_bucket(Route::SignMany, bucket),
        (&Method::DELETE, [bucket]) => of_bucket(Route::DeleteMany, bucket),

        (&Method::POST, ["upload", "sign", bucket, key @ ..]) if !key.is_empty() => {
            object(SignUpload, bucket, key)
        }
        (&Method::PUT, ["upload", "sign", bucket, key @ ..]) if !key.is_empty() => {
            object(UploadSigned, bucket, key)
        }
        (&Method::POST, ["sign", bucket, key @ ..]) if !key.is_empty() => object(Sign, bucket, key),

        (&Method::GET | &Method::HEAD, ["info", "authenticated", bucket, key @ ..])
            if !key.is_empty() =>
        {
            object(info_action(method, Authenticated), bucket, key)
        }
        (&Method::GET | &Method::HEAD, ["info", "public", bucket, key @ ..]) if !key.is_empty() => {
            object(info_action(method, Public), bucket, key)
        }
        (&Method::GET | &Method::HEAD, ["info", bucket, key @ ..]) if !key.is_empty() => {
            object(info_action(method, Any), bucket, key)
        }
        (&Method::GET | &Method::HEAD, ["authenticated", bucket, key @ ..]) if !key.is_empty() => {
            object(download_action(method, Authenticated), bucket, key)
        }
        (&Method::GET | &Method::HEAD, ["public", bucket, key @ ..]) if !key.is_empty() => {
            object(download_action(method, Public), bucket, key)
        }
        (&Method::GET | &Method::HEAD, ["sign", bucket, key @ ..]) if !key.is_empty() => {
            object(download_action(method, Signed), bucket, key)
        }

        (&Method::GET | &Method::HEAD, [bucket, key @ ..]) if !key.is_empty() => {
            object(download_action(method, Any), bucket, key)
        }
        (&Method::POST, [bucket, key @ ..]) if !key.is_empty() => object(Create, bucket, key),
        (&Method::PUT, [bucket, key @ ..]) if !key.is_empty() => object(Replace, bucket, key),
        (&Method::DELETE, [bucket, key @ ..]) if !key.is_empty() => object(Delete, bucket, key),
        _ => Ok(None),
    }
}

fn info_action(method: &Method, access: Access) -> ObjectAction {
    match *method {
        Method::HEAD => ObjectAction::Head(access),
        _ => ObjectAction::Info(access),
    }
}

fn download_action(method: &Method, access: Access) -> ObjectAction {
    match *method {
        Method::HEAD => ObjectAction::Head(access),
        _ => ObjectAction::Download(access),
    }
}

fn render_route(rest: &[&str]) -> Result<Option<Route>, StorageError> {
    let (access, bucket, key) = match rest {
        ["public", bucket, key @ ..] => (Access::Public, bucket, key),
        ["authenticated", bucket, key @ ..] => (Access::Authenticated, bucket, key),
        ["sign", bucket, key @ ..] => (Access::Signed, bucket, key),
        _ => return Ok(None),
    };
    if key.is_empty() {
        Ok(None)
    } else {
        Ok(Some(Route::Render(access, object_path(bucket, key)?)))
    }
}

fn resumable_route(rest: &[&str]) -> Result<Route, StorageError> {
    let (is_signed, rest) = match rest {
        ["sign", rest @ ..] => (true, rest),
        _ => (false, rest),
    };
    let id = rest.join("/");
    let id = (!id.is_empty()).then(|| percent_decode(&id)).transpose()?;
    Ok(Route::Resumable { is_signed, id })
}

fn cdn_route(rest: &[&str]) -> Result<Option<Route>, StorageError> {
    let (bucket, key) = match rest {
        [] => (None, None),
        [bucket] => (Some(percent_decode(bucket)?), None),
        [bucket, key @ ..] => (
            Some(percent_decode(bucket)?),
            Some(percent_decode(&key.join("/"))?),
        ),
    };
    Ok(Some(Route::PurgeCache { bucket, key }))
}

fn object_path(bucket: &str, key: &[&str]) -> Result<ObjectPath, StorageError> {
    Ok(ObjectPath {
        bucket: percent_decode(bucket)?,
        key: percent_decode(&key.join("/"))?,
    })
}

/// Decodes percent-encoding once; a plus stays a plus.
pub(crate) fn percent_decode(text: &str) -> Result<String, StorageError> {
    let bad = || {
        let message = "The path has an invalid percent-encoding";
        StorageError::invalid_request(message)
    };
    let mut escapes = text.split('%').skip(1);
    let is_escape = |rest: &str| {
        let digits = rest.as_bytes().get(..2);
        digits.is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit))
    };
    if !escapes.all(is_escape) {
        return Err(bad());
    }
    let decoded = percent_encoding::percent_decode_str(text).decode_utf8();
    decoded.map(|text| text.into_owned()).map_err(|_| bad())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(method: Method, path: &str) -> Option<Route> {
        Route::parse(&method, path).ok()
    }

    fn object(action: ObjectAction, bucket: &str, key: &str) -> Option<Route> {
        let path = ObjectPath {
            bucket: bucket.to_owned(),
            key: key.to_owned(),
        };
        Some(Route::Object(action, path))
    }

    #[test]
    fn fixed_segments_win_over_names_only_where_they_are_routes() {
        use {Access::*, ObjectAction::*};
        let check = |method, path, expected| assert_eq!(parse(method, path), expected, "{path}");
        check(
            Method::POST,
            "/object/list/b",
            Some(Route::List("b".into())),
        );
        check(
            Method::POST,
            "/object/list/b/",
            object(Create, "list", "b/"),
        );
        check(
            Method::GET,
            "/object/list/b",
            object(Download(Any), "list", "b"),
        );
        check(Method::POST, "/object/move", Some(Route::Move));
        check(Method::POST, "/object/move/x", object(Create, "move", "x"));
        check(
            Method::POST,
            "/object/sign/b",
            Some(Route::SignMany("b".into())),
        );
        check(Method::POST, "/object/sign/b/k", object(Sign, "b", "k"));
        check(
            Method::PUT,
            "/object/sign/b/k",
            object(Replace, "sign", "b/k"),
        );
        check(
            Method::GET,
            "/object/public/b/k/l",
            object(Download(Public), "b", "k/l"),
        );
        check(
            Method::HEAD,
            "/object/sign/b/k",
            object(Head(Signed), "b", "k"),
        );
        check(
            Method::GET,
            "/object/info/public/b/k",
            object(Info(Public), "b", "k"),
        );
        check(Method::GET, "/object/info/b/k", object(Info(Any), "b", "k"));
        check(
            Method::POST,
            "/object/upload/sign/b/k",
            object(SignUpload, "b", "k"),
        );
        check(
            Method::POST,
            "/object/upload/sign/b",
            object(Create, "upload", "sign/b"),
        );
        check(
            Method::DELETE,
            "/object/b",
            Some(Route::DeleteMany("b".into())),
        );
        check(Method::GET, "/bucket/", Some(Route::ListBuckets));
        check(Method::GET, "/bucket/a/b", None);
        check(Method::GET, "/nothing", None);
    }

    #[test]
    fn keys_are_decoded_once_and_keep_their_slashes() {
        use ObjectAction::Create;
        let check = |path, key| assert_eq!(parse(Method::POST, path), object(Create, "b", key));
        check("/object/b/a%2Fb", "a/b");
        check("/object/b/a//b", "a//b");
        check("/object/b//a", "/a");
        check("/object/b/a+b%20c", "a+b c");
        check("/object/b/%252e%252e", "%2e%2e");
        check("/object/b/a/", "a/");
        assert_eq!(parse(Method::POST, "/object/b/%zz"), None);
        assert_eq!(parse(Method::POST, "/object/b/%ff"), None);
    }
}

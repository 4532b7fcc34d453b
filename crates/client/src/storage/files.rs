//! The files of a bucket.

use std::fmt;
use std::time::Duration;

use http::Method;
use serde_json::json;

use super::request::{Call, RequestContext, StorageRequest, read_json};
use super::resumable::{ReadAt, ResumableUploadRequest};
use super::upload::Target;
use super::{
    CopyRequest, DownloadRequest, FileInfo, FileObject, ListRequest, ListV2Request, MoveRequest,
    PublicUrlBuilder, SignedUploadUrlRequest, SignedUrlRequest, SignedUrlsRequest, StorageError,
    UploadBody, UploadRequest, path,
};

/// The files of a bucket; see [`Storage::from`](super::Storage::from).
#[derive(Clone)]
#[must_use = "files do nothing by themselves"]
pub struct Files {
    pub(super) context: RequestContext,
    pub(super) bucket: String,
}

impl Files {
    pub(super) fn new(context: RequestContext, bucket: &str) -> Self {
        Self {
            context,
            bucket: bucket.to_owned(),
        }
    }

    /// Uploads bytes, a text, a [file](UploadBody::file) or a [stream](UploadBody::stream).
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("sea.jpg");
    /// # std::fs::write(&path, "waves")?;
    /// # let client = plinth_client::Client::builder("http://localhost:54321", "key");
    /// # let client = client.http_service(axum::Router::new().route(
    /// #     "/storage/v1/object/photos/2024/sea.jpg",
    /// #     axum::routing::post(|| async { r#"{"Key":"photos/2024/sea.jpg","Id":"1"}"# }),
    /// # )).build()?;
    /// use plinth_client::storage::UploadBody;
    ///
    /// let photos = client.storage().from("photos");
    /// let photo = photos.upload("2024/sea.jpg", UploadBody::file(path)).upsert(true);
    /// photo.metadata(&serde_json::json!({ "place": "Sylt" })).send().await?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn upload(&self, path: &str, body: impl Into<UploadBody>) -> UploadRequest {
        UploadRequest::new(self, path, body.into(), Target::New)
    }

    /// Replaces a file, or creates it.
    pub fn update(&self, path: &str, body: impl Into<UploadBody>) -> UploadRequest {
        UploadRequest::new(self, path, body.into(), Target::Any)
    }

    /// Uploads with a [signed upload URL](Files::signed_upload_url).
    pub fn upload_to_signed_url(
        &self,
        path: &str,
        token: &str,
        body: impl Into<UploadBody>,
    ) -> UploadRequest {
        UploadRequest::new(self, path, body.into(), Target::Signed(token.to_owned()))
    }

    /// Starts a resumable upload: a lost connection costs no more than the last chunk.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # use axum::http::StatusCode;
    /// # fn remember(_: &str) {}
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("sea.mp4");
    /// # std::fs::write(&path, "waves")?;
    /// # let begun = || async { (StatusCode::CREATED, [("location", "/upload/resumable/id")]) };
    /// # let arrived = || async { (StatusCode::NO_CONTENT, [("upload-offset", "5")]) };
    /// # let client = plinth_client::Client::builder("http://localhost:54321", "key");
    /// # let client = client.http_service(axum::Router::new()
    /// #     .route("/storage/v1/upload/resumable", axum::routing::post(begun))
    /// #     .route("/storage/v1/upload/resumable/id", axum::routing::patch(arrived)))
    /// #     .build()?;
    /// let films = client.storage().from("films");
    /// let upload = films.upload_resumable("sea.mp4", path);
    /// let upload = upload.progress(|sent, total| println!("{sent} of {total}"));
    /// let mut upload = upload.start().await?;
    /// // With this token another run of the program can resume: `.resume(token)`.
    /// remember(upload.token().as_str());
    /// upload.finish().await?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn upload_resumable(&self, path: &str, source: impl ReadAt) -> ResumableUploadRequest {
        ResumableUploadRequest::new(self, path, source)
    }

    /// Downloads a file.
    pub fn download(&self, path: &str) -> DownloadRequest {
        DownloadRequest::new(self, path)
    }

    /// Metadata of a file.
    pub fn info(&self, path: &str) -> StorageRequest<FileInfo> {
        StorageRequest::new(&self.context, self.info_call(path), |response| {
            read_json(&response?)
        })
    }

    /// Whether a file exists and is visible to the caller. A missing bucket is an error.
    pub fn exists(&self, path: &str) -> StorageRequest<bool> {
        StorageRequest::new(
            &self.context,
            self.info_call(path),
            |response| match response {
                Ok(_) => Ok(true),
                Err(error) if error.is_missing_file() => Ok(false),
                Err(error) => Err(error),
            },
        )
    }

    /// The files and folders in a folder; `""` is the bucket itself.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let client = plinth_client::Client::builder("http://localhost:54321", "key");
    /// # let client = client.http_service(axum::Router::new()
    /// #     .fallback(|| async { r#"[{"name":"sea.jpg","id":"1"}]"# })).build()?;
    /// use plinth_client::storage::SortBy;
    ///
    /// let photos = client.storage().from("photos");
    /// for file in photos.list("2024").sort_by(SortBy::CreatedAt).desc().limit(20).send().await? {
    ///     println!("{}", file.name);
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub fn list(&self, folder: &str) -> ListRequest {
        ListRequest::new(self, folder)
    }

    /// All files with a prefix, paginated.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let client = plinth_client::Client::builder("http://localhost:54321", "key");
    /// # let client = client.http_service(axum::Router::new().fallback(
    /// #     || async { r#"{"hasNext":false,"folders":[],"objects":[{"name":"2024/sea.jpg"}]}"# },
    /// # )).build()?;
    /// use futures_util::TryStreamExt;
    ///
    /// let mut pages = client.storage().from("photos").list_v2().prefix("2024/").stream();
    /// while let Some(page) = pages.try_next().await? {
    ///     println!("{} files", page.objects.len());
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub fn list_v2(&self) -> ListV2Request {
        ListV2Request::new(self)
    }

    /// Deletes files, and returns the deleted ones. Missing files and those without permission are left
    /// out.
    pub fn remove<T: Into<String>>(
        &self,
        paths: impl IntoIterator<Item = T>,
    ) -> StorageRequest<Vec<FileObject>> {
        let paths: Vec<String> = paths.into_iter().map(Into::into).collect();
        let call = path::bucket(&self.bucket).and_then(|bucket| {
            let call = Call::new(Method::DELETE, format!("object/{bucket}"));
            call.json(&json!({ "prefixes": paths }))
        });
        StorageRequest::new(&self.context, call, |response| read_json(&response?))
    }

    /// Copies a file.
    pub fn copy(&self, from: &str, to: &str) -> CopyRequest {
        CopyRequest::new(self, from, to)
    }

    /// Moves a file.
    pub fn move_(&self, from: &str, to: &str) -> MoveRequest {
        MoveRequest::new(self, from, to)
    }

    /// A URL at which a file is readable for a limited time, rounded up to whole seconds.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let client = plinth_client::Client::builder("http://localhost:54321", "key");
    /// # let client = client.http_service(axum::Router::new().fallback(
    /// #     || async { r#"{"signedURL":"/object/sign/photos/sea.jpg?token=t"}"# })).build()?;
    /// use std::time::Duration;
    ///
    /// let photos = client.storage().from("photos");
    /// let url = photos.signed_url("sea.jpg", Duration::from_secs(60)).download("sea.jpg");
    /// assert!(url.send().await?.ends_with("?token=t&download=sea.jpg"));
    /// # Ok(())
    /// # }
    /// ```
    pub fn signed_url(&self, path: &str, valid_for: Duration) -> SignedUrlRequest {
        SignedUrlRequest::new(self, path, valid_for)
    }

    /// The same for several files.
    pub fn signed_urls<T: Into<String>>(
        &self,
        paths: impl IntoIterator<Item = T>,
        valid_for: Duration,
    ) -> SignedUrlsRequest {
        let paths = paths.into_iter().map(Into::into).collect();
        SignedUrlsRequest::new(self, paths, valid_for)
    }

    /// A signed URL with which this file can be uploaded.
    pub fn signed_upload_url(&self, path: &str) -> SignedUploadUrlRequest {
        SignedUploadUrlRequest::new(self, path)
    }

    /// The URL of a file in a public bucket. No request is made, so the file may not exist.
    pub fn public_url(&self, path: &str) -> PublicUrlBuilder {
        PublicUrlBuilder::new(self, path)
    }

    pub(super) fn object(&self, path: &str) -> Result<String, StorageError> {
        path::object(&self.bucket, path)
    }

    fn info_call(&self, path: &str) -> Result<Call, StorageError> {
        Ok(Call::get(format!("object/info/{}", self.object(path)?)))
    }
}

impl fmt::Debug for Files {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Files")
            .field("bucket", &self.bucket)
            .finish_non_exhaustive()
    }
}

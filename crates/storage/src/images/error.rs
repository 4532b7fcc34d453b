//! Why an image cannot be rendered, in the words of the contract (§4).

use image::ImageError;

use crate::error::{Code, StorageError};

/// 400: not an image, a damaged one, or of a format that we cannot read.
pub(super) fn invalid() -> StorageError {
    let message = "The source image is invalid or unsupported for rendering";
    StorageError::new(Code::InvalidRequest, 400, message)
}

/// 400: rendering takes more pixels or more memory than is allowed for one image.
pub(super) fn too_many_pixels() -> StorageError {
    let message = "The source image resolution is too large to process";
    StorageError::new(Code::InvalidRequest, 400, message)
}

/// 400: the file itself is larger than allowed.
pub(crate) fn too_many_bytes() -> StorageError {
    let message = "The source image file is too large to process";
    StorageError::new(Code::InvalidRequest, 400, message)
}

/// 429: the queue is full.
pub(super) fn overloaded() -> StorageError {
    StorageError::new(Code::SlowDown, 429, "Too many requests")
}

/// 408: the image was not ready in time.
pub(super) fn timed_out() -> StorageError {
    StorageError::new(Code::InvalidRequest, 408, "Image request timed out")
}

pub(super) fn decode_error(error: ImageError) -> StorageError {
    match error {
        ImageError::Limits(_) => too_many_pixels(),
        _ => invalid(),
    }
}

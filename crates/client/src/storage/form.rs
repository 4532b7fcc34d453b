//! Multipart uploads, for metadata that does not fit into a header.

use std::fmt::Write as _;

use bytes::Bytes;

use super::StorageError;
use super::upload_body::Sending;

/// Fields followed by the file: servers read the metadata before the bytes.
pub(super) struct Form {
    boundary: String,
    fields: String,
    file_type: String,
}

impl Form {
    /// With a file of this type.
    pub(super) fn new(file_type: &str) -> Result<Self, StorageError> {
        let mut random = [0; 16];
        getrandom::fill(&mut random).map_err(|error| StorageError::Body(error.to_string()))?;
        if http::HeaderValue::from_str(file_type).is_err() {
            return Err(StorageError::InvalidInput(
                "the content type cannot be sent as given",
            ));
        }
        let mut boundary = String::from("plinth-");
        for byte in random {
            _ = write!(boundary, "{byte:02x}");
        }
        Ok(Self {
            boundary,
            fields: String::new(),
            file_type: file_type.to_owned(),
        })
    }

    pub(super) fn field(mut self, name: &str, value: &str) -> Self {
        let boundary = &self.boundary;
        _ = write!(
            self.fields,
            "--{boundary}\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n{value}\r\n"
        );
        self
    }

    pub(super) fn content_type(&self) -> String {
        format!("multipart/form-data; boundary={}", self.boundary)
    }

    /// The form with this as its file, whose field has no name.
    pub(super) fn around(self, body: Sending) -> Sending {
        let (boundary, file_type) = (&self.boundary, &self.file_type);
        let mut before = self.fields;
        _ = write!(
            before,
            "--{boundary}\r\nContent-Disposition: form-data; name=\"\"; filename=\"blob\"\r\n\
             Content-Type: {file_type}\r\n\r\n"
        );
        let after = format!("\r\n--{boundary}--\r\n");
        body.between(Bytes::from(before), Bytes::from(after))
    }
}

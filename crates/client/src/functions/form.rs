//! Multipart forms, sent and received.

use std::fmt::Write as _;

use bytes::{Bytes, BytesMut};

use super::FunctionError;

/// A form (`multipart/form-data`), to be sent or received.
///
/// ```
/// use plinth_client::functions::Form;
///
/// let form = Form::new()
///     .text("title", "The sea")
///     .file("photo", "sea.jpg", "image/jpeg", vec![0xff, 0xd8]);
/// assert_eq!(form.get("title").unwrap().text(), "The sea");
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Form {
    parts: Vec<FormPart>,
}

/// One field of a form.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct FormPart {
    /// The field's name.
    pub name: String,
    /// The file name, if it is a file.
    pub file_name: Option<String>,
    /// Its content type, if given.
    pub content_type: Option<String>,
    /// Its content.
    pub bytes: Bytes,
}

impl FormPart {
    /// Its content as text; invalid UTF-8 is replaced.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.bytes).into_owned()
    }
}

impl Form {
    /// An empty form.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a text field.
    pub fn text(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.parts.push(FormPart {
            name: name.into(),
            file_name: None,
            content_type: None,
            bytes: value.into().into(),
        });
        self
    }

    /// Adds a file.
    pub fn file(
        mut self,
        name: impl Into<String>,
        file_name: impl Into<String>,
        content_type: impl Into<String>,
        bytes: impl Into<Bytes>,
    ) -> Self {
        self.parts.push(FormPart {
            name: name.into(),
            file_name: Some(file_name.into()),
            content_type: Some(content_type.into()),
            bytes: bytes.into(),
        });
        self
    }

    /// The first field of this name.
    pub fn get(&self, name: &str) -> Option<&FormPart> {
        self.parts.iter().find(|part| part.name == name)
    }

    /// All fields, in their order.
    pub fn parts(&self) -> &[FormPart] {
        &self.parts
    }

    /// The content type with its boundary, and the encoded bytes.
    pub(super) fn render(&self) -> Result<(String, Bytes), FunctionError> {
        let boundary = boundary()?;
        let mut bytes = BytesMut::new();
        for part in &self.parts {
            bytes.extend_from_slice(part.head(&boundary)?.as_bytes());
            bytes.extend_from_slice(&part.bytes);
            bytes.extend_from_slice(b"\r\n");
        }
        bytes.extend_from_slice(format!("--{boundary}--\r\n").as_bytes());
        let content_type = format!("multipart/form-data; boundary={boundary}");
        Ok((content_type, bytes.freeze()))
    }

    /// Parses a received form.
    pub(super) async fn parse(content_type: &str, body: Bytes) -> Result<Self, FunctionError> {
        let boundary = multer::parse_boundary(content_type).map_err(FunctionError::unreadable)?;
        let whole = futures_util::stream::iter([Ok::<_, std::convert::Infallible>(body)]);
        let mut fields = multer::Multipart::new(whole, boundary);
        let mut form = Self::new();
        while let Some(field) = fields
            .next_field()
            .await
            .map_err(FunctionError::unreadable)?
        {
            form.parts.push(FormPart {
                name: field.name().unwrap_or_default().to_owned(),
                file_name: field.file_name().map(str::to_owned),
                content_type: field.content_type().map(ToString::to_string),
                bytes: field.bytes().await.map_err(FunctionError::unreadable)?,
            });
        }
        Ok(form)
    }
}

impl FormPart {
    fn head(&self, boundary: &str) -> Result<String, FunctionError> {
        let mut head = format!("--{boundary}\r\nContent-Disposition: form-data; name=\"");
        head.push_str(&escaped(&self.name));
        head.push('"');
        if let Some(file_name) = &self.file_name {
            _ = write!(head, "; filename=\"{}\"", escaped(file_name));
        }
        if let Some(content_type) = &self.content_type {
            if http::HeaderValue::from_str(content_type).is_err() {
                return Err(FunctionError::InvalidInput(
                    "the type of a file cannot be sent as given",
                ));
            }
            _ = write!(head, "\r\nContent-Type: {content_type}");
        }
        head.push_str("\r\n\r\n");
        Ok(head)
    }
}

/// Escapes names as browsers do.
fn escaped(name: &str) -> String {
    name.replace('\r', "%0D")
        .replace('\n', "%0A")
        .replace('"', "%22")
}

fn boundary() -> Result<String, FunctionError> {
    let mut random = [0; 16];
    getrandom::fill(&mut random).map_err(|error| FunctionError::Body(error.to_string()))?;
    let mut boundary = String::from("plinth-");
    for byte in random {
        _ = write!(boundary, "{byte:02x}");
    }
    Ok(boundary)
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn there_and_back(form: &Form) -> Form {
        let (content_type, bytes) = form.render().unwrap();
        Form::parse(&content_type, bytes).await.unwrap()
    }

    #[tokio::test]
    async fn a_form_arrives_as_it_was_sent() {
        let form = Form::new()
            .text("title", "a\r\n--b")
            .text("title", "")
            .file("ü", "sea.jpg", "image/jpeg", vec![0, 255, 13, 10]);

        assert_eq!(there_and_back(&form).await, form);
        assert_eq!(there_and_back(&Form::new()).await, Form::new());
    }

    #[test]
    fn names_end_no_header() {
        let form = Form::new().text("a\"\r\nX-Evil: 1", "v");
        let (_, bytes) = form.render().unwrap();

        let text = String::from_utf8(bytes.to_vec()).unwrap();
        assert!(text.contains("name=\"a%22%0D%0AX-Evil: 1\""), "{text}");
        assert!(!text.contains("\nX-Evil"), "{text}");
    }

    #[test]
    fn a_type_that_ends_its_header_is_rejected() {
        let form = Form::new().file("a", "b", "text/plain\r\nx: y", "");

        assert!(matches!(form.render(), Err(FunctionError::InvalidInput(_))));
    }

    #[tokio::test]
    async fn what_is_no_form_is_unreadable() {
        for (content_type, body) in [
            ("multipart/form-data", "x"),
            ("multipart/form-data; boundary=b", "--b\r\nno"),
            ("multipart/form-data; boundary=b", ""),
        ] {
            let read = Form::parse(content_type, Bytes::from(body)).await;
            assert!(matches!(read, Err(FunctionError::Unreadable(_))), "{body}");
        }
    }

    proptest::proptest! {
        #[test]
        fn fields_of_any_bytes_survive(values in proptest::collection::vec(
            proptest::collection::vec(proptest::num::u8::ANY, 0..50), 0..5,
        )) {
            let form = values.iter().fold(Form::new(), |form, bytes| {
                form.file("f", "n", "application/octet-stream", bytes.clone())
            });
            let back = futures_util::FutureExt::now_or_never(there_and_back(&form));
            assert_eq!(back, Some(form));
        }
    }
}

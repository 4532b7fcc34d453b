//! Multipart forms, as browsers encode them.

const BOUNDARY: &str = "----a-boundary-that-no-file-holds";

/// Parts in their order.
#[derive(Default)]
pub(crate) struct Form(String);

impl Form {
    pub(crate) fn field(mut self, name: &str, value: &str) -> Self {
        self.part(&format!("form-data; name=\"{name}\""), None, value);
        self
    }

    /// With an empty name, as in storage-js.
    pub(crate) fn file(self, content_type: &str, content: &str) -> Self {
        self.named_file("", content_type, content)
    }

    pub(crate) fn named_file(mut self, name: &str, content_type: &str, content: &str) -> Self {
        let disposition = format!("form-data; name=\"{name}\"; filename=\"blob\"");
        self.part(&disposition, Some(content_type), content);
        self
    }

    /// A part without a file name.
    pub(crate) fn bare(mut self, name: &str, content_type: &str, content: &str) -> Self {
        let disposition = format!("form-data; name=\"{name}\"");
        self.part(&disposition, Some(content_type), content);
        self
    }

    fn part(&mut self, disposition: &str, content_type: Option<&str>, content: &str) {
        let kind = content_type.map(|kind| format!("Content-Type: {kind}\r\n"));
        let kind = kind.unwrap_or_default();
        let head = format!("--{BOUNDARY}\r\nContent-Disposition: {disposition}\r\n{kind}\r\n");
        self.0.push_str(&head);
        self.0.push_str(content);
        self.0.push_str("\r\n");
    }

    /// The content type and the body.
    pub(crate) fn encode(&self) -> (String, String) {
        let content_type = format!("multipart/form-data; boundary={BOUNDARY}");
        (content_type, format!("{}--{BOUNDARY}--\r\n", self.0))
    }

    /// The same without its final boundary.
    pub(crate) fn cut_off(&self) -> (String, String) {
        let (content_type, _) = self.encode();
        (content_type, self.0.clone())
    }
}

//! Writes and parses the XML of the S3 protocol.

use std::fmt::Display;

use axum::{body::Body, response::Response};
use bytes::Bytes;
use http::{HeaderValue, StatusCode, header::CONTENT_TYPE};
use quick_xml::{Reader, events::Event};

use crate::error::{Code, StorageError};

pub(super) const DECLARATION: &str = r#"<?xml version="1.0" encoding="UTF-8" standalone="yes"?>"#;
const NAMESPACE: &str = "http://s3.amazonaws.com/doc/2006-03-01/";
/// No request is nested deeper.
const MAX_DEPTH: usize = 8;

/// A document that is being written.
pub(super) struct Xml(String);

impl Xml {
    /// A document with this root.
    pub(super) fn document(root: &str, write: impl FnOnce(&mut Self)) -> Self {
        let mut xml = Self(format!(r#"{DECLARATION}<{root} xmlns="{NAMESPACE}">"#));
        write(&mut xml);
        xml.0.push_str(&format!("</{root}>"));
        xml
    }

    /// The document of an error. Without a namespace, with which botocore does not recognize it.
    pub(super) fn error(write: impl FnOnce(&mut Self)) -> Self {
        let mut xml = Self(DECLARATION.to_owned());
        xml.element("Error", write);
        xml
    }

    /// An element with children.
    pub(super) fn element(&mut self, name: &str, write: impl FnOnce(&mut Self)) {
        self.0.push_str(&format!("<{name}>"));
        write(self);
        self.0.push_str(&format!("</{name}>"));
    }

    /// An element with a text.
    pub(super) fn text(&mut self, name: &str, value: impl Display) {
        self.element(name, |xml| xml.characters(&value.to_string()));
    }

    /// The same, if there is a text.
    pub(super) fn optional_text(&mut self, name: &str, value: Option<impl Display>) {
        if let Some(value) = value {
            self.text(name, value);
        }
    }

    /// Escaped text.
    pub(super) fn characters(&mut self, text: &str) {
        for character in text.chars() {
            match character {
                '&' => self.0.push_str("&amp;"),
                '<' => self.0.push_str("&lt;"),
                '>' => self.0.push_str("&gt;"),
                '"' => self.0.push_str("&quot;"),
                // Parsers would turn it into a line break.
                '\r' => self.0.push_str("&#13;"),
                '\t' | '\n' => self.0.push(character),
                // XML cannot represent it.
                control if control.is_control() => self.0.push(char::REPLACEMENT_CHARACTER),
                character => self.0.push(character),
            }
        }
    }

    pub(super) fn into_response(self, status: StatusCode) -> Response {
        Self::response(status, Body::from(self.0))
    }

    /// The document without its XML declaration.
    pub(super) fn without_declaration(mut self) -> Bytes {
        let root = self.0.split_off(DECLARATION.len());
        root.into()
    }

    /// A response whose body is, or will be, a document.
    pub(super) fn response(status: StatusCode, body: Body) -> Response {
        let mut response = Response::new(body);
        *response.status_mut() = status;
        let xml = HeaderValue::from_static("application/xml; charset=utf-8");
        response.headers_mut().insert(CONTENT_TYPE, xml);
        response
    }

    #[cfg(test)]
    pub(super) fn as_str(&self) -> &str {
        &self.0
    }
}

/// A parsed element. Its name has no namespace prefix.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Element {
    pub(super) name: String,
    pub(super) text: String,
    children: Vec<Element>,
}

impl Element {
    /// Parses a document.
    pub(super) fn parse(bytes: &[u8]) -> Result<Self, StorageError> {
        let text = std::str::from_utf8(bytes).map_err(|_| malformed())?;
        let mut reader = Reader::from_str(text);
        let mut open: Vec<Self> = vec![Self::default()];
        loop {
            let event = reader.read_event().map_err(|_| malformed())?;
            match event {
                Event::Start(start) => {
                    open.push(Self::named(start.local_name().as_ref()));
                    if open.len() > MAX_DEPTH {
                        return Err(malformed());
                    }
                }
                Event::Empty(start) => {
                    let element = Self::named(start.local_name().as_ref());
                    last(&mut open)?.children.push(element);
                }
                Event::End(_) => {
                    let element = open.pop().ok_or_else(malformed)?;
                    last(&mut open)?.children.push(element);
                }
                Event::Text(text) => {
                    last(&mut open)?.text.push_str(&text);
                }
                Event::CData(text) => {
                    last(&mut open)?.text.push_str(&text);
                }
                Event::GeneralRef(reference) => {
                    let character = match reference.resolve_char_ref() {
                        Ok(Some(character)) => character,
                        _ => named_character(&reference).ok_or_else(malformed)?,
                    };
                    last(&mut open)?.text.push(character);
                }
                Event::DocType(_) => return Err(malformed()),
                Event::Decl(_) | Event::PI(_) | Event::Comment(_) => {}
                Event::Eof => break,
            }
        }
        let mut document = open
            .pop()
            .filter(|_| open.is_empty())
            .ok_or_else(malformed)?;
        match (document.children.pop(), document.children.is_empty()) {
            (Some(root), true) => Ok(root),
            _ => Err(malformed()),
        }
    }

    fn named(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            ..Self::default()
        }
    }

    /// Its children of that name.
    pub(super) fn all(&self, name: &str) -> impl Iterator<Item = &Element> {
        self.children.iter().filter(move |child| child.name == name)
    }

    /// The text of its first child of that name.
    pub(super) fn child_text(&self, name: &str) -> Option<&str> {
        self.all(name).next().map(|child| child.text.as_str())
    }
}

fn last(open: &mut [Element]) -> Result<&mut Element, StorageError> {
    open.last_mut().ok_or_else(malformed)
}

fn named_character(name: &str) -> Option<char> {
    match name {
        "amp" => Some('&'),
        "lt" => Some('<'),
        "gt" => Some('>'),
        "quot" => Some('"'),
        "apos" => Some('\''),
        _ => None,
    }
}

/// The body is not valid XML, or not that of the operation.
pub(super) fn malformed() -> StorageError {
    let message = "The XML is not well-formed or not valid for this operation";
    StorageError::new(Code::MalformedXML, 400, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_survive_writing_and_parsing() {
        for text in ["", " ", "a&b<c>\"d'", "1e5", "true", "a\r\nb", "ä 語"] {
            let xml = Xml::document("R", |xml| xml.text("Key", text));
            let read = Element::parse(xml.as_str().as_bytes()).expect("well-formed");
            assert_eq!(read.child_text("Key"), Some(text));
        }
    }

    #[test]
    fn namespaces_and_references_are_understood() {
        let text = r#"<?xml version="1.0"?><s3:Delete xmlns:s3="x"><s3:Object><s3:Key>a&amp;&#98;&#x63;<![CDATA[<]]></s3:Key></s3:Object><Quiet/></s3:Delete>"#;
        let read = Element::parse(text.as_bytes()).expect("well-formed");
        let object = read.all("Object").next().expect("an object");
        assert_eq!(object.child_text("Key"), Some("a&bc<"));
        assert_eq!(read.child_text("Quiet"), Some(""));
    }

    #[test]
    fn invalid_documents_are_rejected() {
        let deep = "<a>".repeat(20);
        for text in [
            "",
            "text",
            "<a>",
            "<a></b>",
            "<a/><b/>",
            "<a>&unknown;</a>",
            "<!DOCTYPE a [<!ENTITY b \"c\">]><a>&b;</a>",
            &deep,
            "<a",
        ] {
            assert!(Element::parse(text.as_bytes()).is_err(), "{text}");
        }
        assert!(Element::parse(b"<a>\xff</a>").is_err());
    }
}

//! Fields of JSON bodies and query strings: parsed leniently, errors name the field (storage
//! contract §1.3).

use serde_json::{Map, Value};

use crate::error::{Code, StorageError};

/// JSON bodies are small; files are not JSON.
pub(super) const MAX_JSON_BYTES: usize = 1024 * 1024;

/// Named values of a request, and where they are: `body`, `querystring`, or an object inside.
pub(crate) struct Fields {
    location: String,
    values: Map<String, Value>,
}

impl Fields {
    /// A JSON body. An empty one has no fields.
    pub(crate) fn from_body(body: &[u8]) -> Result<Self, StorageError> {
        if body.iter().all(u8::is_ascii_whitespace) {
            return Ok(Self::new("body", Map::new()));
        }
        match serde_json::from_slice(body) {
            Ok(Value::Object(values)) => Ok(Self::new("body", values)),
            Ok(_) => Err(StorageError::invalid_field("body must be object")),
            Err(error) => Err(Self::not_json(&error)),
        }
    }

    /// A query string; the last value of a repeated name counts.
    pub(crate) fn from_query(query: Option<&str>) -> Self {
        let pairs = url::form_urlencoded::parse(query.unwrap_or_default().as_bytes());
        let values =
            pairs.map(|(name, value)| (name.into_owned(), Value::from(value.into_owned())));
        Self::new("querystring", values.collect())
    }

    fn new(location: impl Into<String>, values: Map<String, Value>) -> Self {
        Self {
            location: location.into(),
            values,
        }
    }

    fn not_json(error: &serde_json::Error) -> StorageError {
        let message = format!("Body is not valid JSON: {error}");
        StorageError::new(Code::InvalidRequest, 400, message).with_label("FastifyError")
    }

    /// Whether it was given at all; `null` counts.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.values.contains_key(name)
    }

    /// Whether it was given as `null`.
    pub(crate) fn is_null(&self, name: &str) -> bool {
        self.values.get(name).is_some_and(Value::is_null)
    }

    /// The raw value; `null` counts as missing.
    pub(crate) fn value(&self, name: &str) -> Option<&Value> {
        self.values.get(name).filter(|value| !value.is_null())
    }

    /// A string. Numbers and booleans count as their JSON text.
    pub(crate) fn text(&self, name: &str) -> Result<Option<String>, StorageError> {
        match self.value(name) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text.clone())),
            Some(value @ (Value::Number(_) | Value::Bool(_))) => Ok(Some(value.to_string())),
            Some(_) => Err(self.validation_error(name, "be string")),
        }
    }

    /// A required string; `null` is the empty one.
    pub(crate) fn required_text(&self, name: &str) -> Result<String, StorageError> {
        if self.is_null(name) {
            return Ok(String::new());
        }
        self.text(name)?.ok_or_else(|| self.missing(name))
    }

    /// An integer, also as a string.
    pub(crate) fn integer(&self, name: &str, least: i64) -> Result<Option<i64>, StorageError> {
        let Some(value) = self.value(name) else {
            return Ok(None);
        };
        let number = match value {
            Value::Number(number) => whole_number(number.as_i64(), number.as_f64()),
            Value::String(text) => whole_number(text.parse().ok(), text.parse().ok()),
            Value::Bool(value) => Some(i64::from(*value)),
            _ => None,
        };
        match number {
            Some(number) if number < least => {
                Err(self.validation_error(name, &format!("be >= {least}")))
            }
            Some(number) => Ok(Some(number)),
            None => Err(self.validation_error(name, "be integer")),
        }
    }

    /// A required integer.
    pub(crate) fn required_integer(&self, name: &str, least: i64) -> Result<i64, StorageError> {
        self.integer(name, least)?.ok_or_else(|| self.missing(name))
    }

    /// A finite number, also as a string.
    pub(crate) fn number(&self, name: &str) -> Result<Option<f64>, StorageError> {
        let number = match self.value(name) {
            None => return Ok(None),
            Some(Value::Number(number)) => number.as_f64(),
            Some(Value::String(text)) => text.parse().ok(),
            Some(_) => None,
        };
        let number = number.filter(|number: &f64| number.is_finite());
        number
            .map(Some)
            .ok_or_else(|| self.validation_error(name, "be number"))
    }

    /// A boolean, also as a string.
    pub(crate) fn flag(&self, name: &str) -> Result<Option<bool>, StorageError> {
        match self.value(name) {
            None => Ok(None),
            Some(Value::Bool(value)) => Ok(Some(*value)),
            Some(Value::String(text)) if text == "true" => Ok(Some(true)),
            Some(Value::String(text)) if text == "false" || text.is_empty() => Ok(Some(false)),
            Some(Value::Number(number)) if number.as_i64() == Some(1) => Ok(Some(true)),
            Some(Value::Number(number)) if number.as_i64() == Some(0) => Ok(Some(false)),
            Some(_) => Err(self.validation_error(name, "be boolean")),
        }
    }

    /// One of the allowed values.
    pub(crate) fn choice<'w>(
        &self,
        name: &str,
        words: &[&'w str],
    ) -> Result<Option<&'w str>, StorageError> {
        let Some(text) = self.text(name)? else {
            return Ok(None);
        };
        match words.iter().find(|word| **word == text) {
            Some(word) => Ok(Some(word)),
            None => Err(self.validation_error(name, "be equal to one of the allowed values")),
        }
    }

    /// A list of strings. A single string counts as a list of one.
    pub(crate) fn texts(&self, name: &str) -> Result<Option<Vec<String>>, StorageError> {
        let items = match self.value(name) {
            None => return Ok(None),
            Some(Value::Array(items)) => items,
            Some(Value::String(text)) => return Ok(Some(vec![text.clone()])),
            Some(_) => return Err(self.validation_error(name, "be array")),
        };
        let text = |(index, item): (usize, &Value)| match item {
            Value::String(text) => Ok(text.clone()),
            Value::Number(_) | Value::Bool(_) => Ok(item.to_string()),
            _ => Err(self.validation_error(&format!("{name}/{index}"), "be string")),
        };
        items
            .iter()
            .enumerate()
            .map(text)
            .collect::<Result<_, _>>()
            .map(Some)
    }

    /// A required list of 1 to `most` strings.
    pub(crate) fn required_texts(
        &self,
        name: &str,
        most: usize,
    ) -> Result<Vec<String>, StorageError> {
        let texts = self.texts(name)?.ok_or_else(|| self.missing(name))?;
        match texts.len() {
            0 => Err(self.validation_error(name, "NOT have fewer than 1 items")),
            count if count > most => {
                Err(self.validation_error(name, &format!("NOT have more than {most} items")))
            }
            _ => Ok(texts),
        }
    }

    /// The fields of an object.
    pub(crate) fn object(&self, name: &str) -> Result<Option<Fields>, StorageError> {
        match self.value(name) {
            None => Ok(None),
            Some(Value::Object(values)) => {
                let location = format!("{}/{name}", self.location);
                Ok(Some(Self::new(location, values.clone())))
            }
            Some(_) => Err(self.validation_error(name, "be object")),
        }
    }

    /// The error of a missing field.
    pub(crate) fn missing(&self, name: &str) -> StorageError {
        let message = format!("{} must have required property '{name}'", self.location);
        StorageError::invalid_field(message)
    }

    /// The error of an invalid field, such as `be integer`.
    pub(crate) fn validation_error(&self, name: &str, rule: &str) -> StorageError {
        StorageError::invalid_field(format!("{}/{name} must {rule}", self.location))
    }
}

/// An integer, however it is written: `1` or `1.0`.
fn whole_number(exact: Option<i64>, float: Option<f64>) -> Option<i64> {
    let from_float = |number: f64| {
        (number.fract() == 0.0 && number.abs() < 9_007_199_254_740_992.0).then_some(number as i64)
    };
    exact.or_else(|| float.and_then(from_float))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn body(text: &str) -> Fields {
        Fields::from_body(text.as_bytes()).expect("fields")
    }

    #[track_caller]
    fn rejects<T: std::fmt::Debug>(result: Result<T, StorageError>, message: &str) {
        assert_eq!(result.expect_err("rejected").message(), message);
    }

    #[test]
    fn scalars_are_parsed_leniently() {
        let fields = body(r#"{"limit":"60","public":"true","name":7,"wide":1.0}"#);
        assert_eq!(fields.integer("limit", 1).expect("a number"), Some(60));
        assert_eq!(fields.integer("wide", 1).expect("a number"), Some(1));
        assert_eq!(fields.flag("public").expect("a flag"), Some(true));
        assert_eq!(fields.text("name").expect("a text").as_deref(), Some("7"));
        assert_eq!(fields.integer("nothing", 1).expect("none"), None);
    }

    #[test]
    fn errors_name_the_field() {
        let fields = body(r#"{"limit":0,"paths":[],"sortBy":{"order":"up"},"public":"yes"}"#);
        rejects(
            fields.required_text("prefix"),
            "body must have required property 'prefix'",
        );
        rejects(fields.integer("limit", 1), "body/limit must be >= 1");
        rejects(
            fields.required_texts("paths", 9),
            "body/paths must NOT have fewer than 1 items",
        );
        rejects(fields.flag("public"), "body/public must be boolean");
        let sort = fields.object("sortBy").expect("an object").expect("there");
        rejects(
            sort.choice("order", &["asc", "desc"]),
            "body/sortBy/order must be equal to one of the allowed values",
        );
        let query = Fields::from_query(Some("width=wide"));
        rejects(
            query.integer("width", 0),
            "querystring/width must be integer",
        );
    }

    #[test]
    fn only_objects_are_bodies_and_an_empty_body_has_no_fields() {
        assert!(!body("").has("a"));
        assert!(Fields::from_body(b"[1]").is_err());
        assert!(Fields::from_body(b"{").is_err());
    }
}

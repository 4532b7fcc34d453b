//! The policy of a form upload: what it permits (storage contract §6.1).

use std::collections::{BTreeMap, HashSet};

use base64::{Engine, engine::general_purpose::STANDARD};
use serde_json::Value;
use time::{OffsetDateTime, format_description::well_known::Rfc3339};

use crate::error::{Code, StorageError};

/// Fields of the signature, which the policy cannot contain.
const SIGNATURE_FIELDS: [&str; 7] = [
    "policy",
    "file",
    "x-amz-signature",
    "x-amz-algorithm",
    "x-amz-credential",
    "x-amz-date",
    "x-amz-security-token",
];

/// The permitted size of the file in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct SizeRange {
    pub(super) min: u64,
    pub(super) max: u64,
}

/// Rejects a form that its policy does not permit. The names of `fields` are in lower case.
pub(super) fn check(
    policy: &str,
    bucket: &str,
    fields: &BTreeMap<String, String>,
    now: OffsetDateTime,
) -> Result<SizeRange, StorageError> {
    let bad = || StorageError::invalid_request("The policy is malformed");
    let policy = STANDARD.decode(policy.trim()).map_err(|_| bad())?;
    let policy: Value = serde_json::from_slice(&policy).map_err(|_| bad())?;
    let expiration = policy.get("expiration").and_then(Value::as_str);
    let expiration = expiration.and_then(|text| OffsetDateTime::parse(text, &Rfc3339).ok());
    if expiration.ok_or_else(bad)? < now {
        let message = "The provided token has expired.";
        return Err(StorageError::new(Code::ExpiredToken, 400, message));
    }
    let conditions = policy.get("conditions").and_then(Value::as_array);
    let mut sizes = SizeRange {
        min: 0,
        max: u64::MAX,
    };
    let mut covered = HashSet::new();
    for condition in conditions.ok_or_else(bad)? {
        for condition in Condition::parse(condition).ok_or_else(bad)? {
            let value = |name: &str| match name {
                "bucket" => Some(bucket),
                name => fields.get(name).map(String::as_str),
            };
            if !condition.holds(value) {
                return Err(not_permitted(&format!(
                    "the condition on {} is not met",
                    condition.name()
                )));
            }
            match condition {
                Condition::Sizes(own) => sizes = own,
                Condition::Is(name, _) | Condition::StartsWith(name, _) => {
                    covered.insert(name);
                }
            }
        }
    }
    let needs_cover = |name: &&String| {
        !SIGNATURE_FIELDS.contains(&name.as_str()) && !name.starts_with("x-ignore-")
    };
    let mut names = fields.keys().filter(needs_cover);
    match names.find(|name| !covered.contains(*name)) {
        Some(name) => Err(not_permitted(&format!("no condition covers {name}"))),
        None => Ok(sizes),
    }
}

enum Condition {
    Is(String, String),
    StartsWith(String, String),
    Sizes(SizeRange),
}

impl Condition {
    /// `{"name":"value",…}`, `["eq","$name","value"]` and the like.
    fn parse(value: &Value) -> Option<Vec<Self>> {
        if let Value::Object(pairs) = value {
            let pair = |(name, value): (&String, &Value)| {
                let value = value.as_str()?.to_owned();
                Some(Self::Is(name.to_ascii_lowercase(), value))
            };
            return pairs.iter().map(pair).collect();
        }
        let [kind, one, other] = value.as_array()?.as_slice() else {
            return None;
        };
        let number = |value: &Value| match value {
            Value::String(text) => text.parse().ok(),
            value => value.as_u64(),
        };
        let name = || {
            let name = one.as_str()?.strip_prefix('$')?;
            Some(name.to_ascii_lowercase())
        };
        let text = || other.as_str().map(str::to_owned);
        let condition = match kind.as_str()?.to_ascii_lowercase().as_str() {
            "eq" => Self::Is(name()?, text()?),
            "starts-with" => Self::StartsWith(name()?, text()?),
            "content-length-range" => Self::Sizes(SizeRange {
                min: number(one)?,
                max: number(other)?,
            }),
            _ => return None,
        };
        Some(vec![condition])
    }

    fn holds<'a>(&self, value: impl Fn(&str) -> Option<&'a str>) -> bool {
        match self {
            Self::Is(name, expected) => value(name) == Some(expected),
            Self::StartsWith(name, start) => {
                value(name).is_some_and(|value| value.starts_with(start.as_str()))
            }
            Self::Sizes(_) => true,
        }
    }

    fn name(&self) -> &str {
        match self {
            Self::Is(name, _) | Self::StartsWith(name, _) => name,
            Self::Sizes(_) => "content-length-range",
        }
    }
}

fn not_permitted(reason: &str) -> StorageError {
    StorageError::access_denied(format!("The policy does not permit this upload: {reason}"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use time::macros::datetime;

    use super::*;

    const NOW: OffsetDateTime = datetime!(2026-01-02 03:04:05 UTC);

    fn evaluate(conditions: Value, fields: &[(&str, &str)]) -> Result<SizeRange, u16> {
        let policy = json!({ "expiration": "2026-01-02T03:05:00.000Z", "conditions": conditions });
        let policy = STANDARD.encode(policy.to_string());
        let fields = fields
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        check(&policy, "b", &fields.collect(), NOW).map_err(|error| error.status().as_u16())
    }

    #[test]
    fn every_field_must_be_permitted() {
        let conditions = json!([{ "bucket": "b" }, ["starts-with", "$key", "u/"]]);
        assert!(evaluate(conditions.clone(), &[("key", "u/a")]).is_ok());
        assert_eq!(evaluate(conditions.clone(), &[("key", "v/a")]), Err(403));
        let extra = [("key", "u/a"), ("content-type", "text/html")];
        assert_eq!(evaluate(conditions.clone(), &extra), Err(403));
        let uncovered = [("key", "u/a"), ("policy", "x"), ("x-ignore-me", "y")];
        assert!(evaluate(conditions, &uncovered).is_ok());
        assert_eq!(evaluate(json!([{ "bucket": "c" }]), &[]), Err(403));
        assert_eq!(
            evaluate(json!([["eq", "$key", "a"]]), &[("key", "ab")]),
            Err(403)
        );
    }

    #[test]
    fn sizes_are_parsed_and_invalid_policies_rejected() {
        let sizes = SizeRange { min: 1, max: 9 };
        let conditions = json!([["content-length-range", 1, "9"]]);
        assert_eq!(evaluate(conditions, &[]), Ok(sizes));
        for bad in [
            json!([["eq"]]),
            json!([1]),
            json!([["like", "$key", "x"]]),
            json!(7),
        ] {
            assert_eq!(evaluate(bad, &[]), Err(400));
        }
        let late = json!({ "expiration": "2026-01-02T03:04:00Z", "conditions": [] });
        let late = STANDARD.encode(late.to_string());
        assert!(check(&late, "b", &BTreeMap::new(), NOW).is_err());
        assert!(check("not base64", "b", &BTreeMap::new(), NOW).is_err());
    }
}

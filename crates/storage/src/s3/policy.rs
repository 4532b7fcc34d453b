//! What a signed policy lets a form upload (storage contract §6.1).

use std::collections::{BTreeMap, HashSet};

use base64::{Engine, engine::general_purpose::STANDARD};
use serde_json::Value;
use time::{OffsetDateTime, format_description::well_known::Rfc3339};

use crate::error::{Code, StorageError};

/// Fields that prove the policy and so cannot stand in it.
const UNCOVERED: [&str; 7] = [
    "policy",
    "file",
    "x-amz-signature",
    "x-amz-algorithm",
    "x-amz-credential",
    "x-amz-date",
    "x-amz-security-token",
];

/// How many bytes the file may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Sizes {
    pub(super) least: u64,
    pub(super) most: u64,
}

/// Refuses a form that its policy does not allow. `fields` have names in lower case.
pub(super) fn check(
    policy: &str,
    bucket: &str,
    fields: &BTreeMap<String, String>,
    now: OffsetDateTime,
) -> Result<Sizes, StorageError> {
    let bad = || StorageError::invalid_request("The policy cannot be read");
    let policy = STANDARD.decode(policy.trim()).map_err(|_| bad())?;
    let policy: Value = serde_json::from_slice(&policy).map_err(|_| bad())?;
    let expiration = policy.get("expiration").and_then(Value::as_str);
    let expiration = expiration.and_then(|text| OffsetDateTime::parse(text, &Rfc3339).ok());
    if expiration.ok_or_else(bad)? < now {
        let message = "The provided token has expired.";
        return Err(StorageError::new(Code::ExpiredToken, 400, message));
    }
    let conditions = policy.get("conditions").and_then(Value::as_array);
    let mut sizes = Sizes {
        least: 0,
        most: u64::MAX,
    };
    let mut covered = HashSet::new();
    for condition in conditions.ok_or_else(bad)? {
        for condition in Condition::read(condition).ok_or_else(bad)? {
            let value = |name: &str| match name {
                "bucket" => Some(bucket),
                name => fields.get(name).map(String::as_str),
            };
            if !condition.holds(value) {
                return Err(refused(&format!("the condition on {}", condition.name())));
            }
            match condition {
                Condition::Sizes(own) => sizes = own,
                Condition::Is(name, _) | Condition::StartsWith(name, _) => {
                    covered.insert(name);
                }
            }
        }
    }
    let needs_cover =
        |name: &&String| !UNCOVERED.contains(&name.as_str()) && !name.starts_with("x-ignore-");
    let mut names = fields.keys().filter(needs_cover);
    match names.find(|name| !covered.contains(*name)) {
        Some(name) => Err(refused(&format!("it says nothing about {name}"))),
        None => Ok(sizes),
    }
}

enum Condition {
    Is(String, String),
    StartsWith(String, String),
    Sizes(Sizes),
}

impl Condition {
    /// `{"name":"value",…}`, `["eq","$name","value"]` and the like.
    fn read(value: &Value) -> Option<Vec<Self>> {
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
            "content-length-range" => Self::Sizes(Sizes {
                least: number(one)?,
                most: number(other)?,
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

fn refused(why: &str) -> StorageError {
    StorageError::access_denied(format!("The policy does not allow this: {why}"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use time::macros::datetime;

    use super::*;

    const NOW: OffsetDateTime = datetime!(2026-01-02 03:04:05 UTC);

    fn judge(conditions: Value, fields: &[(&str, &str)]) -> Result<Sizes, u16> {
        let policy = json!({ "expiration": "2026-01-02T03:05:00.000Z", "conditions": conditions });
        let policy = STANDARD.encode(policy.to_string());
        let fields = fields
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        check(&policy, "b", &fields.collect(), NOW).map_err(|error| error.status().as_u16())
    }

    #[test]
    fn every_field_must_be_allowed() {
        let conditions = json!([{ "bucket": "b" }, ["starts-with", "$key", "u/"]]);
        assert!(judge(conditions.clone(), &[("key", "u/a")]).is_ok());
        assert_eq!(judge(conditions.clone(), &[("key", "v/a")]), Err(403));
        let extra = [("key", "u/a"), ("content-type", "text/html")];
        assert_eq!(judge(conditions.clone(), &extra), Err(403));
        let proof = [("key", "u/a"), ("policy", "x"), ("x-ignore-me", "y")];
        assert!(judge(conditions, &proof).is_ok());
        assert_eq!(judge(json!([{ "bucket": "c" }]), &[]), Err(403));
        assert_eq!(
            judge(json!([["eq", "$key", "a"]]), &[("key", "ab")]),
            Err(403)
        );
    }

    #[test]
    fn sizes_are_read_and_nonsense_is_refused() {
        let sizes = Sizes { least: 1, most: 9 };
        let conditions = json!([["content-length-range", 1, "9"]]);
        assert_eq!(judge(conditions, &[]), Ok(sizes));
        for bad in [
            json!([["eq"]]),
            json!([1]),
            json!([["like", "$key", "x"]]),
            json!(7),
        ] {
            assert_eq!(judge(bad, &[]), Err(400));
        }
        let late = json!({ "expiration": "2026-01-02T03:04:00Z", "conditions": [] });
        let late = STANDARD.encode(late.to_string());
        assert!(check(&late, "b", &BTreeMap::new(), NOW).is_err());
        assert!(check("not base64", "b", &BTreeMap::new(), NOW).is_err());
    }
}

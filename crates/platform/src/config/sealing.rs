//! Secrets among the stored settings: sealed with the instance key, each bound to its project and
//! name. `{"$sealed": "…"}` stands in the place of the value.

use plinth_project::ProjectRef;
use plinth_settings::Settings;
use plinth_token::{InstanceKey, Secret};
use serde_json::{Value, json};

use super::Stored;
use crate::{PlatformError, sealed::Sealed};

const MARK: &str = "$sealed";

/// Unseals what the table has.
pub(crate) fn open_settings(
    key: &InstanceKey,
    reference: &ProjectRef,
    stored: Stored,
) -> Result<Stored, PlatformError> {
    let open = |(name, value): (String, Value)| {
        let Some(sealed) = value.get(MARK).and_then(Value::as_str) else {
            return Ok((name, value));
        };
        let text = Sealed::Setting(&name)
            .open(key, reference, sealed)
            .map_err(PlatformError::caused_by)?;
        let value = serde_json::from_str(text.expose()).map_err(PlatformError::caused_by)?;
        Ok((name, value))
    };
    stored.into_iter().map(open).collect()
}

/// Seals the secrets among settings that are to be stored.
pub(super) fn seal_settings(key: &InstanceKey, reference: &ProjectRef, stored: Stored) -> Stored {
    let declared = Settings::default();
    let seal = |(name, value): (String, Value)| {
        let setting = declared.find_listed(&name);
        let is_secret = setting.is_some_and(|setting| setting.declaration.kind().is_secret());
        if !is_secret {
            return (name, value);
        }
        let text = Secret::new(value.to_string());
        let sealed = Sealed::Setting(&name).seal(key, reference, &text);
        (name, json!({ MARK: sealed }))
    };
    stored.into_iter().map(seal).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stored(value: Value) -> Stored {
        match value {
            Value::Object(stored) => stored,
            _ => Stored::new(),
        }
    }

    #[test]
    fn only_secrets_are_sealed_and_all_read_back() {
        let (key, reference) = (InstanceKey::generate(), ProjectRef::generate());
        let settings = stored(json!({
            "auth.site_url": "https://example.com",
            "auth.email.smtp.pass": "hunter2",
            "auth.external.google.secret": "s3cret",
        }));

        let sealed = seal_settings(&key, &reference, settings.clone());

        assert_eq!(sealed["auth.site_url"], "https://example.com");
        let text = Value::Object(sealed.clone()).to_string();
        assert!(
            !text.contains("hunter2") && !text.contains("s3cret"),
            "{text}"
        );
        let opened = open_settings(&key, &reference, sealed).expect("its own");
        assert_eq!(opened, settings);
    }

    #[test]
    fn a_sealed_setting_cannot_be_moved() {
        let (key, reference) = (InstanceKey::generate(), ProjectRef::generate());
        let settings = stored(json!({ "auth.email.smtp.pass": "hunter2" }));
        let sealed = seal_settings(&key, &reference, settings);

        let moved = stored(json!({ "auth.captcha.secret": sealed["auth.email.smtp.pass"] }));
        assert!(open_settings(&key, &reference, moved).is_err());
        let other = ProjectRef::generate();
        assert!(open_settings(&key, &other, sealed).is_err());
    }
}

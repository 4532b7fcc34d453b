//! A registered credential, and its JSON in `auth.mfa_factors.web_authn_credential`, compatible
//! with GoTrue's.

use std::borrow::Cow;

use data_encoding::BASE64;
use serde_json::{Value, json};
use uuid::Uuid;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Credential {
    pub(crate) id: Vec<u8>,
    /// COSE-encoded.
    pub(crate) public_key: Vec<u8>,
    pub(crate) attestation_type: Cow<'static, str>,
    pub(crate) aaguid: Uuid,
    pub(crate) sign_count: u32,
    pub(crate) transports: Vec<String>,
    pub(crate) is_user_verified: bool,
    pub(crate) is_backup_eligible: bool,
    pub(crate) is_backed_up: bool,
}

impl Credential {
    pub(crate) fn to_json(&self) -> Value {
        json!({
            "id": BASE64.encode(&self.id),
            "publicKey": BASE64.encode(&self.public_key),
            "attestationType": self.attestation_type,
            "transport": self.transports,
            "flags": {
                "userPresent": true,
                "userVerified": self.is_user_verified,
                "backupEligible": self.is_backup_eligible,
                "backupState": self.is_backed_up,
            },
            "authenticator": {
                "AAGUID": BASE64.encode(self.aaguid.as_bytes()),
                "signCount": self.sign_count,
                "cloneWarning": false,
            },
        })
    }

    /// `None` for JSON that neither Plinth nor GoTrue wrote.
    pub(crate) fn from_json(json: &Value) -> Option<Self> {
        let bytes = |value: &Value| BASE64.decode(value.as_str()?.as_bytes()).ok();
        let flag = |name: &str| json["flags"][name].as_bool().unwrap_or(false);
        let aaguid = bytes(&json["authenticator"]["AAGUID"]).unwrap_or_default();
        let transports = json["transport"].as_array();
        let transports = transports.into_iter().flatten().filter_map(Value::as_str);
        Some(Self {
            id: bytes(&json["id"])?,
            public_key: bytes(&json["publicKey"])?,
            attestation_type: json["attestationType"].as_str()?.to_owned().into(),
            aaguid: Uuid::from_slice(&aaguid).unwrap_or_default(),
            sign_count: json["authenticator"]["signCount"]
                .as_u64()?
                .try_into()
                .ok()?,
            transports: transports.map(ToOwned::to_owned).collect(),
            is_user_verified: flag("userVerified"),
            is_backup_eligible: flag("backupEligible"),
            is_backed_up: flag("backupState"),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_credential_is_what_was_written() {
        let credential = Credential {
            id: vec![1, 2, 250],
            public_key: vec![9; 77],
            attestation_type: "none".into(),
            aaguid: Uuid::from_u128(7),
            sign_count: u32::MAX,
            transports: vec!["usb".to_owned()],
            is_user_verified: false,
            is_backup_eligible: true,
            is_backed_up: true,
        };
        assert_eq!(
            Credential::from_json(&credential.to_json()),
            Some(credential)
        );
        for other in [json!(null), json!({}), json!({ "id": "?" }), json!([])] {
            assert_eq!(Credential::from_json(&other), None);
        }
    }
}

//! Verification of attestations, the result of `create()`.

use aws_lc_rs::digest;
use ciborium::Value;

use super::{
    CeremonyError, Credential, RegistrationResponse, RelyingParty,
    authenticator_data::AuthenticatorData, client_data, cose::PublicKey,
};

/// Attestation types as GoTrue stores them.
const NONE: &str = "none";
const SELF: &str = "basic_surrogate";

/// A limit for the stored list.
const MAX_TRANSPORTS: usize = 16;

/// Verifies the response to this challenge and returns the new credential.
pub(crate) fn check_registration(
    party: &RelyingParty,
    challenge: &str,
    response: &RegistrationResponse,
) -> Result<Credential, CeremonyError> {
    if response.kind != "public-key" {
        return Err(CeremonyError("the credential is of another type"));
    }
    let client_data = &response.response.client_data.0;
    client_data::check(client_data, "webauthn.create", challenge, party)?;
    let attestation = AttestationObject::parse(&response.response.attestation_object.0)?;
    let data = AuthenticatorData::parse(&attestation.authenticator_data)?;
    data.check(party)?;
    let Some(attested) = &data.attested else {
        return Err(CeremonyError("there is no new credential"));
    };
    if attested.id != response.raw_id.0 {
        return Err(CeremonyError("the credential has two identifiers"));
    }
    let key = PublicKey::parse(&attested.public_key)?;
    let transports = response.response.transports.iter().flatten();
    Ok(Credential {
        id: attested.id.clone(),
        public_key: attested.public_key.clone(),
        attestation_type: attestation.check(&key, client_data)?.into(),
        aaguid: attested.aaguid,
        sign_count: data.sign_count,
        transports: transports.take(MAX_TRANSPORTS).cloned().collect(),
        is_user_verified: data.is_user_verified(),
        is_backup_eligible: data.is_backup_eligible(),
        is_backed_up: data.is_backed_up(),
    })
}

struct AttestationObject {
    format: String,
    statement: Vec<(Value, Value)>,
    authenticator_data: Vec<u8>,
}

impl AttestationObject {
    fn parse(bytes: &[u8]) -> Result<Self, CeremonyError> {
        Self::read(bytes).ok_or(CeremonyError("the attestation object is malformed"))
    }

    fn read(mut bytes: &[u8]) -> Option<Self> {
        let object: Value = ciborium::from_reader(&mut bytes).ok()?;
        let entries = object.into_map().ok().filter(|_| bytes.is_empty())?;
        Some(Self {
            format: find(&entries, "fmt")?.as_text()?.to_owned(),
            statement: find(&entries, "attStmt")?.as_map()?.clone(),
            authenticator_data: find(&entries, "authData")?.as_bytes()?.clone(),
        })
    }

    /// The attestation type. A self-attestation must be signed with the credential's own key.
    fn check(&self, key: &PublicKey, client_data: &[u8]) -> Result<&'static str, CeremonyError> {
        if self.format == "none" && !self.statement.is_empty() {
            return Err(CeremonyError("no attestation states something"));
        }
        if self.format != "packed" || find(&self.statement, "x5c").is_some() {
            return Ok(NONE);
        }
        let algorithm = find(&self.statement, "alg").and_then(Value::as_integer);
        if algorithm != Some(key.algorithm().into()) {
            return Err(CeremonyError("the attestation is of another algorithm"));
        }
        let signature = find(&self.statement, "sig").and_then(Value::as_bytes);
        let signature = signature.ok_or(CeremonyError("the attestation has no signature"))?;
        let mut message = self.authenticator_data.clone();
        message.extend(digest::digest(&digest::SHA256, client_data).as_ref());
        key.verify(&message, signature)?;
        Ok(SELF)
    }
}

fn find<'a>(entries: &'a [(Value, Value)], name: &str) -> Option<&'a Value> {
    let mut entries = entries.iter();
    entries.find_map(|(key, value)| (key.as_text() == Some(name)).then_some(value))
}

#[cfg(test)]
mod tests {
    use super::{
        super::test_key::{CHALLENGE, Ceremony, TestKey, party},
        *,
    };

    fn check(ceremony: &Ceremony<'_>) -> Result<Credential, CeremonyError> {
        let response = serde_json::from_value(ceremony.registration()).expect("good JSON");
        check_registration(&party(), CHALLENGE, &response)
    }

    #[test]
    fn keys_of_every_kind_can_be_registered() {
        for key in TestKey::of_every_kind() {
            let ceremony = Ceremony::new(&key);

            let credential = check(&ceremony).expect("a valid response");

            assert_eq!(credential.id, key.id);
            assert_eq!(credential.public_key, key.cose());
            assert_eq!(credential.attestation_type, "none");
            assert_eq!(credential.transports, ["internal", "hybrid"]);
            assert!(credential.is_user_verified && !credential.is_backed_up);
        }
    }

    #[test]
    fn a_signature_with_its_own_key_is_checked() {
        for key in TestKey::of_every_kind() {
            let mut ceremony = Ceremony::new(&key);
            ceremony.attestation = "packed";
            let credential = check(&ceremony).expect("a valid response");
            assert_eq!(credential.attestation_type, "basic_surrogate");

            let other = TestKey::es256();
            ceremony.signer = Some(&other);
            assert!(check(&ceremony).is_err());
        }
    }

    #[test]
    fn statements_of_manufacturers_count_as_none() {
        let key = TestKey::es256();
        for format in ["tpm", "fido-u2f", "apple", "android-key"] {
            let mut ceremony = Ceremony::new(&key);
            ceremony.attestation = format;
            assert_eq!(check(&ceremony).expect(format).attestation_type, "none");
        }
    }

    #[track_caller]
    fn check_rejected(change: impl FnOnce(&mut Ceremony<'_>), reason: &str) {
        let key = TestKey::es256();
        let mut ceremony = Ceremony::new(&key);
        change(&mut ceremony);
        assert_eq!(check(&ceremony).map_err(|error| error.0), Err(reason));
    }

    #[test]
    fn attacks_are_rejected() {
        check_rejected(
            |it| it.origin = "https://evil.test",
            "the origin is not one of ours",
        );
        check_rejected(
            |it| it.origin = "https://site.test.evil.test",
            "the origin is not one of ours",
        );
        check_rejected(
            |it| it.rp_id = "evil.test",
            "the response is for another relying party",
        );
        check_rejected(
            |it| it.challenge = "YW5vdGhlciBjaGFsbGVuZ2U",
            "the challenge is another one",
        );
        check_rejected(
            |it| it.kind = "webauthn.get",
            "the client data are of another ceremony",
        );
        check_rejected(
            |it| it.is_cross_origin = true,
            "the page was in a frame of another site",
        );
        check_rejected(|it| it.flags = 0x40, "the user was not present");
        check_rejected(
            |it| it.flags = 0x51,
            "a credential that cannot be backed up says it was",
        );
        check_rejected(
            |it| it.raw_id = Some(b"another".to_vec()),
            "the credential has two identifiers",
        );
        check_rejected(|it| it.has_credential = false, "there is no new credential");
    }

    proptest::proptest! {
        #[test]
        fn no_bytes_make_the_parser_panic(bytes in proptest::collection::vec(0u8.., 0..300)) {
            AttestationObject::parse(&bytes).ok();
            PublicKey::parse(&bytes).ok();
        }
    }
}

//! A new credential: what `create()` gave.

use aws_lc_rs::digest;
use ciborium::Value;

use super::{
    Credential, Refusal, RegistrationResponse, RelyingParty, authenticator_data::AuthenticatorData,
    client_data, cose::PublicKey,
};

/// Names of attestation types, as GoTrue writes them.
const NONE: &str = "none";
const SELF: &str = "basic_surrogate";

/// The longest list of ways to reach an authenticator that anybody could mean.
const MAX_TRANSPORTS: usize = 16;

/// The credential, if the answer is to this challenge, for us and whole.
pub(crate) fn check_registration(
    party: &RelyingParty,
    challenge: &str,
    answer: &RegistrationResponse,
) -> Result<Credential, Refusal> {
    if answer.kind != "public-key" {
        return Err(Refusal("the credential is of another type"));
    }
    let client_data = &answer.response.client_data.0;
    client_data::check(client_data, "webauthn.create", challenge, party)?;
    let attestation = AttestationObject::parse(&answer.response.attestation_object.0)?;
    let data = AuthenticatorData::parse(&attestation.authenticator_data)?;
    data.check(party)?;
    let Some(attested) = &data.attested else {
        return Err(Refusal("there is no new credential"));
    };
    if attested.id != answer.raw_id.0 {
        return Err(Refusal("the credential has two identifiers"));
    }
    let key = PublicKey::parse(&attested.public_key)?;
    let transports = answer.response.transports.iter().flatten();
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
    fn parse(bytes: &[u8]) -> Result<Self, Refusal> {
        Self::read(bytes).ok_or(Refusal("the attestation object is malformed"))
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

    /// Which type it is. A signature with the credential's own key must be one.
    fn check(&self, key: &PublicKey, client_data: &[u8]) -> Result<&'static str, Refusal> {
        if self.format == "none" && !self.statement.is_empty() {
            return Err(Refusal("no attestation states something"));
        }
        if self.format != "packed" || find(&self.statement, "x5c").is_some() {
            return Ok(NONE);
        }
        let algorithm = find(&self.statement, "alg").and_then(Value::as_integer);
        if algorithm != Some(key.algorithm().into()) {
            return Err(Refusal("the attestation is of another algorithm"));
        }
        let signature = find(&self.statement, "sig").and_then(Value::as_bytes);
        let signature = signature.ok_or(Refusal("the attestation has no signature"))?;
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

    fn check(ceremony: &Ceremony<'_>) -> Result<Credential, Refusal> {
        let answer = serde_json::from_value(ceremony.registration()).expect("good JSON");
        check_registration(&party(), CHALLENGE, &answer)
    }

    #[test]
    fn keys_of_every_kind_can_be_registered() {
        for key in TestKey::of_every_kind() {
            let ceremony = Ceremony::new(&key);

            let credential = check(&ceremony).expect("a good answer");

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
            let credential = check(&ceremony).expect("a good answer");
            assert_eq!(credential.attestation_type, "basic_surrogate");

            let other = TestKey::es256();
            ceremony.signer = Some(&other);
            assert!(check(&ceremony).is_err());
        }
    }

    #[test]
    fn statements_of_makers_count_as_none() {
        let key = TestKey::es256();
        for format in ["tpm", "fido-u2f", "apple", "android-key"] {
            let mut ceremony = Ceremony::new(&key);
            ceremony.attestation = format;
            assert_eq!(check(&ceremony).expect(format).attestation_type, "none");
        }
    }

    #[track_caller]
    fn refuses(change: impl FnOnce(&mut Ceremony<'_>), reason: &str) {
        let key = TestKey::es256();
        let mut ceremony = Ceremony::new(&key);
        change(&mut ceremony);
        assert_eq!(check(&ceremony).map_err(|refusal| refusal.0), Err(reason));
    }

    #[test]
    fn attacks_are_refused() {
        refuses(
            |it| it.origin = "https://evil.test",
            "the origin is not one of ours",
        );
        refuses(
            |it| it.origin = "https://site.test.evil.test",
            "the origin is not one of ours",
        );
        refuses(
            |it| it.rp_id = "evil.test",
            "the authenticator answered another relying party",
        );
        refuses(
            |it| it.challenge = "YW5vdGhlciBjaGFsbGVuZ2U",
            "the challenge is another one",
        );
        refuses(
            |it| it.kind = "webauthn.get",
            "the client data are of another ceremony",
        );
        refuses(
            |it| it.is_cross_origin = true,
            "the page was in a frame of another site",
        );
        refuses(|it| it.flags = 0x40, "nobody was present");
        refuses(
            |it| it.flags = 0x51,
            "a credential that cannot be backed up says it was",
        );
        refuses(
            |it| it.raw_id = Some(b"another".to_vec()),
            "the credential has two identifiers",
        );
        refuses(|it| it.has_credential = false, "there is no new credential");
    }

    proptest::proptest! {
        #[test]
        fn no_bytes_make_the_parser_panic(bytes in proptest::collection::vec(0u8.., 0..300)) {
            AttestationObject::parse(&bytes).ok();
            PublicKey::parse(&bytes).ok();
        }
    }
}

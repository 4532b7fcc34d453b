//! Verification of assertions, the result of `get()`.

use aws_lc_rs::digest;

use super::{
    AssertionResponse, CeremonyError, Credential, RelyingParty,
    authenticator_data::AuthenticatorData, client_data, cose::PublicKey,
};

/// Verifies the response and returns the updated credential.
pub(crate) fn check_assertion(
    party: &RelyingParty,
    challenge: &str,
    credential: &Credential,
    response: &AssertionResponse,
) -> Result<Credential, CeremonyError> {
    if response.kind != "public-key" || response.raw_id.0 != credential.id {
        return Err(CeremonyError("the credential is another one"));
    }
    let assertion = &response.response;
    client_data::check(&assertion.client_data.0, "webauthn.get", challenge, party)?;
    let data = AuthenticatorData::parse(&assertion.authenticator_data.0)?;
    data.check(party)?;
    let mut message = assertion.authenticator_data.0.clone();
    message.extend(digest::digest(&digest::SHA256, &assertion.client_data.0).as_ref());
    PublicKey::parse(&credential.public_key)?.verify(&message, &assertion.signature.0)?;
    if data.is_backup_eligible() != credential.is_backup_eligible {
        return Err(CeremonyError("whether it can be backed up has changed"));
    }
    // The authenticator has no counter if both are zero.
    let counts = data.sign_count != 0 || credential.sign_count != 0;
    if counts && data.sign_count <= credential.sign_count {
        return Err(CeremonyError(
            "the counter went back, so there may be a copy",
        ));
    }
    Ok(Credential {
        sign_count: data.sign_count,
        is_user_verified: data.is_user_verified(),
        is_backed_up: data.is_backed_up(),
        ..credential.clone()
    })
}

#[cfg(test)]
mod tests {
    use super::{
        super::test_key::{CHALLENGE, Ceremony, TestKey, party},
        *,
    };

    fn check(
        credential: &Credential,
        ceremony: &Ceremony<'_>,
    ) -> Result<Credential, CeremonyError> {
        let response = serde_json::from_value(ceremony.assertion()).expect("good JSON");
        check_assertion(&party(), CHALLENGE, credential, &response)
    }

    #[test]
    fn keys_of_every_kind_sign_in() {
        for key in TestKey::of_every_kind() {
            let credential = key.credential();
            let mut ceremony = Ceremony::new(&key);
            ceremony.sign_count = credential.sign_count + 1;

            let used = check(&credential, &ceremony).expect("a valid response");

            assert_eq!(used.sign_count, ceremony.sign_count);
            assert_eq!(used.public_key, credential.public_key);
        }
    }

    #[test]
    fn a_counter_that_stays_at_zero_is_none() {
        let key = TestKey::es256();
        let mut credential = key.credential();
        credential.sign_count = 0;
        let mut ceremony = Ceremony::new(&key);
        ceremony.sign_count = 0;
        assert!(check(&credential, &ceremony).is_ok());
    }

    #[track_caller]
    fn check_rejected(change: impl FnOnce(&mut Ceremony<'_>), reason: &str) {
        let key = TestKey::es256();
        let mut ceremony = Ceremony::new(&key);
        ceremony.sign_count = key.credential().sign_count + 1;
        change(&mut ceremony);
        let outcome = check(&key.credential(), &ceremony);
        assert_eq!(outcome.map_err(|error| error.0), Err(reason));
    }

    #[test]
    fn attacks_are_rejected() {
        check_rejected(
            |it| it.origin = "http://site.test",
            "the origin is not one of ours",
        );
        check_rejected(
            |it| it.rp_id = "evil.test",
            "the response is for another relying party",
        );
        check_rejected(
            |it| it.challenge = "b2xkIGNoYWxsZW5nZQ",
            "the challenge is another one",
        );
        check_rejected(|it| it.challenge = "", "the challenge is another one");
        check_rejected(
            |it| it.kind = "webauthn.create",
            "the client data are of another ceremony",
        );
        check_rejected(|it| it.flags = 0x04, "the user was not present");
        check_rejected(
            |it| it.sign_count = 5,
            "the counter went back, so there may be a copy",
        );
        check_rejected(
            |it| it.sign_count = 0,
            "the counter went back, so there may be a copy",
        );
        check_rejected(
            |it| it.flags = 0x0d,
            "whether it can be backed up has changed",
        );
        check_rejected(
            |it| it.raw_id = Some(b"another".to_vec()),
            "the credential is another one",
        );
    }

    #[test]
    fn a_signature_of_another_credential_is_rejected() {
        let (key, other) = (TestKey::es256(), TestKey::es256());
        let mut ceremony = Ceremony::new(&key);
        ceremony.sign_count = 9;
        ceremony.signer = Some(&other);
        let outcome = check(&key.credential(), &ceremony);
        assert_eq!(
            outcome.map_err(|error| error.0),
            Err("the signature is not the credential's")
        );
    }
}

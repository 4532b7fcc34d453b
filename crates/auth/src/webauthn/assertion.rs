//! A sign-in with a known credential: what `get()` gave.

use aws_lc_rs::digest;

use super::{
    AssertionResponse, Credential, Refusal, RelyingParty, authenticator_data::AuthenticatorData,
    client_data, cose::PublicKey,
};

/// The credential as it is from now on, if it signed this challenge for us.
pub(crate) fn check_assertion(
    party: &RelyingParty,
    challenge: &str,
    credential: &Credential,
    answer: &AssertionResponse,
) -> Result<Credential, Refusal> {
    if answer.kind != "public-key" || answer.raw_id.0 != credential.id {
        return Err(Refusal("the credential is another one"));
    }
    let response = &answer.response;
    client_data::check(&response.client_data.0, "webauthn.get", challenge, party)?;
    let data = AuthenticatorData::parse(&response.authenticator_data.0)?;
    data.check(party)?;
    let mut message = response.authenticator_data.0.clone();
    message.extend(digest::digest(&digest::SHA256, &response.client_data.0).as_ref());
    PublicKey::parse(&credential.public_key)?.verify(&message, &response.signature.0)?;
    if data.is_backup_eligible() != credential.is_backup_eligible {
        return Err(Refusal("whether it can be backed up has changed"));
    }
    // Zero on both sides: the authenticator does not count.
    let counts = data.sign_count != 0 || credential.sign_count != 0;
    if counts && data.sign_count <= credential.sign_count {
        return Err(Refusal("the counter went back, so there may be a copy"));
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

    fn check(credential: &Credential, ceremony: &Ceremony<'_>) -> Result<Credential, Refusal> {
        let answer = serde_json::from_value(ceremony.assertion()).expect("good JSON");
        check_assertion(&party(), CHALLENGE, credential, &answer)
    }

    #[test]
    fn keys_of_every_kind_sign_in() {
        for key in TestKey::of_every_kind() {
            let credential = key.credential();
            let mut ceremony = Ceremony::new(&key);
            ceremony.sign_count = credential.sign_count + 1;

            let used = check(&credential, &ceremony).expect("a good answer");

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
    fn refuses(change: impl FnOnce(&mut Ceremony<'_>), reason: &str) {
        let key = TestKey::es256();
        let mut ceremony = Ceremony::new(&key);
        ceremony.sign_count = key.credential().sign_count + 1;
        change(&mut ceremony);
        let outcome = check(&key.credential(), &ceremony);
        assert_eq!(outcome.map_err(|refusal| refusal.0), Err(reason));
    }

    #[test]
    fn attacks_are_refused() {
        refuses(
            |it| it.origin = "http://site.test",
            "the origin is not one of ours",
        );
        refuses(
            |it| it.rp_id = "evil.test",
            "the authenticator answered another relying party",
        );
        refuses(
            |it| it.challenge = "b2xkIGNoYWxsZW5nZQ",
            "the challenge is another one",
        );
        refuses(|it| it.challenge = "", "the challenge is another one");
        refuses(
            |it| it.kind = "webauthn.create",
            "the client data are of another ceremony",
        );
        refuses(|it| it.flags = 0x04, "nobody was present");
        refuses(
            |it| it.sign_count = 5,
            "the counter went back, so there may be a copy",
        );
        refuses(
            |it| it.sign_count = 0,
            "the counter went back, so there may be a copy",
        );
        refuses(
            |it| it.flags = 0x0d,
            "whether it can be backed up has changed",
        );
        refuses(
            |it| it.raw_id = Some(b"another".to_vec()),
            "the credential is another one",
        );
    }

    #[test]
    fn a_signature_of_another_credential_is_refused() {
        let (key, other) = (TestKey::es256(), TestKey::es256());
        let mut ceremony = Ceremony::new(&key);
        ceremony.sign_count = 9;
        ceremony.signer = Some(&other);
        let outcome = check(&key.credential(), &ceremony);
        assert_eq!(
            outcome.map_err(|refusal| refusal.0),
            Err("the signature is not the credential's")
        );
    }
}

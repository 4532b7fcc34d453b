//! One vector's registration and authentication, run through the checks of the service.

use ciborium::Value as Cbor;
use data_encoding::BASE64URL_NOPAD;
use serde_json::{Value, json};

use super::{
    super::{
        CeremonyError, Credential, RelyingParty, authenticator_data::AuthenticatorData,
        check_assertion, check_registration, cose::ALGORITHMS,
    },
    specification::Vector,
};

/// The length of the relying party's hash, with which authenticator data begin.
const RP_ID_HASH_BYTES: usize = 32;

/// A vector's values as the service receives them.
pub(super) struct Ceremonies<'a> {
    vector: &'a Vector,
    client_data: &'a [u8],
    attestation_object: &'a [u8],
    /// Of the attestation object.
    pub(super) format: String,
    statement_signature: Option<Vec<u8>>,
    registered_data: Vec<u8>,
    assertion: [&'a [u8]; 3],
}

impl<'a> Ceremonies<'a> {
    pub(super) fn read(vector: &'a Vector) -> Result<Self, String> {
        let (created, got) = (&vector.registration, &vector.authentication);
        let attestation_object = created.bytes("attestationObject")?;
        let object: Cbor = ciborium::from_reader(attestation_object)
            .map_err(|error| format!("attestationObject: {error}"))?;
        let entry = |map: &Cbor, name: &str| {
            let entries = map.as_map()?.iter();
            let mut values = entries.filter(|(key, _)| key.as_text() == Some(name));
            values.next().map(|(_, value)| value.clone())
        };
        let format = entry(&object, "fmt").and_then(|format| format.into_text().ok());
        let data = entry(&object, "authData").and_then(|data| data.into_bytes().ok());
        let signature = entry(&object, "attStmt").and_then(|statement| entry(&statement, "sig"));
        Ok(Self {
            vector,
            client_data: created.bytes("clientDataJSON")?,
            attestation_object,
            format: format.ok_or("attestationObject has no fmt")?,
            statement_signature: signature.and_then(|signature| signature.into_bytes().ok()),
            registered_data: data.ok_or("attestationObject has no authData")?,
            assertion: [
                got.bytes("clientDataJSON")?,
                got.bytes("authenticatorData")?,
                got.bytes("signature")?,
            ],
        })
    }

    /// Why Plinth does not support the vector, and the error that it must give.
    pub(super) fn unsupported(&self) -> Option<(String, &'static str)> {
        let algorithm = self.algorithm();
        if !algorithm.is_some_and(|algorithm| ALGORITHMS.contains(&algorithm)) {
            let name = algorithm.map_or_else(|| "unknown".to_owned(), |name| name.to_string());
            let reason = format!("COSE algorithm {name}");
            return Some((reason, "the public key is malformed or of an unknown kind"));
        }
        let client_data: Value = serde_json::from_slice(self.client_data).ok()?;
        (client_data["crossOrigin"] == true).then(|| {
            let reason = "in a frame of another site, which is rejected".to_owned();
            (reason, "the page was in a frame of another site")
        })
    }

    fn algorithm(&self) -> Option<i64> {
        let data = AuthenticatorData::parse(&self.registered_data).ok()?;
        let key: Cbor = ciborium::from_reader(data.attested?.public_key.as_slice()).ok()?;
        let mut entries = key.as_map()?.iter();
        let (_, algorithm) = entries.find(|(label, _)| *label == Cbor::from(3))?;
        algorithm.as_integer()?.try_into().ok()
    }

    pub(super) fn check_rejected(&self, error: &'static str) -> Result<(), String> {
        match self.register(self.client_data, self.attestation_object) {
            Err(CeremonyError(found)) if found == error => Ok(()),
            Err(CeremonyError(found)) => Err(format!("rejected, but for another reason: {found}")),
            Ok(_) => Err("accepted although it is not supported".to_owned()),
        }
    }

    /// The registration is accepted, and not with a changed bit where something binds it: the
    /// relying party's hash always does, a self-attestation binds everything.
    pub(super) fn check_registration(&self) -> Result<Credential, String> {
        let registration = &self.vector.registration;
        let (client_data, object) = (self.client_data, self.attestation_object);
        let credential = self
            .register(client_data, object)
            .map_err(|error| format!("registration: {error}"))?;
        if credential.aaguid.as_bytes() != registration.bytes("aaguid")? {
            return Err("registration: another AAGUID".to_owned());
        }
        let is_bound = credential.attestation_type == "basic_surrogate";
        let bound_bytes = if is_bound {
            self.registered_data.len()
        } else {
            RP_ID_HASH_BYTES
        };
        let mut bound = vec![&self.registered_data[..bound_bytes]];
        if is_bound {
            for changed in with_each_bit_flipped(client_data) {
                expect_rejected(&self.register(&changed, object), "client data")?;
            }
            bound.extend(self.statement_signature.as_deref());
        }
        for part in bound {
            let start = position(object, part).ok_or("a part is not in attestationObject")?;
            for changed in with_each_bit_flipped(part) {
                let mut object = object.to_vec();
                object[start..start + part.len()].copy_from_slice(&changed);
                expect_rejected(&self.register(client_data, &object), "attestationObject")?;
            }
        }
        Ok(credential)
    }

    /// The authentication is accepted, and not with any changed bit.
    pub(super) fn check_authentication(&self, credential: &Credential) -> Result<(), String> {
        self.authenticate(credential, self.assertion)
            .map_err(|error| format!("authentication: {error}"))?;
        for (index, name) in ["clientDataJSON", "authenticatorData", "signature"]
            .into_iter()
            .enumerate()
        {
            for changed in with_each_bit_flipped(self.assertion[index]) {
                let mut assertion = self.assertion;
                assertion[index] = &changed;
                expect_rejected(&self.authenticate(credential, assertion), name)?;
            }
        }
        Ok(())
    }

    fn register(&self, client_data: &[u8], object: &[u8]) -> Result<Credential, CeremonyError> {
        let registration = &self.vector.registration;
        let bytes = |name| registration.bytes(name).expect("given for registrations");
        let response = json!({
            "rawId": BASE64URL_NOPAD.encode(bytes("credential_id")),
            "type": "public-key",
            "response": {
                "clientDataJSON": BASE64URL_NOPAD.encode(client_data),
                "attestationObject": BASE64URL_NOPAD.encode(object),
            },
        });
        let response = serde_json::from_value(response).expect("a response's JSON");
        let challenge = BASE64URL_NOPAD.encode(bytes("challenge"));
        check_registration(&party(), &challenge, &response)
    }

    fn authenticate(
        &self,
        credential: &Credential,
        [client_data, authenticator_data, signature]: [&[u8]; 3],
    ) -> Result<Credential, CeremonyError> {
        let response = json!({
            "rawId": BASE64URL_NOPAD.encode(&credential.id),
            "type": "public-key",
            "response": {
                "clientDataJSON": BASE64URL_NOPAD.encode(client_data),
                "authenticatorData": BASE64URL_NOPAD.encode(authenticator_data),
                "signature": BASE64URL_NOPAD.encode(signature),
            },
        });
        let response = serde_json::from_value(response).expect("a response's JSON");
        let challenge = self.vector.authentication.bytes("challenge");
        let challenge = BASE64URL_NOPAD.encode(challenge.expect("of every ceremony"));
        check_assertion(&party(), &challenge, credential, &response)
    }
}

/// The relying party of all vectors.
fn party() -> RelyingParty {
    RelyingParty {
        id: "example.org".to_owned(),
        name: "Example".to_owned(),
        origins: vec!["https://example.org".to_owned()],
    }
}

fn expect_rejected(
    outcome: &Result<Credential, CeremonyError>,
    changed: &str,
) -> Result<(), String> {
    match outcome {
        Ok(_) => Err(format!("accepted with a changed bit in {changed}")),
        Err(_) => Ok(()),
    }
}

fn with_each_bit_flipped(bytes: &[u8]) -> impl Iterator<Item = Vec<u8>> {
    (0..bytes.len() * 8).map(|bit| {
        let mut changed = bytes.to_vec();
        changed[bit / 8] ^= 1 << (bit % 8);
        changed
    })
}

fn position(bytes: &[u8], part: &[u8]) -> Option<usize> {
    bytes.windows(part.len()).position(|window| window == part)
}

//! A security key and a browser for tests. They sign anything, valid or not.

use aws_lc_rs::{
    digest,
    rand::SystemRandom,
    signature::{ECDSA_P256_SHA256_ASN1_SIGNING, EcdsaKeyPair, KeyPair},
};
use ciborium::Value as Cbor;
use data_encoding::BASE64URL_NOPAD;
use serde_json::{Value, json};

/// An ES256 credential on the site `localhost`.
pub(crate) struct Authenticator {
    pub(crate) id: Vec<u8>,
    pair: EcdsaKeyPair,
    pub(crate) origin: &'static str,
    pub(crate) rp_id: &'static str,
    pub(crate) sign_count: u32,
    pub(crate) aaguid: [u8; 16],
}

impl Authenticator {
    pub(crate) fn new() -> Self {
        let pair = EcdsaKeyPair::generate(&ECDSA_P256_SHA256_ASN1_SIGNING).expect("a key");
        Self {
            id: pair.public_key().as_ref()[1..21].to_vec(),
            pair,
            origin: "http://localhost:3000",
            rp_id: "localhost",
            sign_count: 0,
            aaguid: [0; 16],
        }
    }

    /// The result of `create()`.
    pub(crate) fn create(&self, options: &Value) -> Value {
        let client_data = self.client_data("webauthn.create", options);
        let object = encode(&Cbor::Map(vec![
            ("fmt".into(), "none".into()),
            ("attStmt".into(), Cbor::Map(vec![])),
            (
                "authData".into(),
                Cbor::Bytes(self.authenticator_data(true)),
            ),
        ]));
        self.credential(json!({
            "clientDataJSON": BASE64URL_NOPAD.encode(&client_data),
            "attestationObject": BASE64URL_NOPAD.encode(&object),
            "transports": ["usb"],
        }))
    }

    /// The result of `get()` for the user with this id.
    pub(crate) fn get(&mut self, options: &Value, user: &str) -> Value {
        self.sign_count += 1;
        let client_data = self.client_data("webauthn.get", options);
        let authenticator_data = self.authenticator_data(false);
        let mut message = authenticator_data.clone();
        message.extend(digest::digest(&digest::SHA256, &client_data).as_ref());
        let signature = self.pair.sign(&SystemRandom::new(), &message);
        self.credential(json!({
            "clientDataJSON": BASE64URL_NOPAD.encode(&client_data),
            "authenticatorData": BASE64URL_NOPAD.encode(&authenticator_data),
            "signature": BASE64URL_NOPAD.encode(signature.expect("signed").as_ref()),
            "userHandle": BASE64URL_NOPAD.encode(user.as_bytes()),
        }))
    }

    fn credential(&self, response: Value) -> Value {
        let id = BASE64URL_NOPAD.encode(&self.id);
        json!({
            "id": id,
            "rawId": id,
            "type": "public-key",
            "response": response,
            "clientExtensionResults": {},
            "authenticatorAttachment": "cross-platform",
        })
    }

    fn client_data(&self, kind: &str, options: &Value) -> Vec<u8> {
        let challenge = options["challenge"].as_str().expect("a challenge");
        json!({ "type": kind, "challenge": challenge, "origin": self.origin })
            .to_string()
            .into_bytes()
    }

    fn authenticator_data(&self, has_credential: bool) -> Vec<u8> {
        let mut data = digest::digest(&digest::SHA256, self.rp_id.as_bytes())
            .as_ref()
            .to_vec();
        data.push(if has_credential { 0x45 } else { 0x05 });
        data.extend(self.sign_count.to_be_bytes());
        if has_credential {
            data.extend(self.aaguid);
            data.extend((self.id.len() as u16).to_be_bytes());
            data.extend(&self.id);
            data.extend(self.cose());
        }
        data
    }

    fn cose(&self) -> Vec<u8> {
        let point = self.pair.public_key().as_ref();
        encode(&Cbor::Map(vec![
            (1.into(), 2.into()),
            (3.into(), (-7).into()),
            ((-1).into(), 1.into()),
            ((-2).into(), Cbor::Bytes(point[1..33].to_vec())),
            ((-3).into(), Cbor::Bytes(point[33..].to_vec())),
        ]))
    }
}

fn encode(value: &Cbor) -> Vec<u8> {
    let mut bytes = Vec::new();
    ciborium::into_writer(value, &mut bytes).expect("written");
    bytes
}

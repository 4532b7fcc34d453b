//! An authenticator and a browser for tests. They sign anything, valid or not.

use aws_lc_rs::{
    digest,
    rand::SystemRandom,
    rsa::{KeyPair as RsaKeyPair, KeySize},
    signature::{
        ECDSA_P256_SHA256_ASN1_SIGNING, ECDSA_P384_SHA384_ASN1_SIGNING,
        ECDSA_P521_SHA512_ASN1_SIGNING, EcdsaKeyPair, EcdsaSigningAlgorithm, Ed25519KeyPair,
        KeyPair, RSA_PKCS1_SHA256,
    },
};
use ciborium::Value as Cbor;
use data_encoding::BASE64URL_NOPAD;
use serde_json::{Value, json};
use uuid::Uuid;

use super::{Credential, RelyingParty};

pub(super) const CHALLENGE: &str = "dGhlIGNoYWxsZW5nZSBvZiB0aGlzIHRlc3Q";

pub(super) fn party() -> RelyingParty {
    RelyingParty {
        id: "site.test".to_owned(),
        name: "Site".to_owned(),
        origins: vec!["https://site.test".to_owned()],
    }
}

pub(super) struct TestKey {
    pub(super) id: Vec<u8>,
    pair: Pair,
}

enum Pair {
    Ecdsa {
        algorithm: i64,
        curve: i64,
        pair: EcdsaKeyPair,
    },
    EdDsa(Ed25519KeyPair),
    Rs256(RsaKeyPair),
}

impl TestKey {
    pub(super) fn es256() -> Self {
        Self::ecdsa(-7, 1, &ECDSA_P256_SHA256_ASN1_SIGNING)
    }

    fn ecdsa(algorithm: i64, curve: i64, signing: &'static EcdsaSigningAlgorithm) -> Self {
        Self::new(Pair::Ecdsa {
            algorithm,
            curve,
            pair: EcdsaKeyPair::generate(signing).expect("a key"),
        })
    }

    pub(super) fn of_every_kind() -> [Self; 5] {
        let ed25519 = Ed25519KeyPair::generate().expect("a key");
        let rsa = RsaKeyPair::generate(KeySize::Rsa2048).expect("a key");
        [
            Self::es256(),
            Self::ecdsa(-35, 2, &ECDSA_P384_SHA384_ASN1_SIGNING),
            Self::ecdsa(-36, 3, &ECDSA_P521_SHA512_ASN1_SIGNING),
            Self::new(Pair::EdDsa(ed25519)),
            Self::new(Pair::Rs256(rsa)),
        ]
    }

    fn new(pair: Pair) -> Self {
        let id = crate::random::bytes::<20>().to_vec();
        Self { id, pair }
    }

    pub(super) fn algorithm(&self) -> i64 {
        match self.pair {
            Pair::Ecdsa { algorithm, .. } => algorithm,
            Pair::EdDsa(_) => -8,
            Pair::Rs256(_) => -257,
        }
    }

    pub(super) fn sign(&self, message: &[u8]) -> Vec<u8> {
        let random = SystemRandom::new();
        match &self.pair {
            Pair::Ecdsa { pair, .. } => {
                let signature = pair.sign(&random, message).expect("signed");
                signature.as_ref().to_vec()
            }
            Pair::EdDsa(pair) => pair.sign(message).as_ref().to_vec(),
            Pair::Rs256(pair) => {
                let mut signature = vec![0; pair.public_modulus_len()];
                let signed = pair.sign(&RSA_PKCS1_SHA256, &random, message, &mut signature);
                signed.expect("signed");
                signature
            }
        }
    }

    pub(super) fn cose(&self) -> Vec<u8> {
        let bytes = |bytes: &[u8]| Cbor::Bytes(bytes.to_vec());
        let entries: Vec<(i64, Cbor)> = match &self.pair {
            Pair::Ecdsa { pair, curve, .. } => {
                let point = &pair.public_key().as_ref()[1..];
                let (x, y) = point.split_at(point.len() / 2);
                vec![
                    (1, 2.into()),
                    (3, self.algorithm().into()),
                    (-1, (*curve).into()),
                    (-2, bytes(x)),
                    (-3, bytes(y)),
                ]
            }
            Pair::EdDsa(pair) => vec![
                (1, 1.into()),
                (3, self.algorithm().into()),
                (-1, 6.into()),
                (-2, bytes(pair.public_key().as_ref())),
            ],
            Pair::Rs256(pair) => {
                let public = pair.public_key();
                vec![
                    (1, 3.into()),
                    (3, self.algorithm().into()),
                    (
                        -1,
                        bytes(public.modulus().big_endian_without_leading_zero()),
                    ),
                    (
                        -2,
                        bytes(public.exponent().big_endian_without_leading_zero()),
                    ),
                ]
            }
        };
        let entries = entries.into_iter();
        let entries = entries
            .map(|(label, value)| (label.into(), value))
            .collect();
        encode(&Cbor::Map(entries))
    }

    /// The registered credential, with a counter of 5.
    pub(super) fn credential(&self) -> Credential {
        Credential {
            id: self.id.clone(),
            public_key: self.cose(),
            attestation_type: "none".into(),
            aaguid: Uuid::nil(),
            sign_count: 5,
            transports: Vec::new(),
            is_user_verified: true,
            is_backup_eligible: false,
            is_backed_up: false,
        }
    }
}

/// One ceremony; every part can be made invalid.
pub(super) struct Ceremony<'a> {
    key: &'a TestKey,
    pub(super) signer: Option<&'a TestKey>,
    pub(super) raw_id: Option<Vec<u8>>,
    pub(super) kind: &'static str,
    pub(super) challenge: &'static str,
    pub(super) origin: &'static str,
    pub(super) is_cross_origin: bool,
    pub(super) rp_id: &'static str,
    pub(super) flags: u8,
    pub(super) sign_count: u32,
    pub(super) has_credential: bool,
    pub(super) attestation: &'static str,
}

impl<'a> Ceremony<'a> {
    pub(super) fn new(key: &'a TestKey) -> Self {
        Self {
            key,
            signer: None,
            raw_id: None,
            kind: "",
            challenge: CHALLENGE,
            origin: "https://site.test",
            is_cross_origin: false,
            rp_id: "site.test",
            flags: 0x05,
            sign_count: 0,
            has_credential: true,
            attestation: "none",
        }
    }

    pub(super) fn registration(&self) -> Value {
        let client_data = self.client_data("webauthn.create");
        let authenticator_data = self.authenticator_data(self.has_credential);
        let statement = match self.attestation {
            "none" => vec![],
            "packed" => vec![
                ("alg".into(), self.key.algorithm().into()),
                (
                    "sig".into(),
                    Cbor::Bytes(self.signature(&authenticator_data, &client_data)),
                ),
            ],
            _ => vec![("sig".into(), Cbor::Bytes(vec![0; 8]))],
        };
        let object = encode(&Cbor::Map(vec![
            ("fmt".into(), self.attestation.into()),
            ("attStmt".into(), Cbor::Map(statement)),
            ("authData".into(), Cbor::Bytes(authenticator_data)),
        ]));
        self.credential(json!({
            "clientDataJSON": BASE64URL_NOPAD.encode(&client_data),
            "attestationObject": BASE64URL_NOPAD.encode(&object),
            "transports": ["internal", "hybrid"],
        }))
    }

    pub(super) fn assertion(&self) -> Value {
        let client_data = self.client_data("webauthn.get");
        let authenticator_data = self.authenticator_data(false);
        let signature = self.signature(&authenticator_data, &client_data);
        self.credential(json!({
            "clientDataJSON": BASE64URL_NOPAD.encode(&client_data),
            "authenticatorData": BASE64URL_NOPAD.encode(&authenticator_data),
            "signature": BASE64URL_NOPAD.encode(&signature),
        }))
    }

    fn credential(&self, response: Value) -> Value {
        let id = self.raw_id.as_ref().unwrap_or(&self.key.id);
        let id = BASE64URL_NOPAD.encode(id);
        json!({ "id": id, "rawId": id, "type": "public-key", "response": response })
    }

    fn client_data(&self, usual: &str) -> Vec<u8> {
        let kind = if self.kind.is_empty() {
            usual
        } else {
            self.kind
        };
        let json = json!({
            "type": kind,
            "challenge": self.challenge,
            "origin": self.origin,
            "crossOrigin": self.is_cross_origin,
        });
        json.to_string().into_bytes()
    }

    fn authenticator_data(&self, has_credential: bool) -> Vec<u8> {
        let hash = digest::digest(&digest::SHA256, self.rp_id.as_bytes());
        let mut data = hash.as_ref().to_vec();
        data.push(if has_credential {
            self.flags | 0x40
        } else {
            self.flags & !0x40
        });
        data.extend(self.sign_count.to_be_bytes());
        if has_credential {
            data.extend([0; 16]);
            data.extend((self.key.id.len() as u16).to_be_bytes());
            data.extend(&self.key.id);
            data.extend(self.key.cose());
        }
        data
    }

    fn signature(&self, authenticator_data: &[u8], client_data: &[u8]) -> Vec<u8> {
        let mut message = authenticator_data.to_vec();
        message.extend(digest::digest(&digest::SHA256, client_data).as_ref());
        self.signer.unwrap_or(self.key).sign(&message)
    }
}

fn encode(value: &Cbor) -> Vec<u8> {
    let mut bytes = Vec::new();
    ciborium::into_writer(value, &mut bytes).expect("written");
    bytes
}

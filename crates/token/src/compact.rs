//! The text form of a token: three base64url parts with dots between them.
//!
//! Nothing here is trusted yet; the signature is checked in `verify`.

use std::fmt;

use serde::Deserialize;

use crate::encoding::from_base64url;
use crate::error::TokenError;

/// What a token's header says about its signature. Unverified: any client can write a header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenHeader {
    /// The algorithm's name as given, known or not.
    pub alg: String,
    /// The id of the key, if the header names one.
    pub kid: Option<String>,
}

impl TokenHeader {
    /// Reads the header of a token without verifying the token.
    pub fn peek(token: &str) -> Result<Self, TokenError> {
        CompactToken::parse(token).map(|compact| compact.header)
    }
}

/// A parsed, unverified token.
pub(crate) struct CompactToken<'a> {
    pub(crate) header: TokenHeader,
    /// What was signed: header and payload as they came, with the dot.
    pub(crate) message: &'a str,
    pub(crate) payload: &'a str,
    pub(crate) signature: Vec<u8>,
}

/// The parts together are the token, so only the header is printed.
impl fmt::Debug for CompactToken<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("CompactToken")
            .field("header", &self.header)
            .finish_non_exhaustive()
    }
}

impl<'a> CompactToken<'a> {
    pub(crate) fn parse(token: &'a str) -> Result<Self, TokenError> {
        if token.is_empty() {
            return Err(TokenError::Empty);
        }
        let parts = token.split('.').count();
        let header = token.split('.').next().and_then(RawHeader::decode);
        if header.as_ref().is_some_and(|header| header.enc.is_some()) {
            return Err(TokenError::EncryptedToken { parts });
        }
        if parts != 3 {
            return Err(TokenError::NotThreeParts(parts));
        }

        let header = header.ok_or(TokenError::UndecodableHeader)?.accept()?;
        let (message, signature) = token.rsplit_once('.').ok_or(TokenError::NotThreeParts(1))?;
        let (_, payload) = message
            .split_once('.')
            .ok_or(TokenError::NotThreeParts(2))?;
        let signature = from_base64url(signature).ok_or(TokenError::UndecodableSignature)?;
        Ok(Self {
            header,
            message,
            payload,
            signature,
        })
    }
}

#[derive(Deserialize)]
struct RawHeader {
    alg: String,
    kid: Option<String>,
    /// Present only in encrypted tokens.
    enc: Option<serde_json::Value>,
    /// Critical extensions; none is supported.
    crit: Option<serde_json::Value>,
}

impl RawHeader {
    fn decode(part: &str) -> Option<Self> {
        serde_json::from_slice(&from_base64url(part)?).ok()
    }

    fn accept(self) -> Result<TokenHeader, TokenError> {
        if self.crit.is_some() {
            return Err(TokenError::UndecodableHeader);
        }
        Ok(TokenHeader {
            alg: self.alg,
            kid: self.kid,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::encoding::base64url;

    fn check(header: &str, expected: Result<TokenHeader, TokenError>) {
        let token = format!("{}.e30.AAAA", base64url(header.as_bytes()));
        assert_eq!(TokenHeader::peek(&token), expected, "{header}");
    }

    #[test]
    fn a_header_may_be_peeked_at() {
        let header = |alg: &str, kid: Option<&str>| TokenHeader {
            alg: alg.to_owned(),
            kid: kid.map(str::to_owned),
        };

        check(
            r#"{"alg":"ES256","kid":"a","typ":"JWT"}"#,
            Ok(header("ES256", Some("a"))),
        );
        check(r#"{"alg":"none"}"#, Ok(header("none", None)));
        check(r#"{"alg":"HS256","kid":null}"#, Ok(header("HS256", None)));
    }

    #[test]
    fn a_header_that_makes_no_sense_is_rejected() {
        for header in [
            "",
            "{",
            "[]",
            "null",
            r#""HS256""#,
            "{}",
            r#"{"alg":1}"#,
            r#"{"alg":"HS256","kid":7}"#,
            r#"{"alg":"HS256","crit":["b64"],"b64":false}"#,
            r#"{"alg":"HS256","alg":"ES256"}"#,
        ] {
            check(header, Err(TokenError::UndecodableHeader));
        }
        let not_base64 = TokenHeader::peek("a+b=.e30.AAAA");
        assert_eq!(not_base64, Err(TokenError::UndecodableHeader));
    }

    #[test]
    fn debug_prints_neither_payload_nor_signature() {
        let header = base64url(br#"{"alg":"HS256"}"#);
        let token = format!("{header}.cGF5bG9hZA.c2lnbmF0dXJl");

        let text = format!("{:?}", CompactToken::parse(&token).unwrap());

        assert!(!text.contains("cGF5bG9hZA"), "{text}");
        assert!(text.contains("HS256"), "{text}");
    }

    #[test]
    fn the_number_of_parts_is_reported() {
        let check = |token, parts| {
            assert_eq!(
                TokenHeader::peek(token),
                Err(TokenError::NotThreeParts(parts)),
                "{token}"
            );
        };

        check("a", 1);
        check("a.b", 2);
        check("a.b.c.d", 4);
        check("....", 5);
        assert_eq!(TokenHeader::peek(""), Err(TokenError::Empty));
    }

    #[test]
    fn an_encrypted_token_is_recognised_by_its_header() {
        let header = base64url(br#"{"alg":"RSA-OAEP","enc":"A256GCM"}"#);

        for (token, parts) in [
            (format!("{header}.a.b.c.d"), 5),
            (format!("{header}.a.b"), 3),
        ] {
            assert_eq!(
                TokenHeader::peek(&token),
                Err(TokenError::EncryptedToken { parts })
            );
        }
    }

    #[test]
    fn a_signature_that_is_not_base64url_is_rejected() {
        let header = base64url(br#"{"alg":"HS256"}"#);

        for signature in ["AA=", "A+A", "é", "A"] {
            let token = format!("{header}.e30.{signature}");
            assert_eq!(
                TokenHeader::peek(&token),
                Err(TokenError::UndecodableSignature)
            );
        }
    }
}

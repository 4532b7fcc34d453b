//! Refresh tokens v2: signed counters. Only a key and a counter are stored per session (auth
//! contract §3.3).

use aws_lc_rs::{constant_time, digest, hmac};
use data_encoding::BASE64URL_NOPAD;
use plinth_db::{DbError, Queries};
use uuid::Uuid;

use crate::{model::sessions, random};

const VERSION: u8 = 0;
const MAC_BYTES: usize = 16;
const CHECKSUM_BYTES: usize = 4;

/// A parsed token whose signature is not checked yet.
pub(super) struct CountedToken {
    pub(super) session: Uuid,
    pub(super) counter: i64,
    signed: Vec<u8>,
    mac: Vec<u8>,
}

impl CountedToken {
    /// `None` if the text is not such a token or is damaged.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let bytes = BASE64URL_NOPAD.decode(text.as_bytes()).ok()?;
        let (body, checksum) = bytes.split_at_checked(bytes.len().checked_sub(CHECKSUM_BYTES)?)?;
        let sum = digest::digest(&digest::SHA256, body);
        if sum.as_ref().get(..CHECKSUM_BYTES)? != checksum {
            return None;
        }
        let (signed, mac) = body.split_at_checked(body.len().checked_sub(MAC_BYTES)?)?;
        let (version, rest) = signed.split_first()?;
        let (session, counter) = rest.split_at_checked(16)?;
        Some(Self {
            session: (*version == VERSION).then(|| Uuid::from_slice(session).ok())??,
            counter: read_leb128(counter)?,
            signed: signed.to_vec(),
            mac: mac.to_vec(),
        })
    }

    /// Whether the session's key signed it.
    pub(super) fn is_signed_with(&self, key: &str) -> bool {
        let Ok(key) = BASE64URL_NOPAD.decode(key.trim_end_matches('=').as_bytes()) else {
            return false;
        };
        let mac = sign(&key, &self.signed);
        constant_time::verify_slices_are_equal(&mac, &self.mac).is_ok()
    }
}

/// The session's token with this counter.
pub(super) fn render(session: Uuid, key: &str, counter: i64) -> Option<String> {
    let key = BASE64URL_NOPAD
        .decode(key.trim_end_matches('=').as_bytes())
        .ok()?;
    let mut bytes = vec![VERSION];
    bytes.extend(session.as_bytes());
    write_leb128(u64::try_from(counter).ok()?, &mut bytes);
    let mac = sign(&key, &bytes);
    bytes.extend(mac);
    let sum = digest::digest(&digest::SHA256, &bytes);
    bytes.extend(&sum.as_ref()[..CHECKSUM_BYTES]);
    Some(BASE64URL_NOPAD.encode(&bytes))
}

fn sign(key: &[u8], bytes: &[u8]) -> Vec<u8> {
    let key = hmac::Key::new(hmac::HMAC_SHA256, key);
    hmac::sign(&key, bytes).as_ref()[..MAC_BYTES].to_vec()
}

fn write_leb128(mut number: u64, out: &mut Vec<u8>) {
    loop {
        let low = (number & 0x7f) as u8;
        number >>= 7;
        match number {
            0 => return out.push(low),
            _ => out.push(low | 0x80),
        }
    }
}

/// Reads all of `bytes`; only the shortest encoding is accepted.
fn read_leb128(bytes: &[u8]) -> Option<i64> {
    let mut number: u64 = 0;
    for (at, byte) in bytes.iter().enumerate() {
        let shift = u32::try_from(7 * at).ok()?;
        let low = u64::from(byte & 0x7f);
        number |= low.checked_shl(shift).filter(|bits| bits >> shift == low)?;
        if byte & 0x80 == 0 {
            let is_last = at + 1 == bytes.len() && (*byte != 0 || at == 0);
            return is_last.then(|| i64::try_from(number).ok())?;
        }
    }
    None
}

/// Creates the session's key and first token.
pub(super) async fn first_token(db: &mut impl Queries, session: Uuid) -> Result<String, DbError> {
    new_key(db, session, 0).await
}

/// Sets a new key, with which no earlier token is signed, and returns the token with this counter.
pub(super) async fn new_key(
    db: &mut impl Queries,
    session: Uuid,
    counter: i64,
) -> Result<String, DbError> {
    let key = random::url_text::<32>();
    sessions::set_refresh_key(db, session, &key, counter).await?;
    render(session, &key, counter)
        .ok_or_else(|| DbError::Misuse("a new key is unusable".to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_says_what_was_signed() {
        let session = random::uuid();
        let key = random::url_text::<32>();
        for counter in [0, 1, 127, 128, 300, 1 << 40, i64::MAX] {
            let text = render(session, &key, counter).expect("rendered");
            let token = CountedToken::parse(&text).expect("parsed");

            assert_eq!((token.session, token.counter), (session, counter));
            assert!(token.is_signed_with(&key));
            assert!(!token.is_signed_with(&random::url_text::<32>()));
        }
    }

    #[test]
    fn a_mangled_token_is_none() {
        let text = render(random::uuid(), &random::url_text::<32>(), 5).expect("rendered");
        for at in 0..text.len() {
            let mut mangled = text.clone().into_bytes();
            mangled[at] = if mangled[at] == b'A' { b'B' } else { b'A' };
            let mangled = String::from_utf8(mangled).expect("ASCII");
            assert!(CountedToken::parse(&mangled).is_none(), "{at}");
        }
        for text in ["", "AAAA", "not a token", &text[1..]] {
            assert!(CountedToken::parse(text).is_none(), "{text}");
        }
    }
}

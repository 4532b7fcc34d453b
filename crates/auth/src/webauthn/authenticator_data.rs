//! The authenticator data of a response.

use aws_lc_rs::digest;
use ciborium::Value;
use uuid::Uuid;

use super::{CeremonyError, RelyingParty};

const USER_PRESENT: u8 = 1;
const USER_VERIFIED: u8 = 1 << 2;
const BACKUP_ELIGIBLE: u8 = 1 << 3;
const BACKED_UP: u8 = 1 << 4;
const HAS_CREDENTIAL: u8 = 1 << 6;
const HAS_EXTENSIONS: u8 = 1 << 7;

/// The limit of the standard.
const MAX_ID_BYTES: usize = 1023;

#[derive(Debug, Clone, PartialEq)]
pub(super) struct AuthenticatorData {
    pub(super) rp_id_hash: [u8; 32],
    flags: u8,
    pub(super) sign_count: u32,
    pub(super) attested: Option<AttestedCredential>,
}

/// A new credential.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct AttestedCredential {
    pub(super) aaguid: Uuid,
    pub(super) id: Vec<u8>,
    /// COSE-encoded.
    pub(super) public_key: Vec<u8>,
}

impl AuthenticatorData {
    pub(super) fn parse(bytes: &[u8]) -> Result<Self, CeremonyError> {
        Self::read(bytes).ok_or(CeremonyError("the authenticator data are malformed"))
    }

    fn read(mut bytes: &[u8]) -> Option<Self> {
        let rest = &mut bytes;
        let rp_id_hash = take_bytes(rest, 32)?.try_into().ok()?;
        let flags = *take_bytes(rest, 1)?.first()?;
        let sign_count = u32::from_be_bytes(take_bytes(rest, 4)?.try_into().ok()?);
        let attested = match flags & HAS_CREDENTIAL {
            0 => None,
            _ => Some(AttestedCredential::read(rest)?),
        };
        if flags & HAS_EXTENSIONS != 0 {
            skip_cbor(rest)?;
        }
        let is_whole = rest.is_empty();
        is_whole.then_some(Self {
            rp_id_hash,
            flags,
            sign_count,
            attested,
        })
    }

    /// Rejects data for another relying party or without user presence.
    pub(super) fn check(&self, party: &RelyingParty) -> Result<(), CeremonyError> {
        let expected = digest::digest(&digest::SHA256, party.id.as_bytes());
        if self.rp_id_hash != expected.as_ref() {
            return Err(CeremonyError("the response is for another relying party"));
        }
        if self.flags & USER_PRESENT == 0 {
            return Err(CeremonyError("the user was not present"));
        }
        if self.is_backed_up() && !self.is_backup_eligible() {
            return Err(CeremonyError(
                "a credential that cannot be backed up says it was",
            ));
        }
        Ok(())
    }

    pub(super) fn is_user_verified(&self) -> bool {
        self.flags & USER_VERIFIED != 0
    }

    pub(super) fn is_backup_eligible(&self) -> bool {
        self.flags & BACKUP_ELIGIBLE != 0
    }

    pub(super) fn is_backed_up(&self) -> bool {
        self.flags & BACKED_UP != 0
    }
}

impl AttestedCredential {
    fn read(rest: &mut &[u8]) -> Option<Self> {
        let aaguid = Uuid::from_slice(take_bytes(rest, 16)?).ok()?;
        let length = u16::from_be_bytes(take_bytes(rest, 2)?.try_into().ok()?);
        let length = usize::from(length);
        let id = (1..=MAX_ID_BYTES)
            .contains(&length)
            .then(|| take_bytes(rest, length))??;
        let before = *rest;
        skip_cbor(rest)?;
        let public_key = &before[..before.len() - rest.len()];
        Some(Self {
            aaguid,
            id: id.to_vec(),
            public_key: public_key.to_vec(),
        })
    }
}

fn take_bytes<'a>(rest: &mut &'a [u8], count: usize) -> Option<&'a [u8]> {
    let (taken, after) = rest.split_at_checked(count)?;
    *rest = after;
    Some(taken)
}

/// Skips exactly one value.
fn skip_cbor(rest: &mut &[u8]) -> Option<()> {
    let _: Value = ciborium::from_reader(rest).ok()?;
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(flags: u8) -> Vec<u8> {
        let mut bytes = vec![7; 32];
        bytes.push(flags);
        bytes.extend([0, 0, 1, 2]);
        bytes
    }

    #[test]
    fn counter_and_flags_are_read() {
        let data = AuthenticatorData::parse(&plain(0x1d)).expect("good data");

        assert_eq!(data.sign_count, 258);
        assert!(data.is_user_verified() && data.is_backup_eligible() && data.is_backed_up());
        assert_eq!(data.attested, None);
    }

    #[test]
    fn truncated_or_overlong_data_is_rejected() {
        let good = plain(0x01);
        for length in 0..good.len() {
            assert!(AuthenticatorData::parse(&good[..length]).is_err());
        }
        let mut long = good;
        long.push(0);
        assert!(AuthenticatorData::parse(&long).is_err());
    }

    #[test]
    fn extensions_may_follow_where_they_are_announced() {
        let mut bytes = plain(0x81);
        bytes.extend([0xa1, 0x61, 0x78, 0xf5]);

        assert!(AuthenticatorData::parse(&bytes).is_ok());
        bytes.push(0);
        assert!(AuthenticatorData::parse(&bytes).is_err());
    }

    proptest::proptest! {
        #[test]
        fn no_bytes_make_the_parser_panic(
            head in proptest::collection::vec(0u8.., 32..60),
            tail in proptest::collection::vec(0u8.., 0..200),
        ) {
            let mut bytes = head;
            bytes[31..].iter_mut().take(2).for_each(|byte| *byte |= 0xc1);
            bytes.extend(tail);
            AuthenticatorData::parse(&bytes).ok();
        }
    }
}

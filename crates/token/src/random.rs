//! The one source of random bytes.

use uuid::Uuid;
use zeroize::Zeroizing;

/// Fresh random bytes, wiped when dropped.
pub(crate) fn bytes<const N: usize>() -> Zeroizing<[u8; N]> {
    let mut bytes = Zeroizing::new([0; N]);
    aws_lc_rs::rand::fill(&mut bytes[..]).expect("the system's random generator does not fail");
    bytes
}

/// A fresh random identifier, for key ids.
pub(crate) fn uuid() -> Uuid {
    uuid::Builder::from_random_bytes(*bytes::<16>()).into_uuid()
}

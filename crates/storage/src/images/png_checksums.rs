//! Checksums of PNG chunks. A wrong one says nothing about the pixels that browsers would not show
//! all the same, so it does not keep an image from being rendered; the decoder insists on them.

use crc::{CRC_32_ISO_HDLC, Crc, Table};

static CRC32: Crc<u32, Table<16>> = Crc::<u32, Table<16>>::new(&CRC_32_ISO_HDLC);

const SIGNATURE: &[u8] = b"\x89PNG\r\n\x1a\n";

/// Writes the right checksum to every chunk; whether one was wrong.
pub(super) fn correct(source: &mut [u8]) -> bool {
    if !source.starts_with(SIGNATURE) {
        return false;
    }
    let mut rest = &mut source[SIGNATURE.len()..];
    let mut was_wrong = false;
    while let Some((chunk, following)) = split_chunk(rest) {
        let (content, checksum) = chunk.split_at_mut(chunk.len() - 4);
        let right = CRC32.checksum(&content[4..]).to_be_bytes();
        was_wrong |= checksum != right;
        checksum.copy_from_slice(&right);
        rest = following;
    }
    was_wrong
}

/// The first chunk (length, name, data and checksum), and what follows it.
fn split_chunk(bytes: &mut [u8]) -> Option<(&mut [u8], &mut [u8])> {
    let length = u32::from_be_bytes(*bytes.first_chunk()?);
    let whole = usize::try_from(length).ok()?.checked_add(12)?;
    bytes.split_at_mut_checked(whole)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chunk(name: &[u8], data: &[u8], checksum: u32) -> Vec<u8> {
        let length = u32::try_from(data.len()).expect("short").to_be_bytes();
        [&length, name, data, &checksum.to_be_bytes()].concat()
    }

    #[test]
    fn wrong_checksums_are_corrected_and_right_ones_stay() {
        // IEND is the same in every file.
        let end = chunk(b"IEND", b"", 0xAE42_6082);
        let mut right = [SIGNATURE, &end].concat();
        assert!(!correct(&mut right));
        let mut wrong = [SIGNATURE, &chunk(b"IEND", b"", 7)].concat();
        assert!(correct(&mut wrong));
        assert_eq!(wrong, right);
    }

    #[test]
    fn what_is_cut_off_or_no_png_stays_as_it_is() {
        for mut bytes in [
            Vec::new(),
            SIGNATURE.to_vec(),
            [SIGNATURE, &u32::MAX.to_be_bytes(), b"IDAT"].concat(),
            b"GIF89a".to_vec(),
        ] {
            let before = bytes.clone();
            assert!(!correct(&mut bytes));
            assert_eq!(bytes, before);
        }
    }
}

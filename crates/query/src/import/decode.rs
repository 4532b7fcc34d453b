//! From the bytes of a file to UTF-8, in pieces of any size.

use super::options::Encoding;

/// Decodes a stream.
pub(super) struct Decoder {
    encoding: Encoding,
    /// The beginning of a character whose rest has not come.
    rest: Vec<u8>,
    is_at_start: bool,
    text: Vec<u8>,
}

/// A decoded piece.
pub(super) struct Decoded<'a> {
    pub(super) text: &'a [u8],
    /// Offsets in the text before which something could not be decoded and was left out.
    pub(super) faults: Vec<usize>,
}

/// The characters 0x80 to 0x9f of windows-1252; the five undefined ones are controls.
const WINDOWS_1252: [char; 32] = [
    '€', '\u{81}', '‚', 'ƒ', '„', '…', '†', '‡', 'ˆ', '‰', 'Š', '‹', 'Œ', '\u{8d}', 'Ž', '\u{8f}',
    '\u{90}', '‘', '’', '“', '”', '•', '–', '—', '˜', '™', 'š', '›', 'œ', '\u{9d}', 'ž', 'Ÿ',
];

impl Decoder {
    pub(super) fn new(encoding: Encoding) -> Self {
        Self {
            encoding,
            rest: Vec::new(),
            is_at_start: true,
            text: Vec::new(),
        }
    }

    /// Decodes a piece. With `is_last`, a character whose rest is missing is a fault.
    pub(super) fn push(&mut self, piece: &[u8], is_last: bool) -> Decoded<'_> {
        self.text.clear();
        let mut faults = Vec::new();
        match self.encoding {
            Encoding::Utf8 => self.utf8(piece, &mut faults),
            Encoding::Utf16Le => self.utf16(piece, u16::from_le_bytes, &mut faults),
            Encoding::Utf16Be => self.utf16(piece, u16::from_be_bytes, &mut faults),
            Encoding::Latin1 => {
                let chars = piece.iter().map(|byte| char::from(*byte));
                push_chars(&mut self.text, chars);
            }
            Encoding::Windows1252 => {
                let chars = piece.iter().map(|byte| match byte {
                    0x80..=0x9f => WINDOWS_1252[usize::from(byte - 0x80)],
                    byte => char::from(*byte),
                });
                push_chars(&mut self.text, chars);
            }
        }
        if is_last && !self.rest.is_empty() {
            self.rest.clear();
            faults.push(self.text.len());
        }
        let mut start = 0;
        if self.is_at_start && !self.text.is_empty() {
            self.is_at_start = false;
            if self.text.starts_with("\u{feff}".as_bytes()) {
                start = 3;
                faults.iter_mut().for_each(|at| *at = at.saturating_sub(3));
            }
        }
        Decoded {
            text: &self.text[start..],
            faults,
        }
    }

    fn utf8(&mut self, piece: &[u8], faults: &mut Vec<usize>) {
        let joined;
        let mut bytes = if self.rest.is_empty() {
            piece
        } else {
            self.rest.extend_from_slice(piece);
            joined = std::mem::take(&mut self.rest);
            &joined[..]
        };
        loop {
            match std::str::from_utf8(bytes) {
                Ok(text) => {
                    self.text.extend_from_slice(text.as_bytes());
                    return;
                }
                Err(error) => {
                    let (good, bad) = bytes.split_at(error.valid_up_to());
                    self.text.extend_from_slice(good);
                    let Some(length) = error.error_len() else {
                        self.rest.extend_from_slice(bad);
                        return;
                    };
                    faults.push(self.text.len());
                    bytes = &bad[length..];
                }
            }
        }
    }

    fn utf16(&mut self, piece: &[u8], read: fn([u8; 2]) -> u16, faults: &mut Vec<usize>) {
        let mut bytes = std::mem::take(&mut self.rest);
        bytes.extend_from_slice(piece);
        let whole = bytes.len() - bytes.len() % 2;
        let mut units = Vec::with_capacity(whole / 2);
        for pair in bytes[..whole].chunks_exact(2) {
            units.push(read([pair[0], pair[1]]));
        }
        let mut kept = whole;
        // Half of a pair waits for the other half.
        if units
            .last()
            .is_some_and(|unit| (0xd800..0xdc00).contains(unit))
        {
            units.pop();
            kept -= 2;
        }
        self.rest.extend_from_slice(&bytes[kept..]);
        for unit in char::decode_utf16(units) {
            match unit {
                Ok(c) => push_chars(&mut self.text, [c]),
                Err(_) => faults.push(self.text.len()),
            }
        }
    }
}

fn push_chars(text: &mut Vec<u8>, chars: impl IntoIterator<Item = char>) {
    let mut buffer = [0; 4];
    for c in chars {
        text.extend_from_slice(c.encode_utf8(&mut buffer).as_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decode(encoding: Encoding, bytes: &[u8], size: usize) -> (String, usize) {
        let mut decoder = Decoder::new(encoding);
        let mut text = Vec::new();
        let mut faults = 0;
        for piece in bytes.chunks(size).chain([&[][..]]) {
            let decoded = decoder.push(piece, piece.is_empty());
            text.extend_from_slice(decoded.text);
            faults += decoded.faults.len();
        }
        (String::from_utf8(text).expect("UTF-8"), faults)
    }

    #[test]
    fn every_encoding_becomes_utf8() {
        let text = "aé€😀";
        let utf16: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
        let big: Vec<u8> = text.encode_utf16().flat_map(u16::to_be_bytes).collect();
        for size in 1..5 {
            assert_eq!(
                decode(Encoding::Utf8, text.as_bytes(), size),
                (text.into(), 0)
            );
            assert_eq!(decode(Encoding::Utf16Le, &utf16, size), (text.into(), 0));
            assert_eq!(decode(Encoding::Utf16Be, &big, size), (text.into(), 0));
        }
        assert_eq!(
            decode(Encoding::Windows1252, b"\x80\xe9", 1),
            ("€é".into(), 0)
        );
        assert_eq!(decode(Encoding::Latin1, b"\xe9", 1), ("é".into(), 0));
    }

    #[test]
    fn a_mark_at_the_beginning_is_left_out() {
        let marked = "\u{feff}a\u{feff}";
        let plain = "a\u{feff}".to_owned();
        assert_eq!(decode(Encoding::Utf8, marked.as_bytes(), 100), (plain, 0));
    }

    #[test]
    fn what_is_broken_is_counted() {
        for size in 1..4 {
            assert_eq!(
                decode(Encoding::Utf8, b"a\xff\xc3(b\xe2\x82", size),
                ("a(b".into(), 3)
            );
        }
        assert_eq!(
            decode(Encoding::Utf16Le, b"a\0\0\xdcb\0c", 100),
            ("ab".into(), 2)
        );
    }
}

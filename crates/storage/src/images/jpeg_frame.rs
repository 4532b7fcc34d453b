//! How much a JPEG decoder must keep beside the pixels, from the headers of a file.
//!
//! Where the coefficients of a block arrive in several scans, those of the whole image are kept
//! until the last one: in progressive files, and where each colour has a scan of its own.

/// Bytes of a coefficient, as decoders keep them.
const COEFFICIENT: u64 = 2;

/// Bytes for the coefficients of the whole image; 0 where each row of blocks is decoded at once.
/// Markers that cannot be followed count as the worst case: the decoder may be more lenient.
pub(super) fn coefficient_bytes(source: &[u8], pixels: u64) -> u64 {
    let Some(frame) = Frame::find(source) else {
        return pixels.saturating_mul(4 * COEFFICIENT);
    };
    if frame.is_decoded_by_row() {
        return 0;
    }
    let (all, largest) = (frame.sampled_blocks(), frame.largest_block());
    // Rows and columns are padded to whole blocks, which matters for small images only.
    let padded = pixels.saturating_add(pixels / 8).saturating_add(1 << 16);
    padded.saturating_mul(all * COEFFICIENT) / largest
}

struct Frame<'a> {
    is_progressive: bool,
    /// Three bytes each; the second has the sampling factors.
    components: &'a [u8],
    /// Components in the first scan.
    first_scan: usize,
}

impl<'a> Frame<'a> {
    fn find(source: &'a [u8]) -> Option<Self> {
        let mut frame = None;
        let mut at = 2;
        loop {
            let (marker, segment, next) = segment(source, at)?;
            at = next;
            match marker {
                // SOF0 to SOF15, without DHT, JPG and DAC.
                0xC0..=0xCF if !matches!(marker, 0xC4 | 0xC8 | 0xCC) => {
                    let count = usize::from(*segment.get(5)?);
                    let components = segment.get(6..6 + 3 * count)?;
                    frame = Some((!matches!(marker, 0xC0 | 0xC1), components));
                }
                0xDA => {
                    let (is_progressive, components) = frame?;
                    return Some(Self {
                        is_progressive,
                        components,
                        first_scan: usize::from(*segment.first()?),
                    });
                }
                _ => {}
            }
        }
    }

    fn is_decoded_by_row(&self) -> bool {
        !self.is_progressive && self.first_scan == self.components.len() / 3
    }

    fn factors(&self) -> impl Iterator<Item = u64> {
        let factors = |component: &[u8]| (component[1] >> 4).max(1) * (component[1] & 15).max(1);
        self.components
            .chunks_exact(3)
            .map(move |component| u64::from(factors(component)))
    }

    fn sampled_blocks(&self) -> u64 {
        self.factors().sum()
    }

    fn largest_block(&self) -> u64 {
        self.factors().max().unwrap_or(1)
    }
}

/// The marker at or after that position, its segment, and where the next one may be.
fn segment(source: &[u8], at: usize) -> Option<(u8, &[u8], usize)> {
    let rest = source.get(at..)?;
    let start = rest.iter().position(|byte| *byte == 0xFF)?;
    let code = start + rest[start..].iter().position(|byte| *byte != 0xFF)?;
    let marker = rest[code];
    // A stuffed byte, and markers without a segment.
    if matches!(marker, 0x00 | 0x01 | 0xD0..=0xD9) {
        return Some((marker, &[], at + code + 1));
    }
    let length = rest.get(code + 1..code + 3)?;
    let length = usize::from(u16::from_be_bytes([length[0], length[1]]));
    let segment = rest.get(code + 3..code + 1 + length)?;
    Some((marker, segment, at + code + 1 + length))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file with that frame, as far as its first scan; a component is (sampling factors).
    fn file(marker: u8, components: &[u8], first_scan: u8) -> Vec<u8> {
        let count = u8::try_from(components.len()).expect("few");
        let mut bytes = vec![0xFF, 0xD8, 0xFF, 0xE0, 0, 4, 1, 2, 0xFF, marker];
        bytes.extend([0, 8 + 3 * count, 8, 1, 0, 1, 0, count]);
        for factors in components {
            bytes.extend([1, *factors, 0]);
        }
        bytes.extend([0xFF, 0xDA, 0, 3, first_scan]);
        bytes
    }

    #[test]
    fn coefficients_are_kept_where_scans_add_to_each_other() {
        const PIXELS: u64 = 8_000_000;
        let check = |file: Vec<u8>, per_pixel: f64| {
            let found = coefficient_bytes(&file, PIXELS) as f64 / PIXELS as f64;
            assert!((per_pixel..=per_pixel * 1.2).contains(&found), "{found}");
        };
        let halved = [0x22, 0x11, 0x11];
        check(file(0xC0, &halved, 3), 0.0);
        check(file(0xC1, &[0x11], 1), 0.0);
        check(file(0xC2, &halved, 3), 3.0);
        check(file(0xC2, &[0x11, 0x11, 0x11], 3), 6.0);
        check(file(0xC0, &halved, 1), 3.0);
    }

    #[test]
    fn what_cannot_be_followed_is_the_worst_case() {
        let whole = file(0xC0, &[0x11, 0x11, 0x11], 3);
        for length in 0..whole.len() {
            assert_eq!(coefficient_bytes(&whole[..length], 100), 800, "{length}");
        }
        assert_eq!(coefficient_bytes(&[0xFF; 100], 100), 800);
    }
}

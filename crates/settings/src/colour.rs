//! Colours, and whether white text on them has enough contrast (WCAG 2.2, 1.4.3).

/// Minimum contrast ratio between text and background.
const MIN_CONTRAST: f64 = 4.5;

/// Whether `text` is a colour such as `#1f6f54`, dark enough for white text.
pub(crate) fn carries_white_text(text: &str) -> bool {
    parse(text).is_some_and(|colour| 1.05 / (luminance(colour) + 0.05) >= MIN_CONTRAST)
}

fn parse(text: &str) -> Option<[u8; 3]> {
    let digits = text.strip_prefix('#')?;
    if digits.len() != 6 || !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    let number = u32::from_str_radix(digits, 16).ok()?;
    let [_, red, green, blue] = number.to_be_bytes();
    Some([red, green, blue])
}

/// How bright a colour is to the eye, from 0 to 1.
fn luminance(colour: [u8; 3]) -> f64 {
    let [red, green, blue] = colour.map(|part| {
        let part = f64::from(part) / 255.0;
        if part <= 0.040_45 {
            part / 12.92
        } else {
            ((part + 0.055) / 1.055).powf(2.4)
        }
    });
    0.2126 * red + 0.7152 * green + 0.0722 * blue
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_dark_colours_carry_white_text() {
        let check = |text, expected| assert_eq!(carries_white_text(text), expected, "{text}");
        check("#000000", true);
        check("#1F6F54", true);
        // The lightest grey that still does, and its neighbour.
        check("#767676", true);
        check("#777777", false);
        check("#ffffff", false);
        check("1f6f54", false);
        check("#1f6", false);
        check("#1f6f5g", false);
        check("#+f6f54", false);
    }
}

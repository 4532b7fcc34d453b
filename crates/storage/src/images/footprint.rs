//! How much memory the rendering of an image takes at its peak, known before it is decoded.

use super::{
    encode::Format,
    geometry::ResizePlan,
    header::{Header, source_bytes},
    resize::BAND_BYTES,
};

/// Filters of both directions, buffers of encoders, and by how much the kernel's count of pages may be off.
const OVERHEAD: u64 = 5 * 1024 * 1024;

/// Bytes at the peak, for a source of that length and that header.
pub(super) fn peak_bytes(
    source_length: u64,
    header: &Header,
    plan: &ResizePlan,
    format: Option<Format>,
) -> u64 {
    let source = source_bytes(source_length);
    let decoding = source.saturating_add(header.decoding_bytes());

    let is_whole = plan.is_whole(header.width, header.height);
    let pixels = u64::from(plan.width) * u64::from(plan.height);
    let result = pixels.saturating_mul(header.channels.into());
    let resizing = if is_whole {
        0
    } else {
        // Sixteen bits were made eight, but the allocator may keep the rest.
        header.decoded_bytes().saturating_add(result) + 2 * BAND_BYTES
    };
    // A turned copy while the image is turned, then what the encoder takes.
    let encoding = result.max(encoding_bytes(header, pixels, format));
    let encoding = result.saturating_add(encoding);
    let after_decoding = if is_whole {
        encoding.max(header.decoded_bytes().saturating_add(result))
    } else {
        encoding
    };
    decoding
        .max(resizing)
        .max(after_decoding)
        .saturating_add(OVERHEAD)
}

/// For the format that takes most, where the pixels decide.
fn encoding_bytes(header: &Header, pixels: u64, format: Option<Format>) -> u64 {
    let bytes = |format: Format| format.working_bytes(pixels, header.channels);
    let undecided = || bytes(Format::Jpeg).max(bytes(Format::Png));
    format.map_or_else(undecided, bytes)
}

#[cfg(test)]
mod tests {
    use std::{env, fs, io::Cursor, process::Command};

    use image::{DynamicImage, ImageFormat, RgbaImage};

    use crate::{
        config::ImagesConfig,
        images::{Transform, render::RenderRequest},
        request::Fields,
    };

    const WIDTH: u32 = 2500;
    const HEIGHT: u32 = 1600;
    const CASE: &str = "PLINTH_RENDER_CASE";

    /// Format, channels and bits of the source; the query; whether WebP is accepted.
    const CASES: &[(ImageFormat, &str, &str, bool)] = &[
        (ImageFormat::Png, "rgba8", "width=100", true),
        (ImageFormat::Png, "rgba16", "width=100", false),
        (ImageFormat::Png, "rgb8", "", false),
        (ImageFormat::Png, "rgba8", "width=2400", true),
        (ImageFormat::Png, "smooth", "width=2400", true),
        (ImageFormat::Png, "luma8", "", true),
        (ImageFormat::Jpeg, "rgb8", "width=100", false),
        (ImageFormat::Jpeg, "rgb8", "quality=100", false),
        (ImageFormat::Jpeg, "rgb8", "quality=100", true),
        (ImageFormat::Gif, "smooth", "width=100", false),
        (ImageFormat::WebP, "rgb8", "width=100", false),
        (ImageFormat::WebP, "rgba8", "width=100", false),
        (ImageFormat::Tiff, "rgba16", "width=100", false),
        (ImageFormat::Bmp, "rgba8", "", false),
    ];

    /// Each in a process of its own: the peak of a process is not recorded by thread.
    #[test]
    fn no_rendering_takes_more_than_was_estimated() {
        let program = env::current_exe().expect("this program");
        for (number, case) in CASES.iter().enumerate() {
            let child = Command::new(&program)
                .args(["images::footprint::tests::renders_one_case", "--exact"])
                .args(["--ignored", "--nocapture"])
                .env(CASE, number.to_string())
                .output()
                .expect("started");
            let output = String::from_utf8_lossy(&child.stdout);
            let errors = String::from_utf8_lossy(&child.stderr);
            assert!(child.status.success(), "{case:?}: {output} {errors}");
            assert!(output.contains("measured"), "{output}");
        }
    }

    #[test]
    #[ignore = "run by no_rendering_takes_more_than_was_estimated"]
    fn renders_one_case() {
        let case: usize = env::var(CASE).expect("a case").parse().expect("a number");
        let (format, color, query, accepts_webp) = CASES[case];
        let mut source = source(format, color);
        let config = ImagesConfig {
            is_enabled: true,
            max_dimension: 2500,
            max_pixels: 50_000_000,
            max_bytes: 100_000_000,
        };
        let fields = Fields::from_query(Some(query));
        let request = RenderRequest {
            transform: Transform::parse(&fields, &config).expect(query),
            accepts_webp,
            config,
        };
        let before = resident("VmRSS");
        fs::write("/proc/self/clear_refs", "5").expect("the peak is reset");
        // The source is there already.
        let length = source.len() as u64;

        let estimated = request.peak_bytes(&mut source).expect("a header");
        let rendered = request.render(source).expect("an image");

        let taken = resident("VmHWM") - before + length;
        let (format, bytes) = (rendered.format, rendered.bytes.len());
        println!("measured {taken} of {estimated}, {format:?} of {bytes}");
        assert!(taken <= estimated, "{taken} > {estimated}");
    }

    /// Noise, which compresses worst.
    fn source(format: ImageFormat, color: &str) -> Vec<u8> {
        let mut state = 1_u32;
        let image = RgbaImage::from_fn(WIDTH, HEIGHT, |_, _| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            image::Rgba((state ^ (state >> 13)).to_be_bytes())
        });
        let image = DynamicImage::ImageRgba8(image);
        let image = match color {
            "luma8" => DynamicImage::ImageLuma8(image.into_luma8()),
            "rgb8" => DynamicImage::ImageRgb8(image.into_rgb8()),
            "rgba16" => DynamicImage::ImageRgba16(image.into_rgba16()),
            "smooth" => DynamicImage::ImageRgba8(RgbaImage::from_fn(WIDTH, HEIGHT, |x, y| {
                let shade = |side: u32, whole: u32| u8::try_from(side * 255 / whole).unwrap_or(0);
                image::Rgba([shade(x, WIDTH), shade(y, HEIGHT), 0, shade(x, WIDTH)])
            })),
            _ => image,
        };
        let mut file = Cursor::new(Vec::new());
        image.write_to(&mut file, format).expect("a file");
        let mut file = file.into_inner();
        file.shrink_to_fit();
        file
    }

    /// A line of `/proc/self/status`, in bytes.
    fn resident(name: &str) -> u64 {
        let status = fs::read_to_string("/proc/self/status").expect("Linux");
        let mut lines = status.lines();
        let line = lines.find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
        let number = line.and_then(|line| line.split_whitespace().next());
        number
            .and_then(|text| text.parse().ok())
            .map_or(0, |kilobytes: u64| kilobytes * 1024)
    }
}

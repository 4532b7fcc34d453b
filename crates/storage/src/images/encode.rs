//! The formats that we can write.

use std::io::{self, Cursor, Write};

use image::{
    DynamicImage, ImageBuffer, ImageError, ImageFormat, Luma, LumaA, Rgb, RgbImage,
    codecs::jpeg::JpegEncoder,
};
use webp::WebPConfig;

use super::error::{invalid, too_many_pixels};
use crate::error::StorageError;

/// Above this number of pixels libwebp works in less memory, and longer.
const LOW_MEMORY_PIXELS: u64 = 1_000_000;
/// A result may always have this many bytes.
const MIN_OUTPUT: u64 = 48 * 1024 * 1024;

/// A rendered image.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Rendered {
    pub(crate) bytes: Vec<u8>,
    pub(crate) format: Format,
}

/// The formats that we can write.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Format {
    Jpeg,
    Png,
    Webp,
    /// Served as it is: vector graphics have no size in pixels.
    Svg,
}

impl Format {
    pub(crate) const ALL: [Self; 4] = [Self::Jpeg, Self::Png, Self::Webp, Self::Svg];

    pub(crate) fn content_type(self) -> &'static str {
        match self {
            Self::Jpeg => "image/jpeg",
            Self::Png => "image/png",
            Self::Webp => "image/webp",
            Self::Svg => "image/svg+xml",
        }
    }

    pub(crate) fn extension(self) -> &'static str {
        match self {
            Self::Jpeg => "jpg",
            Self::Png => "png",
            Self::Webp => "webp",
            Self::Svg => "svg",
        }
    }

    /// The longest side that the format can have.
    pub(super) fn max_side(self) -> u32 {
        match self {
            Self::Webp => 16_383,
            Self::Jpeg => u32::from(u16::MAX),
            Self::Png | Self::Svg => u32::MAX,
        }
    }

    /// Bytes that encoding takes beside the pixels, the result included.
    pub(super) fn working_bytes(self, pixels: u64, channels: u8) -> u64 {
        let per_pixel = |bytes: u64| pixels.saturating_mul(bytes);
        let raw = per_pixel(channels.into());
        match self {
            // Without alpha, and the result.
            Self::Jpeg if channels.is_multiple_of(2) => per_pixel(3) + max_jpeg_output(pixels),
            Self::Jpeg => max_jpeg_output(pixels),
            // Compressed in one piece, with another filter if that is smaller, then written.
            Self::Png => raw.saturating_mul(9) / 2,
            Self::Webp => webp_bytes(pixels, channels),
            Self::Svg => 0,
        }
    }
}

/// ARGB, YUV and the tables of libwebp, and the result twice; transparency is compressed without
/// loss, which takes more.
fn webp_bytes(pixels: u64, channels: u8) -> u64 {
    let copy = match channels {
        1 => 3,
        2 => 4,
        _ => 0,
    };
    let alpha = if channels.is_multiple_of(2) { 16 } else { 0 };
    // Up to a size, what will be written is kept as symbols first.
    let symbols = 30 * pixels.min(LOW_MEMORY_PIXELS);
    pixels.saturating_mul(copy + 10 + alpha) + symbols
}

/// What a JPEG may have at most. Noise can take more than its pixels; large images compress to far
/// less than a byte per pixel, and are rejected where they do not.
fn max_jpeg_output(pixels: u64) -> u64 {
    let headers = 4096;
    let noise = pixels.saturating_mul(6);
    noise.min(pixels.max(MIN_OUTPUT)) + headers
}

/// Encodes an image; `quality` (of 100) is that of lossy formats.
pub(super) fn encode(
    image: DynamicImage,
    format: Format,
    quality: u8,
) -> Result<Vec<u8>, StorageError> {
    if image.width().max(image.height()) > format.max_side() {
        return Err(too_many_pixels());
    }
    match format {
        Format::Jpeg => encode_jpeg(image, quality),
        Format::Png => encode_png(&image),
        Format::Webp => encode_webp(image, quality),
        Format::Svg => Err(invalid()),
    }
}

fn encode_jpeg(image: DynamicImage, quality: u8) -> Result<Vec<u8>, StorageError> {
    let flat = on_white(image);
    let pixels = u64::from(flat.width()) * u64::from(flat.height());
    let mut output = BoundedOutput::new(max_jpeg_output(pixels));
    let encoder = JpegEncoder::new_with_quality(&mut output, quality);
    flat.write_with_encoder(encoder).map_err(encode_error)?;
    Ok(output.into_bytes())
}

fn encode_png(image: &DynamicImage) -> Result<Vec<u8>, StorageError> {
    let mut output = Cursor::new(Vec::new());
    image
        .write_to(&mut output, ImageFormat::Png)
        .map_err(encode_error)?;
    Ok(output.into_inner())
}

fn encode_webp(image: DynamicImage, quality: u8) -> Result<Vec<u8>, StorageError> {
    let image = match image {
        DynamicImage::ImageLuma8(_) => DynamicImage::ImageRgb8(image.into_rgb8()),
        DynamicImage::ImageLumaA8(_) => DynamicImage::ImageRgba8(image.into_rgba8()),
        other => other,
    };
    let (width, height) = (image.width(), image.height());
    let encoder = match &image {
        DynamicImage::ImageRgb8(image) => webp::Encoder::from_rgb(image.as_raw(), width, height),
        DynamicImage::ImageRgba8(image) => webp::Encoder::from_rgba(image.as_raw(), width, height),
        _ => return Err(invalid()),
    };
    let mut config = WebPConfig::new().map_err(|()| StorageError::internal("libwebp's version"))?;
    config.quality = f32::from(quality);
    config.low_memory = i32::from(u64::from(width) * u64::from(height) > LOW_MEMORY_PIXELS);
    config.alpha_compression = i32::from(!has_noisy_alpha(&image));
    let encoded = encoder.encode_advanced(&config);
    let encoded = encoded.map_err(|error| StorageError::internal(format!("{error:?}")))?;
    Ok(encoded.to_vec())
}

/// Whether transparency changes so often that compressing it without loss would take several times
/// the memory of the image, for no gain.
fn has_noisy_alpha(image: &DynamicImage) -> bool {
    let DynamicImage::ImageRgba8(image) = image else {
        return false;
    };
    let alpha = image.as_raw().chunks_exact(4).map(|pixel| pixel[3]);
    let changes = alpha.clone().zip(alpha.skip(1));
    let changes = changes.filter(|(before, after)| before != after).count();
    changes > image.as_raw().len() / 4 / 4
}

/// Formats without transparency get a white background.
fn on_white(image: DynamicImage) -> DynamicImage {
    let blend = |channel: u8, alpha: u8| {
        let alpha = u16::from(alpha);
        let sum = u16::from(channel) * alpha + 255 * (255 - alpha);
        u8::try_from(sum / 255).unwrap_or(u8::MAX)
    };
    match image {
        DynamicImage::ImageRgba8(image) => {
            let flat = |x, y| {
                let [red, green, blue, alpha] = image.get_pixel(x, y).0;
                Rgb([red, green, blue].map(|channel| blend(channel, alpha)))
            };
            DynamicImage::ImageRgb8(RgbImage::from_fn(image.width(), image.height(), flat))
        }
        DynamicImage::ImageLumaA8(image) => {
            let flat = |x, y| {
                let LumaA([luma, alpha]) = *image.get_pixel(x, y);
                Luma([blend(luma, alpha)])
            };
            DynamicImage::ImageLuma8(ImageBuffer::from_fn(image.width(), image.height(), flat))
        }
        opaque => opaque,
    }
}

fn encode_error(error: ImageError) -> StorageError {
    match error {
        ImageError::IoError(error) if error.kind() == io::ErrorKind::FileTooLarge => {
            too_many_pixels()
        }
        error => StorageError::internal(error),
    }
}

/// Bytes up to a limit, in a buffer that is allocated once: pages that are not written to take no
/// memory, a buffer that grows would be copied.
struct BoundedOutput {
    bytes: Vec<u8>,
    limit: usize,
}

impl BoundedOutput {
    fn new(limit: u64) -> Self {
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        let bytes = Vec::with_capacity(limit);
        Self { bytes, limit }
    }

    fn into_bytes(mut self) -> Vec<u8> {
        self.bytes.shrink_to_fit();
        self.bytes
    }
}

impl Write for BoundedOutput {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if bytes.len() > self.limit - self.bytes.len() {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        self.bytes.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use image::{Rgba, RgbaImage};

    use super::*;

    #[test]
    fn transparency_becomes_white_where_there_is_none() {
        let image = RgbaImage::from_pixel(2, 2, Rgba([0, 0, 255, 128]));
        let flat = on_white(DynamicImage::ImageRgba8(image)).into_rgb8();
        let [red, green, blue] = flat.get_pixel(0, 0).0;
        assert!((126..=128).contains(&red) && red == green && blue == 255);
        let gray = ImageBuffer::from_pixel(2, 2, LumaA([0, 0]));
        let flat = on_white(DynamicImage::ImageLumaA8(gray)).into_luma8();
        assert_eq!(flat.get_pixel(1, 1).0, [255]);
    }

    #[test]
    fn transparency_is_noisy_where_it_changes_from_pixel_to_pixel() {
        let image = |alpha: fn(u32) -> u8| {
            let pixel = |x, _| Rgba([0, 0, 0, alpha(x)]);
            DynamicImage::ImageRgba8(RgbaImage::from_fn(64, 8, pixel))
        };
        assert!(!has_noisy_alpha(&image(|_| 7)));
        assert!(!has_noisy_alpha(&image(|x| if x < 32 { 0 } else { 255 })));
        assert!(has_noisy_alpha(&image(|x| u8::try_from(x).unwrap_or(0))));
        assert!(!has_noisy_alpha(&DynamicImage::new_rgb8(64, 8)));
    }

    #[test]
    fn a_side_that_the_format_cannot_have_is_rejected() {
        let wide = DynamicImage::new_rgb8(16_384, 1);
        let rejected = encode(wide.clone(), Format::Webp, 80).expect_err("rejected");
        assert_eq!(rejected.to_string(), too_many_pixels().to_string());
        encode(wide, Format::Jpeg, 80).expect("an image");
    }

    #[test]
    fn output_beyond_its_limit_is_an_error() {
        let mut output = BoundedOutput::new(4);
        output.write_all(b"abc").expect("within the limit");
        output.write_all(b"de").expect_err("beyond the limit");
        assert_eq!(output.into_bytes(), b"abc");
    }
}

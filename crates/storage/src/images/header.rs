//! What the first bytes of a source contain: its format, its size, and the memory that decoding
//! takes.

use std::io::Cursor;

use image::{
    ColorType, ExtendedColorType, ImageDecoder, ImageFormat, ImageReader, Limits,
    metadata::Orientation,
};

use super::{
    error::{decode_error, invalid, too_many_pixels},
    jpeg_frame::coefficient_bytes,
};
use crate::{config::ImagesConfig, error::StorageError};

/// Metadata, colour profiles and tables of a decoder.
const OVERHEAD: u64 = 8 * 1024 * 1024;

/// The header of a source.
#[derive(Debug)]
pub(super) struct Header {
    pub(super) format: ImageFormat,
    pub(super) width: u32,
    pub(super) height: u32,
    /// Of a decoded pixel, before it has eight bits per channel.
    bytes_per_pixel: u8,
    pub(super) channels: u8,
    pub(super) orientation: Orientation,
    /// What the decoder needs beside the pixels.
    working: u64,
}

impl Header {
    pub(super) fn read(source: &[u8], config: &ImagesConfig) -> Result<Self, StorageError> {
        let (format, mut decoder) = open(source)?;
        let (width, height) = decoder.dimensions();
        let pixels = u64::from(width) * u64::from(height);
        if pixels > config.max_pixels {
            return Err(too_many_pixels());
        }
        if pixels == 0 {
            return Err(invalid());
        }
        let color = decoder.color_type();
        let is_cmyk = matches!(
            decoder.original_color_type(),
            ExtendedColorType::Cmyk8 | ExtendedColorType::Cmyk16
        );
        let working = match format {
            ImageFormat::Jpeg => coefficient_bytes(source, pixels),
            ImageFormat::WebP => pixels.saturating_mul(webp_working_bytes(source, color)),
            // A frame that does not cover the image.
            ImageFormat::Gif => decoder.total_bytes(),
            // The pixels as they are in the file, and those of a strip or tile.
            ImageFormat::Tiff if is_cmyk => decoder.total_bytes().saturating_mul(3),
            ImageFormat::Tiff => decoder.total_bytes().saturating_mul(2),
            // Decoded row by row.
            _ => 0,
        };
        Ok(Self {
            format,
            width,
            height,
            bytes_per_pixel: color.bytes_per_pixel(),
            channels: color.channel_count(),
            orientation: decoder.orientation().unwrap_or(Orientation::NoTransforms),
            working,
        })
    }

    pub(super) fn pixels(&self) -> u64 {
        u64::from(self.width) * u64::from(self.height)
    }

    /// Bytes of the decoded image, before it has eight bits per channel.
    pub(super) fn decoded_bytes(&self) -> u64 {
        self.pixels().saturating_mul(self.bytes_per_pixel.into())
    }

    /// Bytes that decoding takes, the pixels included and the file itself not.
    pub(super) fn decoding_bytes(&self) -> u64 {
        self.decoded_bytes().saturating_add(self.working)
    }

    /// A decoder of the same source that takes no more than that.
    pub(super) fn decoder<'a>(
        &self,
        source: &'a [u8],
    ) -> Result<impl ImageDecoder + use<'a>, StorageError> {
        let (_, mut decoder) = open(source)?;
        let limits = limits(self.decoding_bytes());
        decoder.set_limits(limits).map_err(decode_error)?;
        Ok(decoder)
    }
}

/// Bytes for the file and its metadata: those may be as long as the file, and a little is compressed.
pub(super) fn source_bytes(length: u64) -> u64 {
    length.saturating_mul(2).saturating_add(OVERHEAD)
}

/// By content, not by name.
fn open(source: &[u8]) -> Result<(ImageFormat, impl ImageDecoder + use<'_>), StorageError> {
    let reader = ImageReader::new(Cursor::new(source)).with_guessed_format();
    let mut reader = reader.map_err(|_| invalid())?;
    let format = reader.format().ok_or_else(invalid)?;
    // Metadata is decompressed already while the header is read.
    let metadata = source_bytes(source.len().try_into().unwrap_or(u64::MAX));
    reader.limits(limits(metadata));
    let decoder = reader.into_decoder().map_err(decode_error)?;
    Ok((format, decoder))
}

fn limits(bytes: u64) -> Limits {
    let mut limits = Limits::default();
    limits.max_alloc = Some(bytes);
    limits
}

/// Per pixel: planes of brightness and colour, or a frame without loss; the plane of transparency,
/// which is compressed like such a frame; canvas and frame of an animation.
fn webp_working_bytes(source: &[u8], color: ColorType) -> u64 {
    let is_animated = source.get(20).is_some_and(|flags| flags & 2 != 0);
    match (source.get(12..16), color.has_alpha()) {
        (Some(b"VP8 "), _) => 2,
        (Some(b"VP8L"), true) => 1,
        (Some(b"VP8X"), _) if is_animated => 16,
        (_, true) => 8,
        (_, false) => 5,
    }
}

#[cfg(test)]
mod tests {
    use image::{DynamicImage, ImageFormat};

    use super::*;

    const CONFIG: ImagesConfig = ImagesConfig {
        is_enabled: true,
        max_dimension: 2500,
        max_pixels: 1_000_000,
        max_bytes: 25_000_000,
    };

    fn header(image: &DynamicImage, format: ImageFormat) -> Header {
        let mut file = Cursor::new(Vec::new());
        image.write_to(&mut file, format).expect("an image");
        Header::read(file.get_ref(), &CONFIG).expect("a header")
    }

    #[test]
    fn the_header_gives_the_memory_for_decoding() {
        let gray = header(&DynamicImage::new_luma8(100, 50), ImageFormat::Png);
        assert_eq!((gray.width, gray.height, gray.channels), (100, 50, 1));
        assert_eq!(gray.decoding_bytes(), 100 * 50);
        let wide = header(&DynamicImage::new_rgba16(100, 50), ImageFormat::Png);
        assert_eq!((wide.channels, wide.decoding_bytes()), (4, 100 * 50 * 8));
        let photo = header(&DynamicImage::new_rgb8(100, 50), ImageFormat::Jpeg);
        assert_eq!(photo.decoding_bytes(), 100 * 50 * 3);
        let strip = header(&DynamicImage::new_rgb8(100, 50), ImageFormat::Tiff);
        assert_eq!(strip.decoding_bytes(), 100 * 50 * 9);
    }
}

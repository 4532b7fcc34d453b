//! The pixels of an image: eight bits per channel, one to four channels.
//!
//! What needs no second copy of a large image is done in place: an image may be half as large as
//! all the memory that there is for images.

use image::{ColorType, DynamicImage, ImageBuffer, ImageDecoder};
use moxcms::{ColorProfile, Layout, TransformOptions};

use super::error::{decode_error, invalid};
use crate::error::StorageError;

/// Gray, gray with alpha, RGB or RGBA, by the number of channels.
pub(super) struct Raster {
    pub(super) width: u32,
    pub(super) height: u32,
    pub(super) channels: u8,
    pub(super) samples: Vec<u8>,
}

impl Raster {
    pub(super) fn decode(decoder: impl ImageDecoder) -> Result<Self, StorageError> {
        let (width, height) = decoder.dimensions();
        let color = decoder.color_type();
        let length = usize::try_from(decoder.total_bytes()).map_err(|_| invalid())?;
        let mut samples = vec![0; length];
        decoder.read_image(&mut samples).map_err(decode_error)?;
        Ok(Self {
            width,
            height,
            channels: color.channel_count(),
            samples: to_eight_bits(samples, color),
        })
    }

    pub(super) fn has_alpha(&self) -> bool {
        self.channels.is_multiple_of(2)
    }

    pub(super) fn is_opaque(&self) -> bool {
        let channels = usize::from(self.channels);
        let mut pixels = self.samples.chunks_exact(channels);
        !self.has_alpha() || pixels.all(|pixel| pixel[channels - 1] == u8::MAX)
    }

    /// Converts the colours to sRGB. A profile that is invalid or not RGB is ignored.
    pub(super) fn convert_to_srgb(&mut self, profile: &[u8]) {
        let layout = match self.channels {
            3 => Layout::Rgb,
            4 => Layout::Rgba,
            _ => return,
        };
        let Ok(profile) = ColorProfile::new_from_slice(profile) else {
            return;
        };
        let srgb = ColorProfile::new_srgb();
        let options = TransformOptions::default();
        let Ok(transform) = profile.create_transform_8bit(layout, &srgb, layout, options) else {
            return;
        };
        let stride = self.width as usize * usize::from(self.channels);
        let mut converted = vec![0; stride];
        for row in self.samples.chunks_exact_mut(stride.max(1)) {
            if transform.transform(row, &mut converted).is_ok() {
                row.copy_from_slice(&converted);
            }
        }
    }

    /// The same pixels, for the encoders and for rotating.
    pub(super) fn into_image(self) -> Result<DynamicImage, StorageError> {
        let Self {
            width,
            height,
            channels,
            samples,
        } = self;
        let image = match channels {
            1 => ImageBuffer::from_raw(width, height, samples).map(DynamicImage::ImageLuma8),
            2 => ImageBuffer::from_raw(width, height, samples).map(DynamicImage::ImageLumaA8),
            3 => ImageBuffer::from_raw(width, height, samples).map(DynamicImage::ImageRgb8),
            _ => ImageBuffer::from_raw(width, height, samples).map(DynamicImage::ImageRgba8),
        };
        image.ok_or_else(|| StorageError::internal("an image has the wrong number of samples"))
    }
}

/// Sixteen bits and floating point become eight bits, in place.
fn to_eight_bits(mut samples: Vec<u8>, color: ColorType) -> Vec<u8> {
    let width = usize::from(color.bytes_per_pixel() / color.channel_count());
    let narrow: fn(&[u8]) -> u8 = match width {
        2 => |sample| narrow_integer(u16::from_ne_bytes([sample[0], sample[1]])),
        4 => |sample| {
            narrow_float(f32::from_ne_bytes([
                sample[0], sample[1], sample[2], sample[3],
            ]))
        },
        _ => return samples,
    };
    let count = samples.len() / width;
    for index in 0..count {
        samples[index] = narrow(&samples[index * width..(index + 1) * width]);
    }
    samples.truncate(count);
    samples.shrink_to_fit();
    samples
}

fn narrow_integer(sample: u16) -> u8 {
    u8::try_from((u32::from(sample) + 128) / 257).unwrap_or(u8::MAX)
}

fn narrow_float(sample: f32) -> u8 {
    (sample.clamp(0.0, 1.0) * 255.0).round() as u8
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_of_more_bits_become_eight_bits() {
        let wide: Vec<u8> = [0_u16, 128, 129, 0x8080, 0xFF7F, 0xFFFF]
            .into_iter()
            .flat_map(u16::to_ne_bytes)
            .collect();
        assert_eq!(
            to_eight_bits(wide, ColorType::L16),
            [0, 0, 1, 128, 255, 255]
        );
        let floats: Vec<u8> = [-1.0_f32, 0.5, 7.0, f32::NAN]
            .into_iter()
            .flat_map(f32::to_ne_bytes)
            .collect();
        assert_eq!(to_eight_bits(floats, ColorType::Rgba32F), [0, 128, 255, 0]);
        assert_eq!(to_eight_bits(vec![1, 2, 3], ColorType::Rgb8), [1, 2, 3]);
    }

    #[test]
    fn only_a_transparent_pixel_makes_an_image_transparent() {
        let raster = |channels, samples: &[u8]| Raster {
            width: 1,
            height: 2,
            channels,
            samples: samples.to_vec(),
        };
        assert!(raster(1, &[0, 0]).is_opaque());
        assert!(raster(3, &[0; 6]).is_opaque());
        assert!(raster(2, &[0, 255, 0, 255]).is_opaque());
        assert!(!raster(2, &[0, 255, 0, 254]).is_opaque());
        assert!(!raster(4, &[0; 8]).is_opaque());
    }
}

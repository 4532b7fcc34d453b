//! Crops and resizes pixels, then turns them upright.
//!
//! Turning comes last, when the image is small. Rows of the result are made band by band, so that
//! the intermediate result between the two passes of the filter stays small as well.

use fast_image_resize::{
    FilterType, MulDiv, PixelType, ResizeAlg, ResizeOptions, Resizer,
    images::{Image as PixelsMut, ImageRef as Pixels},
};
use image::metadata::Orientation;

use super::{geometry::ResizePlan, raster::Raster};
use crate::error::StorageError;

/// The size of the intermediate result of a band.
pub(super) const BAND_BYTES: u64 = 4 * 1024 * 1024;

/// Crops and resizes an image as planned, in the orientation of the source.
pub(super) fn resize(mut source: Raster, plan: &ResizePlan) -> Result<Raster, StorageError> {
    if plan.is_whole(source.width, source.height) {
        return Ok(source);
    }
    let channels = source.channels;
    let length = plan.width as usize * plan.height as usize * usize::from(channels);
    let mut target = Raster {
        width: plan.width,
        height: plan.height,
        channels,
        samples: vec![0; length],
    };
    let blends_alpha = source.has_alpha() && plan.scales();
    if blends_alpha {
        let mut pixels = pixels_mut(&mut source)?;
        let multiplied = MulDiv::new().multiply_alpha_inplace(&mut pixels);
        multiplied.map_err(StorageError::internal)?;
    }
    resize_bands(&source, &mut target, plan)?;
    drop(source);
    if blends_alpha {
        let mut pixels = pixels_mut(&mut target)?;
        let divided = MulDiv::new().divide_alpha_inplace(&mut pixels);
        divided.map_err(StorageError::internal)?;
    }
    Ok(target)
}

fn resize_bands(
    source: &Raster,
    target: &mut Raster,
    plan: &ResizePlan,
) -> Result<(), StorageError> {
    let pixel_type = pixel_type(source.channels);
    let pixels = Pixels::new(source.width, source.height, &source.samples, pixel_type)
        .map_err(StorageError::internal)?;
    let (left, top, width, height) = plan.crop;
    let scale = height / f64::from(plan.height);
    let row_bytes = u64::from(source.width) * u64::from(source.channels);
    let band_rows = u32::try_from(BAND_BYTES / row_bytes.max(1)).unwrap_or(u32::MAX);
    let band_rows = band_rows.clamp(1, plan.height);
    let stride = plan.width as usize * usize::from(source.channels);
    let mut resizer = Resizer::new();
    let mut first = 0;
    for band in target.samples.chunks_mut(stride * band_rows as usize) {
        let rows = band_rows.min(plan.height - first);
        let mut band = PixelsMut::from_slice_u8(plan.width, rows, band, pixel_type)
            .map_err(StorageError::internal)?;
        let top = top + f64::from(first) * scale;
        // Rounding must not exceed the source.
        let width = width.min(f64::from(source.width) - left);
        let height = (f64::from(rows) * scale).min(f64::from(source.height) - top);
        let options = ResizeOptions::new()
            .resize_alg(ResizeAlg::Convolution(FilterType::Lanczos3))
            .use_alpha(false)
            .crop(left, top, width, height);
        resizer
            .resize(&pixels, &mut band, &options)
            .map_err(StorageError::internal)?;
        first += rows;
    }
    Ok(())
}

fn pixels_mut(raster: &mut Raster) -> Result<PixelsMut<'_>, StorageError> {
    let pixel_type = pixel_type(raster.channels);
    PixelsMut::from_slice_u8(raster.width, raster.height, &mut raster.samples, pixel_type)
        .map_err(StorageError::internal)
}

fn pixel_type(channels: u8) -> PixelType {
    match channels {
        1 => PixelType::U8,
        2 => PixelType::U8x2,
        3 => PixelType::U8x3,
        _ => PixelType::U8x4,
    }
}

/// The size of an image when it is upright.
pub(super) fn upright_size(width: u32, height: u32, orientation: Orientation) -> (u32, u32) {
    if swaps_sides(orientation) {
        (height, width)
    } else {
        (width, height)
    }
}

/// A plan for the upright image, as one for the image of that size that is yet to be turned.
pub(super) fn before_turning(
    plan: &ResizePlan,
    (width, height): (u32, u32),
    orientation: Orientation,
) -> ResizePlan {
    let (left, top, crop_width, crop_height) = plan.crop;
    // Distances from the opposite sides of the upright image.
    let (upright_width, upright_height) = upright_size(width, height, orientation);
    let right = f64::from(upright_width) - left - crop_width;
    let bottom = f64::from(upright_height) - top - crop_height;
    let (left, top) = match orientation {
        Orientation::NoTransforms => (left, top),
        Orientation::FlipHorizontal => (right, top),
        Orientation::FlipVertical => (left, bottom),
        Orientation::Rotate180 => (right, bottom),
        Orientation::Rotate90FlipH => (top, left),
        Orientation::Rotate90 => (top, right),
        Orientation::Rotate270 => (bottom, left),
        Orientation::Rotate270FlipH => (bottom, right),
    };
    let (left, top) = (left.max(0.0), top.max(0.0));
    if swaps_sides(orientation) {
        ResizePlan {
            crop: (left, top, crop_height, crop_width),
            width: plan.height,
            height: plan.width,
        }
    } else {
        ResizePlan {
            crop: (left, top, crop_width, crop_height),
            ..*plan
        }
    }
}

fn swaps_sides(orientation: Orientation) -> bool {
    matches!(
        orientation,
        Orientation::Rotate90
            | Orientation::Rotate270
            | Orientation::Rotate90FlipH
            | Orientation::Rotate270FlipH
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::images::geometry::{Gravity, Resize};

    /// Every pixel holds its position.
    fn sample(width: u32, height: u32, channels: u8) -> Raster {
        let pixel = |index: u32| {
            let (x, y) = (index % width, index / width);
            let all = [x * 255 / width, y * 255 / height, 100, 255];
            let some = all.into_iter().take(usize::from(channels) - 1).chain([255]);
            some.map(|sample| u8::try_from(sample).expect("small"))
                .collect::<Vec<_>>()
        };
        Raster {
            width,
            height,
            channels,
            samples: (0..width * height).flat_map(pixel).collect(),
        }
    }

    fn plan(source: (u32, u32), width: u32, height: u32, gravity: &str) -> ResizePlan {
        let fields = crate::request::Fields::from_query(Some(gravity));
        let gravity = Gravity::parse(&fields).expect(gravity).unwrap_or_default();
        ResizePlan::new(source, Some(width), Some(height), Resize::Cover, gravity)
    }

    #[test]
    fn turning_last_shows_the_same_as_turning_first() {
        for value in 1..=8 {
            let orientation = Orientation::from_exif(value).expect("an orientation");
            let (width, height) = upright_size(60, 40, orientation);
            let plan = plan((width, height), 20, 10, "gravity=nowe");

            let small = before_turning(&plan, (60, 40), orientation);
            let mut last = resize(sample(60, 40, 4), &small)
                .and_then(Raster::into_image)
                .expect("resized");
            last.apply_orientation(orientation);

            let mut first = sample(60, 40, 4).into_image().expect("an image");
            first.apply_orientation(orientation);
            let first = Raster {
                width,
                height,
                channels: 4,
                samples: first.into_bytes(),
            };
            let first = resize(first, &plan).expect("resized");
            assert_eq!((last.width(), last.height()), (20, 10), "{orientation:?}");
            let difference = |(left, right): (&u8, &u8)| left.abs_diff(*right);
            let most = first.samples.iter().zip(last.as_bytes()).map(difference);
            assert!(most.max() <= Some(2), "{orientation:?}");
        }
    }

    #[test]
    fn bands_show_the_same_as_the_whole() {
        // Rows so wide that a band has few of them.
        let wide = 300_000;
        let source = sample(wide, 64, 3);
        let plan = plan((wide, 64), 1500, 32, "");
        let whole = {
            let mut target = sample(1500, 32, 3);
            let pixels = Pixels::new(wide, 64, &source.samples, PixelType::U8x3).expect("pixels");
            let (left, top, width, height) = plan.crop;
            let options = ResizeOptions::new().crop(left, top, width, height);
            let mut out = pixels_mut(&mut target).expect("pixels");
            Resizer::new()
                .resize(&pixels, &mut out, &options)
                .expect("resized");
            target.samples
        };
        assert!(u64::from(wide) * 3 * 32 > BAND_BYTES * 2);

        let banded = resize(source, &plan).expect("resized");
        let difference = |(left, right): (&u8, &u8)| left.abs_diff(*right);
        let most = whole.iter().zip(&banded.samples).map(difference).max();
        assert!(most <= Some(1), "{most:?}");
    }

    #[test]
    fn a_transparent_colour_does_not_bleed() {
        let mut source = sample(40, 40, 4);
        for (index, pixel) in source.samples.chunks_exact_mut(4).enumerate() {
            let is_left = index % 40 < 20;
            pixel.copy_from_slice(if is_left {
                &[255, 0, 0, 255]
            } else {
                &[0, 255, 0, 0]
            });
        }

        let small = resize(source, &plan((40, 40), 9, 9, "")).expect("resized");

        for pixel in small.samples.chunks_exact(4).filter(|pixel| pixel[3] > 0) {
            assert_eq!(pixel[1], 0, "no green");
        }
    }

    #[test]
    fn every_number_of_channels_can_be_resized_and_cropped() {
        for channels in 1..=4 {
            let small = resize(sample(40, 20, channels), &plan((40, 20), 10, 10, ""));
            let small = small.expect("resized");
            assert_eq!(small.samples.len(), 100 * usize::from(channels));
            // Neither side is smaller than the source's: nothing is scaled.
            let cropped = plan((40, 20), 40, 5, "gravity=no");
            assert!(!cropped.scales());
            let part = resize(sample(40, 20, channels), &cropped).expect("cropped");
            let whole = sample(40, 20, channels);
            assert_eq!(part.samples[..], whole.samples[..part.samples.len()]);
        }
    }
}

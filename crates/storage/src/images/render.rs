//! One image into another: decode, turn upright, cut, shrink, encode. Pure and slow.

use std::io::Cursor;

use fast_image_resize::{
    FilterType, PixelType, ResizeAlg, ResizeOptions, Resizer, images::Image as Pixels,
};
use image::{
    DynamicImage, ImageDecoder as _, ImageError, ImageFormat, ImageReader, Limits, RgbaImage,
    codecs::jpeg::JpegEncoder,
};
use moxcms::{ColorProfile, Layout, TransformOptions};

use super::{
    geometry::Plan,
    transform::{Transform, Wanted},
};
use crate::{
    config::ImagesConfig,
    error::{Code, StorageError},
};

/// A finished image.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Rendered {
    pub(crate) bytes: Vec<u8>,
    pub(crate) format: Format,
}

/// What we can write.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Format {
    Jpeg,
    Png,
    Webp,
    /// Not rendered: drawings have no size.
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
}

/// Makes the image that was asked for. `accepts_webp` counts unless a format was named.
pub(crate) fn render(
    source: Vec<u8>,
    transform: &Transform,
    accepts_webp: bool,
    config: &ImagesConfig,
) -> Result<Rendered, StorageError> {
    if is_svg(&source) {
        let format = Format::Svg;
        return Ok(Rendered {
            bytes: source,
            format,
        });
    }
    let (image, origin) = decode(&source, config)?;
    drop(source);
    let plan = Plan::new(
        image.dimensions(),
        transform.width,
        transform.height,
        transform.resize,
        transform.gravity.unwrap_or_default(),
    );
    let image = shrink(image, &plan)?;
    let format = match transform.format {
        Some(Wanted::Webp) => Format::Webp,
        None if accepts_webp => Format::Webp,
        Some(Wanted::Origin) | None => kept(origin, &image),
    };
    encode(image, format, transform.quality()).map(|bytes| Rendered { bytes, format })
}

/// The source's own format where we can write it.
fn kept(origin: ImageFormat, image: &RgbaImage) -> Format {
    match origin {
        ImageFormat::Jpeg => Format::Jpeg,
        ImageFormat::Png => Format::Png,
        ImageFormat::WebP => Format::Webp,
        _ if image.pixels().all(|pixel| pixel.0[3] == u8::MAX) => Format::Jpeg,
        _ => Format::Png,
    }
}

/// By what it is, not by what it is called; upright, in sRGB.
fn decode(source: &[u8], config: &ImagesConfig) -> Result<(RgbaImage, ImageFormat), StorageError> {
    let reader = ImageReader::new(Cursor::new(source)).with_guessed_format();
    let mut reader = reader.map_err(|_| invalid())?;
    let format = reader.format().ok_or_else(invalid)?;
    let mut limits = Limits::default();
    // Sixteen bits per channel, and a copy to turn it.
    limits.max_alloc = Some(config.max_pixels.saturating_mul(16));
    reader.limits(limits);
    let mut decoder = reader.into_decoder().map_err(refuse)?;
    let (width, height) = decoder.dimensions();
    if u64::from(width) * u64::from(height) > config.max_pixels {
        return Err(too_many_pixels());
    }
    if width == 0 || height == 0 {
        return Err(invalid());
    }
    let orientation = decoder.orientation();
    let profile = decoder.icc_profile().ok().flatten();
    let mut image = DynamicImage::from_decoder(decoder).map_err(refuse)?;
    if let Ok(orientation) = orientation {
        image.apply_orientation(orientation);
    }
    let image = image.into_rgba8();
    Ok((to_srgb(image, profile.as_deref()), format))
}

/// A profile that cannot be read, or is not one of red, green and blue, changes nothing.
fn to_srgb(image: RgbaImage, profile: Option<&[u8]>) -> RgbaImage {
    let convert = |profile: &[u8]| {
        let profile = ColorProfile::new_from_slice(profile).ok()?;
        let options = TransformOptions::default();
        let srgb = ColorProfile::new_srgb();
        let transform = profile
            .create_transform_8bit(Layout::Rgba, &srgb, Layout::Rgba, options)
            .ok()?;
        let mut converted = RgbaImage::new(image.width(), image.height());
        transform.transform(image.as_raw(), &mut converted).ok()?;
        Some(converted)
    };
    profile.and_then(convert).unwrap_or(image)
}

fn shrink(image: RgbaImage, plan: &Plan) -> Result<RgbaImage, StorageError> {
    let (left, top, width, height) = plan.part;
    let is_whole = (plan.width, plan.height) == image.dimensions()
        && (left, top) == (0.0, 0.0)
        && (width, height) == (f64::from(image.width()), f64::from(image.height()));
    if is_whole {
        return Ok(image);
    }
    let (source_width, source_height) = image.dimensions();
    let source = Pixels::from_vec_u8(
        source_width,
        source_height,
        image.into_raw(),
        PixelType::U8x4,
    )
    .map_err(StorageError::internal)?;
    let mut target = Pixels::new(plan.width, plan.height, PixelType::U8x4);
    // Rounding must not lead out of the source.
    let width = width.min(f64::from(source_width) - left);
    let height = height.min(f64::from(source_height) - top);
    let options = ResizeOptions::new()
        .resize_alg(ResizeAlg::Convolution(FilterType::Lanczos3))
        .use_alpha(true)
        .crop(left, top, width, height);
    Resizer::new()
        .resize(&source, &mut target, &options)
        .map_err(StorageError::internal)?;
    RgbaImage::from_raw(plan.width, plan.height, target.into_vec())
        .ok_or_else(|| StorageError::internal("a shrunk image has the wrong size"))
}

fn encode(image: RgbaImage, format: Format, quality: u8) -> Result<Vec<u8>, StorageError> {
    let mut bytes = Vec::new();
    match format {
        Format::Jpeg => {
            let flat = DynamicImage::ImageRgb8(on_white(&image));
            let encoder = JpegEncoder::new_with_quality(&mut bytes, quality);
            flat.write_with_encoder(encoder)
                .map_err(StorageError::internal)?;
        }
        Format::Png => {
            let mut out = Cursor::new(&mut bytes);
            image
                .write_to(&mut out, ImageFormat::Png)
                .map_err(StorageError::internal)?;
        }
        Format::Webp => {
            let encoder = webp::Encoder::from_rgba(image.as_raw(), image.width(), image.height());
            let encoded = encoder.encode_simple(false, f32::from(quality));
            let encoded = encoded.map_err(|error| StorageError::internal(format!("{error:?}")))?;
            bytes.extend_from_slice(&encoded);
        }
        Format::Svg => return Err(invalid()),
    }
    Ok(bytes)
}

/// Formats without transparency show what lies behind.
fn on_white(image: &RgbaImage) -> image::RgbImage {
    image::RgbImage::from_fn(image.width(), image.height(), |x, y| {
        let [red, green, blue, alpha] = image.get_pixel(x, y).0;
        let alpha = u16::from(alpha);
        let blend = |channel: u8| {
            let sum = u16::from(channel) * alpha + 255 * (255 - alpha);
            u8::try_from(sum / 255).unwrap_or(u8::MAX)
        };
        image::Rgb([blend(red), blend(green), blend(blue)])
    })
}

/// A drawing, perhaps behind a declaration, a comment or a document type.
fn is_svg(source: &[u8]) -> bool {
    let start = String::from_utf8_lossy(&source[..source.len().min(1024)]);
    let start = start.trim_start_matches('\u{feff}').trim_start();
    let is_markup = ["<?xml", "<!--", "<!DOCTYPE svg", "<svg"]
        .iter()
        .any(|opening| start.starts_with(opening));
    is_markup && start.contains("<svg")
}

fn refuse(error: ImageError) -> StorageError {
    match error {
        ImageError::Limits(_) => too_many_pixels(),
        _ => invalid(),
    }
}

fn invalid() -> StorageError {
    let message = "The source image is invalid or unsupported for rendering";
    StorageError::new(Code::InvalidRequest, 400, message)
}

fn too_many_pixels() -> StorageError {
    let message = "The source image resolution is too large to process";
    StorageError::new(Code::InvalidRequest, 400, message)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::Fields;

    const CONFIG: ImagesConfig = ImagesConfig {
        is_enabled: true,
        max_dimension: 2500,
        max_pixels: 1_000_000,
        max_bytes: 25_000_000,
    };

    /// The left half red, the right half blue and half transparent.
    fn sample(width: u32, height: u32) -> RgbaImage {
        RgbaImage::from_fn(width, height, |x, _| match x < width / 2 {
            true => image::Rgba([255, 0, 0, 255]),
            false => image::Rgba([0, 0, 255, 128]),
        })
    }

    fn file(image: &RgbaImage, format: ImageFormat) -> Vec<u8> {
        let mut bytes = Cursor::new(Vec::new());
        let image = DynamicImage::ImageRgba8(image.clone());
        let image = match format {
            ImageFormat::Jpeg => DynamicImage::ImageRgb8(image.into_rgb8()),
            _ => image,
        };
        image.write_to(&mut bytes, format).expect("an image");
        bytes.into_inner()
    }

    fn rendered(
        source: Vec<u8>,
        query: &str,
        accepts_webp: bool,
    ) -> Result<Rendered, StorageError> {
        let transform = Transform::read(&Fields::of_query(Some(query)), &CONFIG).expect(query);
        render(source, &transform, accepts_webp, &CONFIG)
    }

    fn size(rendered: &Rendered) -> (u32, u32) {
        let image = image::load_from_memory(&rendered.bytes).expect("an image");
        (image.width(), image.height())
    }

    #[test]
    fn the_format_is_the_sources_unless_the_client_can_do_better() {
        let image = sample(40, 20);
        let check = |source, query: &str, accepts, expected| {
            let made = rendered(file(&image, source), query, accepts).expect("an image");
            assert_eq!(made.format, expected, "{source:?} {query} {accepts}");
            let found = image::guess_format(&made.bytes).expect("a format");
            assert!(
                made.format
                    .content_type()
                    .ends_with(&found.to_mime_type()[6..])
            );
        };
        check(ImageFormat::Png, "", false, Format::Png);
        check(ImageFormat::Jpeg, "", false, Format::Jpeg);
        check(ImageFormat::WebP, "", false, Format::Webp);
        check(ImageFormat::Bmp, "", false, Format::Png);
        check(ImageFormat::Tiff, "", false, Format::Png);
        // What a GIF shows of a half transparent pixel is opaque.
        check(ImageFormat::Gif, "", false, Format::Jpeg);
        check(ImageFormat::Png, "", true, Format::Webp);
        check(ImageFormat::Png, "format=origin", true, Format::Png);
        check(ImageFormat::Jpeg, "format=webp", false, Format::Webp);
    }

    #[test]
    fn sizes_and_parts_are_as_asked() {
        let source = file(&sample(40, 20), ImageFormat::Png);
        let made = rendered(source.clone(), "width=10&height=10", false).expect("an image");
        assert_eq!(size(&made), (10, 10));
        let made = rendered(source.clone(), "width=10", false).expect("an image");
        assert_eq!(size(&made), (10, 5));
        let made = rendered(source, "width=10&height=10&gravity=we", false).expect("an image");
        let image = image::load_from_memory(&made.bytes)
            .expect("an image")
            .into_rgba8();
        assert_eq!(image.get_pixel(2, 5).0, [255, 0, 0, 255], "the red half");
    }

    #[test]
    fn transparency_becomes_white_where_there_is_none() {
        let flat = on_white(&RgbaImage::from_pixel(2, 2, image::Rgba([0, 0, 255, 128])));
        let [red, green, blue] = flat.get_pixel(0, 0).0;
        assert!((126..=128).contains(&red) && red == green && blue == 255);
    }

    #[test]
    fn bombs_and_nonsense_are_refused() {
        let refused = |source: Vec<u8>| {
            rendered(source, "", false)
                .expect_err("refused")
                .to_string()
        };
        let invalid = invalid().to_string();
        assert_eq!(refused(b"not an image".to_vec()), invalid);
        assert_eq!(refused(Vec::new()), invalid);
        let whole = file(&sample(40, 20), ImageFormat::Png);
        assert_eq!(refused(whole[..whole.len() / 2].to_vec()), invalid);
        let bomb = file(&RgbaImage::new(2000, 2000), ImageFormat::Png);
        assert!(bomb.len() < 100_000);
        assert_eq!(refused(bomb), too_many_pixels().to_string());
    }

    #[test]
    fn drawings_pass_as_they_are() {
        let drawing =
            b"<?xml version=\"1.0\"?>\n<svg xmlns=\"http://www.w3.org/2000/svg\"/>".to_vec();
        let made = rendered(drawing.clone(), "width=10", true).expect("a drawing");
        assert_eq!((made.format, made.bytes), (Format::Svg, drawing));
        assert!(!is_svg(b"<html><svg/></html>"));
    }
}

//! One image into another: decode, crop, resize, turn upright, convert to sRGB, encode. Pure and
//! CPU-bound; what it takes in memory is known beforehand.

use image::ImageFormat;

use super::{
    encode::{Format, Rendered, encode},
    footprint::peak_bytes,
    geometry::ResizePlan,
    header::{Header, source_bytes},
    png_checksums,
    raster::Raster,
    resize::{before_turning, resize, upright_size},
    transform::{RequestedFormat, Transform},
};
use crate::{config::ImagesConfig, error::StorageError};

/// What a request wants to be made of a source.
#[derive(Debug, Clone)]
pub(crate) struct RenderRequest {
    pub(crate) transform: Transform,
    /// Counts unless a format was requested.
    pub(crate) accepts_webp: bool,
    pub(crate) config: ImagesConfig,
}

impl RenderRequest {
    /// Bytes of memory that rendering takes, at its peak and with the source. Repairs what is known
    /// to be wrong with a source.
    pub(super) fn peak_bytes(&self, source: &mut [u8]) -> Result<u64, StorageError> {
        let length = source.len().try_into().unwrap_or(u64::MAX);
        if is_svg(source) {
            return Ok(source_bytes(length));
        }
        let mut header = Header::read(source, &self.config);
        if header.is_err() && png_checksums::correct(source) {
            header = Header::read(source, &self.config);
        }
        let header = header?;
        let plan = self.plan(&header);
        let format = self.format(&header, &plan);
        Ok(peak_bytes(length, &header, &plan, format))
    }

    /// Renders an image.
    pub(super) fn render(&self, mut source: Vec<u8>) -> Result<Rendered, StorageError> {
        if is_svg(&source) {
            let format = Format::Svg;
            return Ok(Rendered {
                bytes: source,
                format,
            });
        }
        let mut decoded = self.decode(&source);
        if decoded.is_err() && png_checksums::correct(&mut source) {
            decoded = self.decode(&source);
        }
        drop(source);
        let Decoded {
            header,
            raster,
            profile,
        } = decoded?;
        let plan = self.plan(&header);
        let mut raster = resize(raster, &plan)?;
        if let Some(profile) = profile {
            raster.convert_to_srgb(&profile);
        }
        let format = self.format(&header, &plan);
        let format = format.unwrap_or_else(|| lossy_if_opaque(&raster));
        let mut image = raster.into_image()?;
        image.apply_orientation(header.orientation);
        let bytes = encode(image, format, self.transform.quality())?;
        Ok(Rendered { bytes, format })
    }

    fn decode(&self, source: &[u8]) -> Result<Decoded, StorageError> {
        let header = Header::read(source, &self.config)?;
        let mut decoder = header.decoder(source)?;
        let profile = image::ImageDecoder::icc_profile(&mut decoder);
        let raster = Raster::decode(decoder)?;
        Ok(Decoded {
            header,
            raster,
            profile: profile.ok().flatten(),
        })
    }

    /// Crop and size, for the image that is not yet upright.
    fn plan(&self, header: &Header) -> ResizePlan {
        let plan = ResizePlan::new(
            upright_size(header.width, header.height, header.orientation),
            self.transform.width,
            self.transform.height,
            self.transform.resize,
            self.transform.gravity.unwrap_or_default(),
        );
        let size = (header.width, header.height);
        before_turning(&plan, size, header.orientation)
    }

    /// The requested or negotiated format, else that of the source where we can write it. `None`
    /// where that depends on the pixels.
    fn format(&self, header: &Header, plan: &ResizePlan) -> Option<Format> {
        let is_possible = plan.width.max(plan.height) <= Format::Webp.max_side();
        match (self.transform.format, header.format) {
            (Some(RequestedFormat::Webp), _) => Some(Format::Webp),
            (None, _) if self.accepts_webp && is_possible => Some(Format::Webp),
            (_, ImageFormat::Jpeg) => Some(Format::Jpeg),
            (_, ImageFormat::Png) => Some(Format::Png),
            (_, ImageFormat::WebP) => Some(Format::Webp),
            _ => None,
        }
    }
}

struct Decoded {
    header: Header,
    raster: Raster,
    /// Of the colours, if they are not sRGB.
    profile: Option<Vec<u8>>,
}

/// For sources whose format we cannot write.
fn lossy_if_opaque(raster: &Raster) -> Format {
    let is_possible = raster.width.max(raster.height) <= Format::Jpeg.max_side();
    if is_possible && raster.is_opaque() {
        Format::Jpeg
    } else {
        Format::Png
    }
}

/// SVG, possibly behind a declaration, a comment or a document type.
fn is_svg(source: &[u8]) -> bool {
    let start = String::from_utf8_lossy(&source[..source.len().min(1024)]);
    let start = start.trim_start_matches('\u{feff}').trim_start();
    let is_markup = ["<?xml", "<!--", "<!DOCTYPE svg", "<svg"]
        .iter()
        .any(|opening| start.starts_with(opening));
    is_markup && start.contains("<svg")
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use image::{DynamicImage, ImageEncoder as _, RgbaImage};

    use super::{
        super::error::{invalid, too_many_pixels},
        *,
    };
    use crate::request::Fields;

    const CONFIG: ImagesConfig = ImagesConfig {
        is_enabled: true,
        max_dimension: 2500,
        max_pixels: 1_000_000,
        max_bytes: 25_000_000,
    };

    /// The left half red, the right half blue and half transparent.
    fn sample(width: u32, height: u32) -> RgbaImage {
        RgbaImage::from_fn(width, height, |x, _| {
            if x < width / 2 {
                image::Rgba([255, 0, 0, 255])
            } else {
                image::Rgba([0, 0, 255, 128])
            }
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
        let transform = Transform::parse(&Fields::from_query(Some(query)), &CONFIG).expect(query);
        let request = RenderRequest {
            transform,
            accepts_webp,
            config: CONFIG,
        };
        let mut measured = source.clone();
        request.peak_bytes(&mut measured)?;
        request.render(source)
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
    fn images_are_resized_and_cropped() {
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

    /// A PNG is turned by its orientation, and then cropped.
    #[test]
    fn images_are_turned_upright() {
        let image = sample(40, 20);
        let mut bytes = Vec::new();
        let mut encoder = image::codecs::png::PngEncoder::new(&mut bytes);
        // TIFF in little endian, with one entry: orientation (0x0112), a short, rotated by 90°.
        let exif = b"II*\0\x08\0\0\0\x01\0\x12\x01\x03\0\x01\0\0\0\x06\0\0\0\0\0\0\0";
        encoder.set_exif_metadata(exif.to_vec()).expect("supported");
        let written = encoder.write_image(&image, 40, 20, image::ExtendedColorType::Rgba8);
        written.expect("an image");

        let made = rendered(bytes, "width=10&height=10&gravity=no", false).expect("an image");

        assert_eq!(size(&made), (10, 10));
        let upright = image::load_from_memory(&made.bytes).expect("an image");
        // The left half, red, is above.
        let pixel = upright.into_rgba8().get_pixel(5, 2).0;
        assert_eq!(pixel, [255, 0, 0, 255]);
    }

    #[test]
    fn sides_that_webp_cannot_have_keep_their_format() {
        let wide = file(&sample(20_000, 2), ImageFormat::Png);
        let made = rendered(wide.clone(), "", true).expect("an image");
        assert_eq!(made.format, Format::Png);
        let rejected = rendered(wide, "format=webp", true).expect_err("rejected");
        assert_eq!(rejected.to_string(), too_many_pixels().to_string());
    }

    #[test]
    fn wrong_checksums_do_not_fail_a_rendering() {
        let right = file(&sample(40, 20), ImageFormat::Png);
        let expected = rendered(right.clone(), "width=10", false).expect("an image");
        // The last byte of the header's checksum, of the end's, and of the pixels'.
        let pixels = right.len() - 13;
        for position in [32, right.len() - 1, pixels] {
            let mut wrong = right.clone();
            wrong[position] ^= 0x55;
            let made = rendered(wrong, "width=10", false).expect("an image");
            assert_eq!(made, expected, "{position}");
        }
    }

    #[test]
    fn decompression_bombs_and_garbage_are_rejected() {
        let rejected = |source: Vec<u8>| {
            rendered(source, "", false)
                .expect_err("rejected")
                .to_string()
        };
        let invalid = invalid().to_string();
        assert_eq!(rejected(b"not an image".to_vec()), invalid);
        assert_eq!(rejected(Vec::new()), invalid);
        let whole = file(&sample(40, 20), ImageFormat::Png);
        assert_eq!(rejected(whole[..whole.len() / 2].to_vec()), invalid);
        let bomb = file(&RgbaImage::new(2000, 2000), ImageFormat::Png);
        assert!(bomb.len() < 100_000);
        assert_eq!(rejected(bomb), too_many_pixels().to_string());
    }

    #[test]
    fn svg_is_served_as_it_is() {
        let svg = b"<?xml version=\"1.0\"?>\n<svg xmlns=\"http://www.w3.org/2000/svg\"/>".to_vec();
        let made = rendered(svg.clone(), "width=10", true).expect("an image");
        assert_eq!((made.format, made.bytes), (Format::Svg, svg));
        assert!(!is_svg(b"<html><svg/></html>"));
    }
}

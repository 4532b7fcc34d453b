//! The requested transformation of an image: from a query string, a body or a signed token (storage
//! contract §4).

use std::fmt::Write as _;

use super::geometry::{Gravity, Resize};
use crate::{config::ImagesConfig, error::StorageError, request::Fields};

const DEFAULT_QUALITY: u8 = 80;
const MIN_QUALITY: i64 = 20;
const MAX_QUALITY: i64 = 100;

/// A transformation. The default only encodes the image again.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Transform {
    pub(crate) width: Option<u32>,
    pub(crate) height: Option<u32>,
    pub(crate) resize: Resize,
    quality: Option<u8>,
    pub(crate) format: Option<RequestedFormat>,
    pub(crate) gravity: Option<Gravity>,
}

/// The format that a client asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RequestedFormat {
    /// That of the source, whatever the client accepts.
    Origin,
    Webp,
}

impl Transform {
    /// Parses the fields of a query string, or of a body's `transform`.
    pub(crate) fn parse(fields: &Fields, config: &ImagesConfig) -> Result<Self, StorageError> {
        let side = |name| -> Result<Option<u32>, StorageError> {
            let side = fields.integer(name, 0)?.filter(|side| *side > 0);
            let most = config.max_dimension;
            // Larger values are clamped silently, as upstream does.
            Ok(side.map(|side| u32::try_from(side).map_or(most, |side| side.min(most))))
        };
        let quality = fields.integer("quality", MIN_QUALITY)?;
        if quality.is_some_and(|quality| quality > MAX_QUALITY) {
            return Err(fields.validation_error("quality", &format!("be <= {MAX_QUALITY}")));
        }
        let format = fields.choice("format", &["origin", "webp"])?;
        Ok(Self {
            width: side("width")?,
            height: side("height")?,
            resize: Resize::parse(fields)?.unwrap_or_default(),
            quality: quality.and_then(|quality| u8::try_from(quality).ok()),
            format: format.map(|format| match format {
                "webp" => RequestedFormat::Webp,
                _ => RequestedFormat::Origin,
            }),
            gravity: Gravity::parse(fields)?,
        })
    }

    /// Whether nothing was requested.
    pub(crate) fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// The quality of a lossy result, of 100.
    pub(crate) fn quality(&self) -> u8 {
        self.quality.unwrap_or(DEFAULT_QUALITY)
    }

    /// As a token carries it: `height:50,width:100,resize:contain,quality:80`.
    pub(crate) fn claim(&self) -> String {
        self.text("resize", Resize::name)
    }

    /// From a token that we signed; a claim that cannot be parsed is ignored.
    pub(crate) fn from_claim(claim: &str, config: &ImagesConfig) -> Self {
        let pairs = claim.split(',').filter_map(|pair| pair.split_once(':'));
        let mut query = url::form_urlencoded::Serializer::new(String::new());
        for (name, value) in pairs {
            match (name, value.split(':').collect::<Vec<_>>().as_slice()) {
                ("gravity", [gravity, x, y]) => {
                    query.append_pair("gravity", gravity);
                    query.append_pair("x_offset", x);
                    query.append_pair("y_offset", y);
                }
                _ => {
                    query.append_pair(name, value);
                }
            }
        }
        let fields = Fields::from_query(Some(&query.finish()));
        Self::parse(&fields, config).unwrap_or_default()
    }

    /// For `X-Transformations`, in the terms of imgproxy, which upstream renders with.
    pub(crate) fn header(&self) -> Option<String> {
        let text = self.text("resizing_type", Resize::upstream_name);
        (!text.is_empty()).then_some(text)
    }

    fn text(&self, resize: &str, resize_name: fn(Resize) -> &'static str) -> String {
        let mut text = String::new();
        let mut add = |name: &str, value: &dyn std::fmt::Display| {
            let comma = if text.is_empty() { "" } else { "," };
            _ = write!(text, "{comma}{name}:{value}");
        };
        if let Some(height) = self.height {
            add("height", &height);
        }
        if let Some(width) = self.width {
            add("width", &width);
        }
        if self.height.is_some() || self.width.is_some() {
            add(resize, &resize_name(self.resize));
        }
        if let Some(quality) = self.quality {
            add("quality", &quality);
        }
        match self.format {
            Some(RequestedFormat::Webp) => add("format", &"webp"),
            Some(RequestedFormat::Origin) => add("format", &"origin"),
            None => {}
        }
        if let Some(gravity) = self.gravity {
            add("gravity", &gravity);
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CONFIG: ImagesConfig = ImagesConfig {
        is_enabled: true,
        max_dimension: 2500,
        max_pixels: 50_000_000,
        max_bytes: 25_000_000,
    };

    fn parse(query: &str) -> Result<Transform, StorageError> {
        Transform::parse(&Fields::from_query(Some(query)), &CONFIG)
    }

    #[test]
    fn the_header_has_a_fixed_order_and_upstreams_words() {
        let check = |query, expected| {
            assert_eq!(
                parse(query).expect(query).header().as_deref(),
                expected,
                "{query}"
            );
        };
        check(
            "width=200&height=200&quality=60",
            Some("height:200,width:200,resizing_type:fill,quality:60"),
        );
        check(
            "width=200&resize=contain",
            Some("width:200,resizing_type:fit"),
        );
        check(
            "height=7&resize=fill&format=webp",
            Some("height:7,resizing_type:force,format:webp"),
        );
        check("width=9999", Some("width:2500,resizing_type:fill"));
        check("width=0", None);
        check("resize=contain", None);
    }

    #[test]
    fn a_token_carries_the_whole_transformation() {
        for query in [
            "width=100&height=50&resize=contain&quality=80&format=webp",
            "gravity=fp&x_offset=0&y_offset=1",
            "gravity=noea&width=3",
            "",
        ] {
            let transform = parse(query).expect(query);
            assert_eq!(
                Transform::from_claim(&transform.claim(), &CONFIG),
                transform,
                "{query}"
            );
        }
    }

    #[test]
    fn values_out_of_range_are_rejected_by_name() {
        for (query, message) in [
            ("width=x", "querystring/width must be integer"),
            ("width=-1", "querystring/width must be >= 0"),
            ("quality=19", "querystring/quality must be >= 20"),
            ("quality=101", "querystring/quality must be <= 100"),
            (
                "resize=zoom",
                "querystring/resize must be equal to one of the allowed values",
            ),
            (
                "gravity=fp&x_offset=2&y_offset=0",
                "querystring/x_offset must be <= 1",
            ),
            (
                "gravity=fp",
                "querystring must have required property 'x_offset'",
            ),
        ] {
            assert_eq!(parse(query).expect_err(query).message(), message);
        }
    }
}

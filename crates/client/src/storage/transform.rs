//! Image transformations.

use serde::Serialize;

/// An image transformation. Unset properties are up to the server.
///
/// ```
/// use plinth_client::storage::{Resize, Transform};
///
/// let thumbnail = Transform::new().width(128).height(128).resize(Resize::Contain);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Transform {
    #[serde(skip_serializing_if = "Option::is_none")]
    width: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    height: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    resize: Option<Resize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    format: Option<ImageFormat>,
    #[serde(skip_serializing_if = "Option::is_none")]
    quality: Option<u8>,
}

/// How an image is resized.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Resize {
    /// Covers the size; the rest is cropped. The server's default.
    Cover,
    /// Fits into the size.
    Contain,
    /// Is stretched to it.
    Fill,
}

/// Output format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum ImageFormat {
    /// The original format. Otherwise the server may choose a smaller one that the client accepts.
    Origin,
    /// WebP.
    Webp,
    /// AVIF.
    Avif,
}

impl Transform {
    /// No transformation.
    pub fn new() -> Self {
        Self::default()
    }

    /// Width in pixels.
    pub fn width(mut self, pixels: u32) -> Self {
        self.width = Some(pixels).filter(|pixels| *pixels > 0);
        self
    }

    /// Height in pixels.
    pub fn height(mut self, pixels: u32) -> Self {
        self.height = Some(pixels).filter(|pixels| *pixels > 0);
        self
    }

    /// The resize mode.
    pub fn resize(mut self, how: Resize) -> Self {
        self.resize = Some(how);
        self
    }

    /// The output format.
    pub fn format(mut self, format: ImageFormat) -> Self {
        self.format = Some(format);
        self
    }

    /// Quality from 20 to 100.
    pub fn quality(mut self, quality: u8) -> Self {
        self.quality = Some(quality).filter(|quality| *quality > 0);
        self
    }

    /// Whether nothing is set.
    pub(super) fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    pub(super) fn params(&self) -> Vec<(&'static str, String)> {
        let resize = self.resize.map(|resize| match resize {
            Resize::Cover => "cover",
            Resize::Contain => "contain",
            Resize::Fill => "fill",
        });
        let format = self.format.map(|format| match format {
            ImageFormat::Origin => "origin",
            ImageFormat::Webp => "webp",
            ImageFormat::Avif => "avif",
        });
        let params = [
            ("width", self.width.map(|pixels| pixels.to_string())),
            ("height", self.height.map(|pixels| pixels.to_string())),
            ("resize", resize.map(str::to_owned)),
            ("format", format.map(str::to_owned)),
            ("quality", self.quality.map(|quality| quality.to_string())),
        ];
        let given = params.into_iter();
        given
            .filter_map(|(name, value)| Some((name, value?)))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_query_and_a_body_say_the_same() {
        let transform = Transform::new().width(20).quality(60).resize(Resize::Fill);
        let transform = transform.format(ImageFormat::Origin);

        let expected = [
            ("width", "20"),
            ("resize", "fill"),
            ("format", "origin"),
            ("quality", "60"),
        ];
        assert_eq!(
            transform.params(),
            expected.map(|(name, value)| (name, value.to_owned()))
        );
        assert_eq!(
            serde_json::to_value(transform).unwrap(),
            json!({ "width": 20, "resize": "fill", "format": "origin", "quality": 60 })
        );
    }

    #[test]
    fn nothing_and_zero_are_no_change() {
        assert!(Transform::new().is_empty());
        assert!(Transform::new().width(0).height(0).quality(0).is_empty());
        assert!(!Transform::new().height(1).is_empty());
    }
}

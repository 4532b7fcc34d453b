//! Images that are made smaller on the way out.

use serde::Serialize;

/// How an image is changed on its way out. What is not set is up to the server.
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

/// How an image fits its new size.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Resize {
    /// Fills it; what does not fit is cut off. The server's default.
    Cover,
    /// Fits into it as a whole.
    Contain,
    /// Is stretched to it.
    Fill,
}

/// What kind of image comes out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum ImageFormat {
    /// The kind it is. Otherwise the server may choose a smaller one that the reader accepts.
    Origin,
    /// WebP.
    Webp,
    /// AVIF.
    Avif,
}

impl Transform {
    /// Nothing changed yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// So many pixels wide.
    pub fn width(mut self, pixels: u32) -> Self {
        self.width = Some(pixels).filter(|pixels| *pixels > 0);
        self
    }

    /// So many pixels high.
    pub fn height(mut self, pixels: u32) -> Self {
        self.height = Some(pixels).filter(|pixels| *pixels > 0);
        self
    }

    /// How it fits its new size.
    pub fn resize(mut self, how: Resize) -> Self {
        self.resize = Some(how);
        self
    }

    /// What kind of image comes out.
    pub fn format(mut self, format: ImageFormat) -> Self {
        self.format = Some(format);
        self
    }

    /// From 20 to 100, the best.
    pub fn quality(mut self, quality: u8) -> Self {
        self.quality = Some(quality).filter(|quality| *quality > 0);
        self
    }

    /// Whether there is something to do at all.
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

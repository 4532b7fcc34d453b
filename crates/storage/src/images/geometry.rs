//! The size of the result, and the crop of the source. Images are never enlarged.

use std::fmt;

use crate::{error::StorageError, request::Fields};

/// How a source is fitted into the requested size.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Resize {
    /// Fills it; what does not fit is cropped.
    #[default]
    Cover,
    /// Fits inside.
    Contain,
    /// Is stretched to it.
    Fill,
}

impl Resize {
    pub(super) fn parse(fields: &Fields) -> Result<Option<Self>, StorageError> {
        let word = fields.choice("resize", &["cover", "contain", "fill"])?;
        Ok(word.map(|word| match word {
            "contain" => Self::Contain,
            "fill" => Self::Fill,
            _ => Self::Cover,
        }))
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Cover => "cover",
            Self::Contain => "contain",
            Self::Fill => "fill",
        }
    }

    pub(super) fn upstream_name(self) -> &'static str {
        match self {
            Self::Cover => "fill",
            Self::Contain => "fit",
            Self::Fill => "force",
        }
    }
}

/// Which part of the source is kept when it is cropped.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Gravity {
    anchor: Anchor,
    x: f64,
    y: f64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Anchor {
    /// An edge or a corner, by its name; the center is `ce`.
    Edge(&'static str),
    /// A point, in fractions of the sides.
    Point,
}

const ANCHORS: &[&str] = &[
    "no", "so", "ea", "we", "noea", "nowe", "soea", "sowe", "ce", "sm", "fp",
];

impl Gravity {
    pub(super) fn parse(fields: &Fields) -> Result<Option<Self>, StorageError> {
        let offset = |name: &str| fields.number(name);
        let Some(word) = fields.choice("gravity", ANCHORS)? else {
            return Ok(None);
        };
        if word != "fp" {
            return Ok(Some(Self {
                anchor: Anchor::Edge(word),
                x: offset("x_offset")?.unwrap_or_default(),
                y: offset("y_offset")?.unwrap_or_default(),
            }));
        }
        let fraction = |name: &str| {
            let fraction = offset(name)?.ok_or_else(|| fields.missing(name))?;
            match fraction {
                fraction if fraction < 0.0 => Err(fields.validation_error(name, "be >= 0")),
                fraction if fraction > 1.0 => Err(fields.validation_error(name, "be <= 1")),
                fraction => Ok(fraction),
            }
        };
        Ok(Some(Self {
            anchor: Anchor::Point,
            x: fraction("x_offset")?,
            y: fraction("y_offset")?,
        }))
    }

    /// The start of the kept part on an axis, where `spare` of `side` is cropped.
    fn start(self, side: f64, spare: f64, axis: Axis) -> f64 {
        let (offset, before, after) = match axis {
            Axis::X => (self.x, "we", "ea"),
            Axis::Y => (self.y, "no", "so"),
        };
        let start = match self.anchor {
            Anchor::Point => offset * side - (side - spare) / 2.0,
            Anchor::Edge(name) => {
                // Less than one is a fraction of the side, more are pixels.
                let moved = if offset.abs() < 1.0 {
                    offset * side
                } else {
                    offset
                };
                match (name.contains(before), name.contains(after)) {
                    (true, _) => moved,
                    (_, true) => spare - moved,
                    _ => spare / 2.0 + moved,
                }
            }
        };
        start.clamp(0.0, spare)
    }
}

#[derive(Clone, Copy)]
enum Axis {
    X,
    Y,
}

/// The center; also for `sm` (smart), which we do not implement.
impl Default for Gravity {
    fn default() -> Self {
        Self {
            anchor: Anchor::Edge("ce"),
            x: 0.0,
            y: 0.0,
        }
    }
}

impl fmt::Display for Gravity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.anchor {
            Anchor::Point => write!(f, "fp:{}:{}", self.x, self.y),
            Anchor::Edge(name) if self.x == 0.0 && self.y == 0.0 => f.write_str(name),
            Anchor::Edge(name) => write!(f, "{name}:{}:{}", self.x, self.y),
        }
    }
}

/// Which crop of the source becomes which size.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct ResizePlan {
    /// In pixels of the source: left, top, width, height.
    pub(crate) crop: (f64, f64, f64, f64),
    pub(crate) width: u32,
    pub(crate) height: u32,
}

impl ResizePlan {
    /// Whether the result has all pixels of a source of this size, as they are.
    pub(crate) fn is_whole(&self, width: u32, height: u32) -> bool {
        (self.width, self.height) == (width, height)
            && self.crop == (0.0, 0.0, f64::from(width), f64::from(height))
    }

    /// Whether pixels are changed, rather than copied.
    pub(crate) fn scales(&self) -> bool {
        let (left, top, width, height) = self.crop;
        (width, height) != (f64::from(self.width), f64::from(self.height))
            || (left, top) != (left.round(), top.round())
    }

    /// For a source of this size.
    pub(crate) fn new(
        source: (u32, u32),
        width: Option<u32>,
        height: Option<u32>,
        resize: Resize,
        gravity: Gravity,
    ) -> Self {
        let (source_width, source_height) = (f64::from(source.0), f64::from(source.1));
        let whole = |width: f64, height: f64| Self {
            crop: (0.0, 0.0, source_width, source_height),
            width: pixels(width),
            height: pixels(height),
        };
        let (width, height) = match (width.map(f64::from), height.map(f64::from)) {
            (None, None) => return whole(source_width, source_height),
            // A single side keeps the proportions.
            (Some(width), None) => {
                let scale = (width / source_width).min(1.0);
                return whole(source_width * scale, source_height * scale);
            }
            (None, Some(height)) => {
                let scale = (height / source_height).min(1.0);
                return whole(source_width * scale, source_height * scale);
            }
            (Some(width), Some(height)) => (width, height),
        };
        let (across, down) = (width / source_width, height / source_height);
        match resize {
            Resize::Fill => whole(width.min(source_width), height.min(source_height)),
            Resize::Contain => {
                let scale = across.min(down).min(1.0);
                whole(source_width * scale, source_height * scale)
            }
            Resize::Cover => {
                let scale = across.max(down).min(1.0);
                let width = width.min(source_width * scale);
                let height = height.min(source_height * scale);
                let (crop_width, crop_height) = (width / scale, height / scale);
                let left = gravity.start(source_width, source_width - crop_width, Axis::X);
                let top = gravity.start(source_height, source_height - crop_height, Axis::Y);
                Self {
                    crop: (left, top, crop_width, crop_height),
                    width: pixels(width),
                    height: pixels(height),
                }
            }
        }
    }
}

/// At least one.
fn pixels(side: f64) -> u32 {
    side.round().max(1.0) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(width: Option<u32>, height: Option<u32>, resize: Resize) -> ResizePlan {
        ResizePlan::new((400, 200), width, height, resize, Gravity::default())
    }

    #[test]
    fn sides_are_fitted_and_never_enlarged() {
        let check = |width, height, resize, expected| {
            let plan = plan(width, height, resize);
            assert_eq!(
                (plan.width, plan.height),
                expected,
                "{width:?} {height:?} {resize:?}"
            );
        };
        check(None, None, Resize::Cover, (400, 200));
        check(Some(100), None, Resize::Cover, (100, 50));
        check(None, Some(100), Resize::Contain, (200, 100));
        check(Some(100), Some(100), Resize::Cover, (100, 100));
        check(Some(100), Some(100), Resize::Contain, (100, 50));
        check(Some(100), Some(100), Resize::Fill, (100, 100));
        check(Some(800), None, Resize::Cover, (400, 200));
        check(Some(800), Some(800), Resize::Cover, (400, 200));
        check(Some(800), Some(100), Resize::Cover, (400, 100));
        check(Some(800), Some(800), Resize::Contain, (400, 200));
        check(Some(800), Some(100), Resize::Fill, (400, 100));
        check(Some(1), Some(2000), Resize::Contain, (1, 1));
    }

    #[test]
    fn gravity_says_which_part_is_kept() {
        let left = |gravity: &str| {
            let fields = Fields::from_query(Some(gravity));
            let gravity = Gravity::parse(&fields).expect(gravity).unwrap_or_default();
            let plan = ResizePlan::new((400, 200), Some(100), Some(100), Resize::Cover, gravity);
            assert_eq!((plan.crop.2, plan.crop.3), (200.0, 200.0));
            plan.crop.0
        };
        assert_eq!(left(""), 100.0);
        assert_eq!(left("gravity=we"), 0.0);
        assert_eq!(left("gravity=ea"), 200.0);
        assert_eq!(left("gravity=noea"), 200.0);
        assert_eq!(left("gravity=we&x_offset=10"), 10.0);
        assert_eq!(left("gravity=we&x_offset=0.1"), 40.0);
        assert_eq!(left("gravity=fp&x_offset=0&y_offset=0"), 0.0);
        assert_eq!(left("gravity=fp&x_offset=0.5&y_offset=0"), 100.0);
        assert_eq!(left("gravity=fp&x_offset=1&y_offset=0"), 200.0);
    }
}

//! How large the result is, and which part of the source is in it. Nothing is ever enlarged.

use std::fmt;

use crate::{error::StorageError, request::Fields};

/// How a source is fitted into the sides that were asked for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Resize {
    /// Fills them; what does not fit is cut off.
    #[default]
    Cover,
    /// Fits inside.
    Contain,
    /// Is stretched.
    Fill,
}

impl Resize {
    pub(super) fn read(fields: &Fields) -> Result<Option<Self>, StorageError> {
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

/// Which part stays when something is cut off.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Gravity {
    toward: Toward,
    x: f64,
    y: f64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Toward {
    /// An edge or a corner, by its name; the middle is `ce`.
    Edge(&'static str),
    /// A point, in parts of the sides.
    Point,
}

const EDGES: &[&str] = &[
    "no", "so", "ea", "we", "noea", "nowe", "soea", "sowe", "ce", "sm", "fp",
];

impl Gravity {
    pub(super) fn read(fields: &Fields) -> Result<Option<Self>, StorageError> {
        let offset = |name: &str| fields.number(name);
        let Some(word) = fields.choice("gravity", EDGES)? else {
            return Ok(None);
        };
        if word != "fp" {
            return Ok(Some(Self {
                toward: Toward::Edge(word),
                x: offset("x_offset")?.unwrap_or_default(),
                y: offset("y_offset")?.unwrap_or_default(),
            }));
        }
        let part = |name: &str| {
            let part = offset(name)?.ok_or_else(|| fields.missing(name))?;
            match part {
                part if part < 0.0 => Err(fields.must(name, "be >= 0")),
                part if part > 1.0 => Err(fields.must(name, "be <= 1")),
                part => Ok(part),
            }
        };
        Ok(Some(Self {
            toward: Toward::Point,
            x: part("x_offset")?,
            y: part("y_offset")?,
        }))
    }

    /// Where the part that stays begins, where `spare` of `side` is cut off.
    fn start(self, side: f64, spare: f64, axis: Axis) -> f64 {
        let (offset, before, after) = match axis {
            Axis::X => (self.x, "we", "ea"),
            Axis::Y => (self.y, "no", "so"),
        };
        let start = match self.toward {
            Toward::Point => offset * side - (side - spare) / 2.0,
            Toward::Edge(name) => {
                // Less than one is a part of the side, more are pixels.
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

/// The middle; also what stands in for a clever guess (`sm`).
impl Default for Gravity {
    fn default() -> Self {
        Self {
            toward: Toward::Edge("ce"),
            x: 0.0,
            y: 0.0,
        }
    }
}

impl fmt::Display for Gravity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.toward {
            Toward::Point => write!(f, "fp:{}:{}", self.x, self.y),
            Toward::Edge(name) if self.x == 0.0 && self.y == 0.0 => f.write_str(name),
            Toward::Edge(name) => write!(f, "{name}:{}:{}", self.x, self.y),
        }
    }
}

/// Which part of the source becomes which size.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Plan {
    /// In pixels of the source: left, top, width, height.
    pub(crate) part: (f64, f64, f64, f64),
    pub(crate) width: u32,
    pub(crate) height: u32,
}

impl Plan {
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
            part: (0.0, 0.0, source_width, source_height),
            width: pixels(width),
            height: pixels(height),
        };
        let (width, height) = match (width.map(f64::from), height.map(f64::from)) {
            (None, None) => return whole(source_width, source_height),
            // One side alone keeps the proportions.
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
                let (part_width, part_height) = (width / scale, height / scale);
                let left = gravity.start(source_width, source_width - part_width, Axis::X);
                let top = gravity.start(source_height, source_height - part_height, Axis::Y);
                Self {
                    part: (left, top, part_width, part_height),
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

    fn plan(width: Option<u32>, height: Option<u32>, resize: Resize) -> Plan {
        Plan::new((400, 200), width, height, resize, Gravity::default())
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
    fn gravity_says_which_part_stays() {
        let left = |gravity: &str| {
            let fields = Fields::of_query(Some(gravity));
            let gravity = Gravity::read(&fields).expect(gravity).unwrap_or_default();
            let plan = Plan::new((400, 200), Some(100), Some(100), Resize::Cover, gravity);
            assert_eq!((plan.part.2, plan.part.3), (200.0, 200.0));
            plan.part.0
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

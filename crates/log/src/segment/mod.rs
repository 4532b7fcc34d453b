//! Segment files: layout, appending, reading.

mod append;
mod bounds;
mod layout;
mod lines;

pub(crate) use append::OpenSegment;
pub(crate) use bounds::{BoundsCache, TimeBounds};
pub(crate) use layout::{Layout, Segment, Stream, names_in};
pub(crate) use lines::Lines;

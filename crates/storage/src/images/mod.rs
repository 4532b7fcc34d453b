//! Image transformation (storage contract §4): what a client may ask for (`transform`, `geometry`),
//! the CPU-bound work (`render` and the steps that it names), the memory that it takes (`header`,
//! `footprint`, `memory`), and the workers, queue and cache around it (`renderer`, `cache`).

mod cache;
mod encode;
mod error;
mod footprint;
mod geometry;
mod header;
mod jpeg_frame;
mod memory;
mod png_checksums;
mod raster;
mod render;
mod renderer;
mod resize;
mod transform;

pub(crate) use cache::RenditionName;
pub(crate) use encode::Format;
pub(crate) use error::too_many_bytes;
pub(crate) use render::RenderRequest;
pub(crate) use renderer::ImageRenderer;
pub use renderer::ImageRendererConfig;
pub(crate) use transform::Transform;

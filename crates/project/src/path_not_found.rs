//! A marker for responses to paths that do not exist.

/// An extension of a response: the service has no such path, and the edge renders its own 404.
///
/// Services own everything below their prefix and render their own 404. Pages have no prefix; which
/// paths are theirs depends on the project's settings.
#[derive(Debug, Clone, Copy)]
pub struct PathNotFound;

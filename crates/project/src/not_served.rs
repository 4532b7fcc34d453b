//! How a service says that a path is nobody's.

/// An extension of an answer: the service has no such path, and the edge says so in its own words.
///
/// Services own everything below their prefix and answer 404 themselves. Pages have no prefix;
/// which paths are theirs depends on the project's settings.
#[derive(Debug, Clone, Copy)]
pub struct NotServed;

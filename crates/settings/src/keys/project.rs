//! Keys that stand before the first section.

use crate::key::Key;

keys! {
    /// Name of the project in the official tool.
    pub const ID: Key<Option<String>> = optional_text("project_id").inert();
}

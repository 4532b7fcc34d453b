//! One typed tree of settings per project, from `supabase/config.toml`, the environment, the
//! command line and what operators stored.
//!
//! Every setting is declared once, in [`keys`]; from that table come the checks, the defaults, the
//! environment names, the suggestions for misspelled keys and the printed reference. [`Loader`]
//! stacks the layers (command line > environment > file > stored > default) and reports all
//! problems at once; [`Settings`] answers typed questions about the result and says where each
//! value came from; [`SettingsHandle`] carries changes to running services.
//!
//! What the values mean to a service is not decided here: each crate builds its own
//! configuration from `&Settings`. Nothing here watches files or reads the process environment
//! unless asked to.

mod aliases;
mod byte_size;
mod colour;
mod dotenv;
mod duration;
mod env_reference;
mod handle;
mod key;
pub mod keys;
mod kind;
mod layers;
mod loader;
mod network;
mod node;
mod password_rule;
mod path;
mod patterns;
mod problem;
mod reference;
mod remote;
mod rules;
mod settings;
mod table;
mod value;

pub use crate::dotenv::parse as parse_dotenv;
pub use crate::duration::parse as parse_duration;
pub use crate::handle::SettingsHandle;
pub use crate::key::Key;
pub use crate::kind::Kind;
pub use crate::loader::{Loaded, Loader, check_stored, find_project_folder};
pub use crate::password_rule::password_characters;
pub use crate::path::join_path;
pub use crate::patterns::files_matching;
pub use crate::problem::{LoadError, Place, Problem};
pub use crate::reference::{Row, describe, render_reference};
pub use crate::settings::{Settings, Source};
pub use crate::table::nearest;
pub use crate::value::{Secret, Value};

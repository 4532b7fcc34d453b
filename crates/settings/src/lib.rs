//! One typed tree of settings per project, from `supabase/config.toml`, the environment, the
//! command line and what operators stored.
//!
//! Every setting is declared once, in [`keys`], as a typed constant. The checks, the defaults, the
//! environment names, the suggestions for misspelled keys and the printed reference come from the
//! same declarations. [`Loader`] stacks the layers (command line > environment > file > stored >
//! default) and reports all problems at once; [`Settings`] is the result, looked up by key;
//! [`SettingsHandle`] notifies running services of changes.
//!
//! What the values mean to a service is not decided here: each crate builds its own
//! configuration from `&Settings`. Nothing here watches files, and the process environment is read
//! only by [`Loader::process_environment`].

mod aliases;
mod byte_size;
mod colour;
mod declaration;
mod dotenv;
mod duration;
mod env_reference;
mod form;
mod handle;
mod key;
pub mod keys;
mod kind;
mod layers;
mod listing;
mod loader;
mod network;
mod node;
mod password_rule;
mod path;
mod patterns;
mod problem;
mod profile_field;
mod reference;
mod remote;
mod rules;
mod settings;
mod stored_form;
mod table;
mod value;
mod value_type;

pub use crate::declaration::Declaration;
pub use crate::dotenv::parse as parse_dotenv;
pub use crate::duration::parse as parse_duration;
pub use crate::handle::SettingsHandle;
pub use crate::key::{Key, MemberKey, SettingKey};
pub use crate::kind::Kind;
pub use crate::listing::{Listed, Reach};
pub use crate::loader::{Loaded, Loader, check_stored, find_project_folder};
pub use crate::password_rule::password_characters;
pub use crate::patterns::files_matching;
pub use crate::problem::{LoadError, Place, Problem};
pub use crate::profile_field::ProfileField;
pub use crate::reference::{Row, describe, render_reference};
pub use crate::settings::{Setting, Settings, Source};
pub use crate::stored_form::{MASK, render_toml};
pub use crate::table::nearest;
pub use crate::value::{ByteSize, Secret, Value, WrittenUrl};
pub use crate::value_type::ValueType;

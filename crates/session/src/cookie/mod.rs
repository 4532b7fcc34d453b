//! Encoding of values in cookies, byte for byte as `@supabase/ssr` does it (client contract §2).
//!
//! A value may exceed the size of a cookie, so it is [split](split()) into chunks and
//! [joined](Cookies::item) again. This module is agnostic of the values: sessions, code verifiers and
//! their index.
//!
//! ```
//! use plinth_session::cookie::{Changes, CookieOptions, Cookies, Encoding, Limits, Side};
//!
//! let request = Cookies::parse("theme=dark; sb-abc-auth-token=base64-eyJhIjoxfQ");
//! let limits = Limits::default();
//! assert_eq!(request.item("sb-abc-auth-token", &limits).as_deref(), Some(r#"{"a":1}"#));
//!
//! let mut changes = Changes::default();
//! changes.remove("sb-abc-auth-token");
//! let options = CookieOptions::default();
//! let writes = changes.plan(&request, &options, Encoding::Base64Url, Side::Server);
//! assert_eq!(
//!     writes[0].header(&options),
//!     "sb-abc-auth-token=; Max-Age=0; Path=/; SameSite=Lax",
//! );
//! ```

mod changes;
pub(crate) mod header;
mod join;
mod limits;
mod name;
mod options;
mod percent;
mod split;
mod value;
mod write;

pub use changes::{Changes, Side, flow_index};
pub use header::{Cookie, Cookies};
pub use limits::Limits;
pub use name::is_chunk_like;
pub(crate) use name::is_valid_name;
pub use options::{CookieOptions, CookieOptionsError, Priority, SameSite};
pub use split::{CHUNK_LENGTH, split};
pub use value::{Encoding, VALUE_PREFIX};
pub use write::{Scope, Write, remove_at_scopes};

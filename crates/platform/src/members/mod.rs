//! Who may do what (console contract §2.2): roles of operators on the instance, in organizations and on
//! projects, and invitations.
//!
//! Operators are users of project zero. Nothing here is cached: a change applies to the next request.

mod change;
mod invitations;
mod list;
mod role;
mod roles;
mod scope;

pub use change::Actor;
pub(crate) use change::{lock_members, set_role};
pub use invitations::{Acceptance, Invitation};
pub use list::{Member, MemberSource};
pub use role::{Capability, Role};
pub use roles::Roles;
pub use scope::MemberScope;

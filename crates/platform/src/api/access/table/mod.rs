//! The rows: one per method and route.

mod catalog;
mod data;
mod platform;
mod users;

use std::sync::LazyLock;

use super::{Access, Needs, RequiredScope};

/// All rows.
pub(super) static TABLE: LazyLock<Vec<Access>> =
    LazyLock::new(|| [platform::ROWS, data::ROWS, catalog::ROWS, users::ROWS].concat());

pub(super) const fn get(route: &'static str, scope: RequiredScope, needs: Needs) -> Access {
    Access::new("GET", route, scope, needs)
}

pub(super) const fn post(route: &'static str, scope: RequiredScope, needs: Needs) -> Access {
    Access::new("POST", route, scope, needs)
}

pub(super) const fn put(route: &'static str, scope: RequiredScope, needs: Needs) -> Access {
    Access::new("PUT", route, scope, needs)
}

pub(super) const fn patch(route: &'static str, scope: RequiredScope, needs: Needs) -> Access {
    Access::new("PATCH", route, scope, needs)
}

pub(super) const fn delete(route: &'static str, scope: RequiredScope, needs: Needs) -> Access {
    Access::new("DELETE", route, scope, needs)
}

/// All methods that have no row of their own.
pub(super) const fn any(route: &'static str, scope: RequiredScope, needs: Needs) -> Access {
    Access::new(super::ANY, route, scope, needs)
}

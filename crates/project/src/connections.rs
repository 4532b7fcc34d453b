//! How the connections of a cluster are divided, so that no owner of a project can take them all.
//!
//! PostgreSQL keeps `superuser_reserved_connections` for the administrating role and, from version 16
//! on, `reserved_connections` for the logins that Plinth itself uses. The database proxy lets through
//! no more connections than are left, because PostgreSQL counts a connection before it knows the
//! role; and each login has a limit of its own.

/// Connections of a server, as its configuration divides them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ConnectionSlots {
    /// `max_connections`
    pub max: u32,
    /// `superuser_reserved_connections`
    pub superuser_reserved: u32,
    /// `reserved_connections`; 0 before PostgreSQL 16, which has no such setting.
    pub reserved: u32,
}

impl ConnectionSlots {
    /// How many connections tools may have over the database port, all projects together.
    pub fn for_tools(&self) -> u32 {
        let left = self.max.saturating_sub(self.superuser_reserved);
        let for_plinth = self.reserved.max(left / 3);
        left.saturating_sub(for_plinth).max(1)
    }
}

/// How many connections a login may have; PostgreSQL's `connection limit`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LoginLimits {
    /// Of `owner_<ref>`, whose password the project's owner has.
    pub owner: u32,
    /// Of each login that only Plinth uses.
    pub internal: u32,
}

impl LoginLimits {
    /// `owner` as configured, by default a fifth of all connections. Internal logins are bounded by
    /// the size of their pools; their limit leaves capacity for a pool that is being replaced.
    pub fn new(slots: ConnectionSlots, owner: Option<u32>, pool_size: usize) -> Self {
        let pool_size = u32::try_from(pool_size).unwrap_or(u32::MAX);
        Self {
            owner: owner.unwrap_or(slots.max / 5).clamp(1, MAX_LIMIT),
            internal: (slots.max / 2)
                .max(pool_size.saturating_mul(SERVICE_POOLS * 2))
                .clamp(1, MAX_LIMIT),
        }
    }
}

/// The services that share the login `service_<ref>`.
const SERVICE_POOLS: u32 = 3;

/// PostgreSQL's type is a signed integer.
const MAX_LIMIT: u32 = i32::MAX.unsigned_abs();

#[cfg(test)]
mod tests {
    use super::*;

    fn slots(max: u32, superuser_reserved: u32, reserved: u32) -> ConnectionSlots {
        ConnectionSlots {
            max,
            superuser_reserved,
            reserved,
        }
    }

    #[test]
    fn tools_get_the_unreserved_connections() {
        assert_eq!(slots(100, 10, 30).for_tools(), 60);
        assert_eq!(slots(100, 10, 50).for_tools(), 40);
        assert_eq!(slots(100, 10, 0).for_tools(), 60, "PostgreSQL 15");
        assert_eq!(slots(3, 3, 0).for_tools(), 1);
    }

    #[test]
    fn one_owner_gets_a_part_and_pools_fit_their_limit() {
        let limits = LoginLimits::new(slots(100, 10, 30), None, 10);
        assert_eq!((limits.owner, limits.internal), (20, 60));

        let configured = LoginLimits::new(slots(100, 10, 30), Some(3), 40);
        assert_eq!((configured.owner, configured.internal), (3, 240));

        let odd = LoginLimits::new(slots(2, 1, 0), Some(u32::MAX), usize::MAX);
        assert_eq!((odd.owner, odd.internal), (MAX_LIMIT, MAX_LIMIT));
    }
}

//! How `max_connections` is divided: some for the superuser, some for roles that may use
//! `reserved_connections`, the rest for all roles.

use std::collections::BTreeMap;

const DEFAULT_MAX: u32 = 100;
/// The server's own default, and what even many connections need not exceed.
const SUPERUSER_RESERVED: (u32, u32) = (3, 20);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ConnectionSlots {
    pub(super) max: u32,
    pub(super) superuser_reserved: u32,
    pub(super) reserved: u32,
}

impl ConnectionSlots {
    /// From the operator's `max_connections`, if there is one. The parts never exceed the whole,
    /// with which the server would not start.
    pub(super) fn divide(overrides: &BTreeMap<String, String>) -> Self {
        let given = |wanted: &str| {
            let found = overrides
                .iter()
                .find(|(name, _)| name.eq_ignore_ascii_case(wanted));
            found.and_then(|(_, value)| value.trim().parse::<u32>().ok())
        };
        let max = given("max_connections").unwrap_or(DEFAULT_MAX);
        let (least, most) = SUPERUSER_RESERVED;
        let superuser_reserved = given("superuser_reserved_connections")
            .unwrap_or_else(|| (max / 10).clamp(least, most).min(max / 2));
        Self {
            max,
            superuser_reserved,
            reserved: max.saturating_sub(superuser_reserved) / 3,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(overrides: &[(&str, &str)], expected: (u32, u32, u32)) {
        let overrides = overrides
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect();
        let slots = ConnectionSlots::divide(&overrides);
        let found = (slots.max, slots.superuser_reserved, slots.reserved);
        assert_eq!(found, expected, "{overrides:?}");
    }

    #[test]
    fn a_part_is_reserved_whatever_the_whole_is() {
        check(&[], (100, 10, 30));
        check(&[("Max_Connections", "300")], (300, 20, 93));
        check(&[("max_connections", "10")], (10, 3, 2));
        check(&[("max_connections", "1")], (1, 0, 0));
        check(&[("superuser_reserved_connections", "40")], (100, 40, 20));
        check(&[("max_connections", "many")], (100, 10, 30));
    }
}

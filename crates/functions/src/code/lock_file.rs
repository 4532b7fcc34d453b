//! The version pins of a `deno.lock` among a function's sources.

use serde_json::{Map, Value};

/// No lock file is larger; a device file without an end would be.
pub(super) const MAX_LOCK_FILE_BYTES: u64 = 8 << 20;

/// The members that pin versions and digests. Older files have packages of every kind in `packages`.
const KEPT_MEMBERS: [&str; 6] = ["version", "specifiers", "npm", "jsr", "remote", "packages"];

/// Versions and digests, without the addresses that the file may name: the runtime would fetch packages
/// from there, whatever networks are denied.
pub(super) fn version_pins(mut lock: Value) -> Value {
    if let Some(members) = lock.as_object_mut() {
        members.retain(|name, _| KEPT_MEMBERS.contains(&name.as_str()));
    }
    for pointer in ["/npm", "/packages/npm"] {
        let packages = lock.pointer_mut(pointer).and_then(Value::as_object_mut);
        for package in packages.into_iter().flat_map(Map::values_mut) {
            if let Some(members) = package.as_object_mut() {
                members.remove("tarball");
            }
        }
    }
    lock
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_lock_file_pins_versions_and_names_no_address() {
        let lock = json!({
            "version": "5",
            "specifiers": { "npm:ms@2": "2.0.0" },
            "npm": { "ms@2.0.0": { "integrity": "x", "tarball": "http://169.254.169.254/" } },
            "redirects": { "https://a.example/": "http://10.0.0.1/" },
        });

        assert_eq!(
            version_pins(lock),
            json!({
                "version": "5",
                "specifiers": { "npm:ms@2": "2.0.0" },
                "npm": { "ms@2.0.0": { "integrity": "x" } },
            })
        );
        assert_eq!(version_pins(json!([1])), json!([1]));
    }
}

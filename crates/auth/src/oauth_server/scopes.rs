//! OAuth scopes, separated by spaces.

/// All supported scopes.
pub(crate) const SUPPORTED: [&str; 5] = ["openid", "profile", "email", "phone", "offline_access"];

/// Splits a list of scopes.
pub(super) fn parse(text: &str) -> Vec<&str> {
    text.split_ascii_whitespace().collect()
}

pub(super) fn has(text: &str, scope: &str) -> bool {
    text.split_ascii_whitespace().any(|word| word == scope)
}

/// Whether all requested scopes are granted.
pub(super) fn covers(granted: &str, requested: &str) -> bool {
    parse(requested)
        .into_iter()
        .all(|scope| has(granted, scope))
}

/// Checks requested scopes.
pub(super) fn check(text: &str) -> Result<(), String> {
    let scopes = parse(text);
    if scopes.is_empty() {
        return Err("scope parameter cannot be empty".to_owned());
    }
    match scopes.into_iter().find(|scope| !SUPPORTED.contains(scope)) {
        Some(scope) => Err(format!("unsupported scope: {scope}")),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_supported_scopes_are_accepted() {
        assert!(check("openid email").is_ok());
        assert!(check("  phone   profile offline_access ").is_ok());
        for text in ["", "  ", "admin", "email admin", "Email"] {
            assert!(check(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_grant_covers_its_parts() {
        assert!(covers("openid email profile", "email openid"));
        assert!(!covers("email", "email phone"));
        assert!(!covers("emails", "email"));
    }
}

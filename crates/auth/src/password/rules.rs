//! Password rules (E-PASS).

use super::leaked;
use crate::{AuthError, config::PasswordConfig, request::RequestContext};

/// bcrypt ignores further bytes.
const MAX_BYTES: usize = 72;

/// Why a password is too weak.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Weakness {
    pub(crate) message: String,
    pub(crate) reasons: Vec<&'static str>,
}

/// Rejects passwords that are too long or too weak.
pub(crate) async fn check_strength(
    context: &RequestContext,
    password: &str,
) -> Result<(), AuthError> {
    check_length(password)?;
    match find_weakness(context, password).await? {
        Some(Weakness { message, reasons }) => Err(AuthError::weak_password(message, reasons)),
        None => Ok(()),
    }
}

/// Rejects passwords that bcrypt would truncate.
pub(crate) fn check_length(password: &str) -> Result<(), AuthError> {
    match password.len() {
        ..=MAX_BYTES => Ok(()),
        _ => Err(AuthError::validation_failed(format!(
            "Password cannot be longer than {MAX_BYTES} characters"
        ))),
    }
}

/// Why a password is weak by the current rules.
pub(crate) async fn find_weakness(
    context: &RequestContext,
    password: &str,
) -> Result<Option<Weakness>, AuthError> {
    let mut found = broken_rules(&context.config.password, password);
    if let Some(config) = &context.config.password.hibp
        && leaked::is_leaked(context, config, password).await?
    {
        let message = "Password is known to be weak and easy to guess, please choose a different \
                       one.";
        found.push(("pwned", message.to_owned()));
    }
    let (reasons, messages): (Vec<_>, Vec<_>) = found.into_iter().unzip();
    Ok((!reasons.is_empty()).then(|| Weakness {
        message: messages.join(" "),
        reasons,
    }))
}

/// Reason and text of each violated rule.
fn broken_rules(rules: &PasswordConfig, password: &str) -> Vec<(&'static str, String)> {
    let mut broken = Vec::new();
    if password.chars().count() < rules.min_length {
        let message = format!(
            "Password should be at least {} characters.",
            rules.min_length
        );
        broken.push(("length", message));
    }
    let sets = &rules.required_characters;
    let lacks = |set: &String| !set.is_empty() && !password.contains(|c| set.contains(c));
    if sets.iter().any(lacks) {
        let message = format!(
            "Password should contain at least one character of each: {}.",
            sets.join(", ")
        );
        broken.push(("characters", message));
    }
    broken
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::character_sets;

    fn rules(min_length: usize, required: &str) -> PasswordConfig {
        PasswordConfig {
            min_length,
            required_characters: character_sets(required),
            hibp: None,
            cost: 4,
            change_needs_reauthentication: false,
            change_needs_current: false,
            makes_email_identity: false,
        }
    }

    #[track_caller]
    fn check(rules: &PasswordConfig, password: &str, expected: &[(&str, &str)]) {
        let broken = broken_rules(rules, password);
        let broken: Vec<_> = broken
            .iter()
            .map(|(reason, message)| (*reason, message.as_str()))
            .collect();
        assert_eq!(broken, expected, "{password}");
    }

    #[test]
    fn every_broken_rule_is_named() {
        let length = ("length", "Password should be at least 6 characters.");
        let characters = (
            "characters",
            "Password should contain at least one character of each: abc, 123, :.",
        );
        let rules = rules(6, r"abc:123:\:");
        check(&rules, "a1:", &[length]);
        check(&rules, "a1:xyz", &[]);
        check(&rules, "xyzxyz", &[characters]);
        check(&rules, "x", &[length, characters]);
        check(&rules, "", &[length, characters]);
    }

    #[test]
    fn length_is_counted_in_characters() {
        let rules = rules(6, "");
        check(&rules, "üüüüüü", &[]);
        check(
            &rules,
            "üüüüü",
            &[("length", "Password should be at least 6 characters.")],
        );
    }

    #[test]
    fn passwords_that_bcrypt_truncates_are_rejected() {
        assert!(check_length(&"a".repeat(72)).is_ok());
        assert!(check_length(&"a".repeat(73)).is_err());
        assert!(check_length(&"ü".repeat(37)).is_err());
    }
}

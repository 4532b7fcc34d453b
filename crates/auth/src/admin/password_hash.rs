//! Hashes that a user brings along from another system (auth contract §8.3).

use crate::AuthError;

/// Refuses what could never be verified.
pub(super) fn check(hash: &str) -> Result<(), AuthError> {
    let is_known = match hash.split('$').nth(1) {
        Some("2a" | "2b" | "2y") => is_bcrypt(hash),
        Some("argon2i" | "argon2id") => is_argon2(hash),
        Some("fbscrypt") => is_firebase_scrypt(hash),
        _ => false,
    };
    match is_known {
        true => Ok(()),
        false => Err(AuthError::invalid(
            "password_hash must be a bcrypt, argon2i, argon2id or Firebase scrypt hash",
        )),
    }
}

/// `$2b$10$` and 53 characters.
fn is_bcrypt(hash: &str) -> bool {
    let mut parts = hash.split('$').skip(2);
    let (cost, text) = (parts.next(), parts.next());
    let cost = cost.filter(|cost| cost.len() == 2);
    let cost: Option<u8> = cost.and_then(|cost| cost.parse().ok());
    cost.is_some_and(|cost| (4..=31).contains(&cost))
        && text.is_some_and(|text| text.len() == 53 && text.bytes().all(is_bcrypt_sign))
        && parts.next().is_none()
}

fn is_bcrypt_sign(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'.' || byte == b'/'
}

/// `$argon2id$v=19$m=65536,t=3,p=1$salt$hash`, within what a sign-in may cost.
fn is_argon2(hash: &str) -> bool {
    let parts: Vec<&str> = hash.split('$').skip(2).collect();
    let [version, rules, salt, text] = parts[..] else {
        return false;
    };
    let number = |name: &str| {
        let mut rules = rules.split(',').filter_map(|rule| rule.split_once('='));
        let (_, value) = rules.find(|(key, _)| *key == name)?;
        value.parse::<u32>().ok()
    };
    let is_within = |name, most| number(name).is_some_and(|it| (1..=most).contains(&it));
    version == "v=19"
        && is_within("m", 1024 * 1024)
        && is_within("t", 20)
        && is_within("p", 16)
        && [salt, text].into_iter().all(is_base64)
}

/// `$fbscrypt$v=1,n=14,r=8,p=1,ss=…,sk=…$salt$hash`
fn is_firebase_scrypt(hash: &str) -> bool {
    let parts: Vec<&str> = hash.split('$').skip(2).collect();
    let [rules, salt, text] = parts[..] else {
        return false;
    };
    let named = |name: &str| {
        let mut rules = rules.split(',').filter_map(|rule| rule.split_once('='));
        rules.find(|(key, _)| *key == name).map(|(_, value)| value)
    };
    let is_number = |name| named(name).is_some_and(|it| it.parse::<u32>().is_ok());
    named("v") == Some("1")
        && ["n", "r", "p"].into_iter().all(is_number)
        && named("sk").is_some_and(is_base64)
        && named("ss").is_none_or(is_base64)
        && [salt, text].into_iter().all(is_base64)
}

fn is_base64(text: &str) -> bool {
    let is_sign = |byte: u8| byte.is_ascii_alphanumeric() || b"+/=-_".contains(&byte);
    !text.is_empty() && text.bytes().all(is_sign)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn known_kinds_are_let_in() {
        for hash in [
            "$2a$06$9GWgvPl6ETfMNAD9e0qQduk/g9Vj7Kx8XMDhKVb2J8G3aXxBZPfXK",
            "$2y$10$va66S4MxFrH6G6L7BzYl0.QgcYgvSr/F92gc.3botlz7bG4p/g/1i",
            "$argon2id$v=19$m=32768,t=3,p=2$SFVpOWJ0eXhjRzVkdGN1RQ$RXnb8rh7LaDcn07xsssqqulZYXOM/EUCEFMVcAcyYVk",
            "$fbscrypt$v=1,n=14,r=8,p=1,ss=Bw==,sk=ou9tdYTGyYm8kuR6Dt0Bp0kDuAYoXrK16mbZO4yGwAn3oLspjnN0/c41v8xZnO1n14J3MjKj1b2g6AUCAlFwMw==$C0sHCg9ek77hsg==$ZGlmZmVyZW50aGFzaA==",
        ] {
            assert!(check(hash).is_ok(), "{hash}");
        }
    }

    #[test]
    fn anything_else_is_refused() {
        for hash in [
            "plain",
            "$2a$06$short",
            "$2a$99$9GWgvPl6ETfMNAD9e0qQduk/g9Vj7Kx8XMDhKVb2J8G3aXxBZPfXK",
            "$1$abc$def",
            "$argon2d$v=19$m=32768,t=3,p=2$c2FsdA$aGFzaA",
            "$argon2id$v=16$m=32768,t=3,p=2$c2FsdA$aGFzaA",
            "$argon2id$v=19$m=99999999,t=3,p=2$c2FsdA$aGFzaA",
            "$argon2id$v=19$m=32768,t=3,p=2$c2FsdA$",
            "$argon2id$v=19$m=32768$c2FsdA$aGFzaA",
            "$fbscrypt$v=2,n=14,r=8,p=1,sk=eA==$c2FsdA$aGFzaA",
            "$fbscrypt$v=1,n=14,r=8$c2FsdA$aGFzaA",
        ] {
            assert!(check(hash).is_err(), "{hash}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_a_hash_or_an_error(text in r"(\$(2a|argon2id|fbscrypt))?[$,=a-z0-9]*") {
            let _ = check(&text);
        }
    }
}

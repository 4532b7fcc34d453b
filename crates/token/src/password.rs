//! Random passwords for database roles.

use crate::random;
use crate::secret::Secret;

const LENGTH: usize = 32;
const ALPHABET: &[u8; 62] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";

/// A new database password: 32 letters and digits, about 190 bits.
///
/// Letters and digits only, so that it needs no quoting in a URL, a shell or a connection string.
pub fn generate_password() -> Secret {
    let mut password = String::with_capacity(LENGTH);
    while password.len() < LENGTH {
        // Of the 64 values of six bits two are thrown away, which keeps all letters equally likely.
        let candidates = random::bytes::<LENGTH>();
        let letters = candidates
            .iter()
            .filter_map(|byte| ALPHABET.get(usize::from(byte & 63)));
        password.extend(
            letters
                .take(LENGTH - password.len())
                .map(|letter| char::from(*letter)),
        );
    }
    Secret::new(password)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn a_password_is_32_letters_and_digits_and_new_each_time() {
        let passwords: Vec<Secret> = (0..50).map(|_| generate_password()).collect();

        for password in &passwords {
            assert_eq!(password.expose().len(), 32);
            assert!(
                password
                    .expose()
                    .bytes()
                    .all(|byte| byte.is_ascii_alphanumeric())
            );
        }
        let distinct: HashSet<&str> = passwords.iter().map(Secret::expose).collect();
        assert_eq!(distinct.len(), passwords.len());
    }
}

//! The keys with which `plinth serve rest` verifies tokens. In the full server the gateway has
//! verified them already.

use std::{
    fmt, fs,
    sync::{Arc, Mutex, PoisonError},
};

use plinth_token::{KeySet, Secret, TokenCache, decode_base64_secret};

use super::options::{Given, Options};

const DEFAULT_CACHE_ENTRIES: u64 = 1000;

/// `jwt-secret`, `jwt-secret-is-base64` and `jwt-cache-max-entries`.
#[derive(Debug, Clone)]
pub(crate) struct JwtConfig {
    /// The value of `jwt-secret`, which may be `@file`.
    given: Option<Secret>,
    is_base64: bool,
    cache_entries: u64,
    keys: Option<CheckedKeys>,
    /// The last keys of this value and its clones, for reuse.
    last_keys: Arc<Mutex<Option<CheckedKeys>>>,
    cache: TokenCache,
}

/// A key set and its secret: as long as the secret is unchanged, the key set and with it the
/// entries of the token cache stay valid.
#[derive(Clone)]
struct CheckedKeys {
    secret: Vec<u8>,
    keyset: KeySet,
}

impl fmt::Debug for CheckedKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.keyset.fmt(f)
    }
}

impl JwtConfig {
    /// No secret: requests with a token are rejected.
    pub(super) fn none() -> Self {
        Self {
            given: None,
            is_base64: false,
            cache_entries: DEFAULT_CACHE_ENTRIES,
            keys: None,
            last_keys: Arc::default(),
            cache: TokenCache::with_max_entries(DEFAULT_CACHE_ENTRIES),
        }
    }

    pub(crate) fn keys(&self) -> Option<&KeySet> {
        self.keys.as_ref().map(|keys| &keys.keyset)
    }

    /// Verified tokens.
    pub(crate) fn cache(&self) -> &TokenCache {
        &self.cache
    }

    pub(super) fn apply(&mut self, options: &mut Options) {
        options
            .text(&["jwt-secret"])
            .map(|text| Some(Secret::new(text)))
            .store(&mut self.given, None);
        options
            .flag(&["jwt-secret-is-base64", "secret-is-base64"])
            .store(&mut self.is_base64, false);
        let entries = options.integer(&["jwt-cache-max-entries"]);
        let entries: Given<u64> = entries.map(|count| u64::try_from(count).unwrap_or(0));
        let before = self.cache_entries;
        entries.store(&mut self.cache_entries, DEFAULT_CACHE_ENTRIES);
        if self.cache_entries != before {
            self.cache = self.cache.resized(self.cache_entries);
        }
        if let Err(problem) = self.make_keys() {
            options.reject(&["jwt-secret"], &problem);
        }
    }

    fn make_keys(&mut self) -> Result<(), String> {
        let Some(given) = &self.given else {
            self.keys = None;
            return Ok(());
        };
        let mut secret = read(given.expose())?;
        if self.is_base64 {
            let decoded = decode_base64_secret(&secret).map_err(|error| error.to_string())?;
            secret = decoded.to_vec();
        }
        let mut last_keys = self
            .last_keys
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let mut known = self.keys.iter().chain(last_keys.iter());
        let keys = match known.find(|keys| keys.secret == secret).cloned() {
            Some(keys) => keys,
            None => {
                let keyset = KeySet::from_jwt_secret(&secret).map_err(|error| error.to_string())?;
                CheckedKeys { secret, keyset }
            }
        };
        *last_keys = Some(keys.clone());
        drop(last_keys);
        self.keys = Some(keys);
        Ok(())
    }

    /// Takes over keys and cached tokens of the previous settings, where they are unchanged.
    pub(super) fn reusing_cache(mut self, previous: &Self) -> Self {
        if let (Some(new), Some(old)) = (&mut self.keys, &previous.keys)
            && new.secret == old.secret
        {
            new.keyset = old.keyset.clone();
        }
        self.last_keys = Arc::clone(&previous.last_keys);
        self.cache = if self.cache_entries == previous.cache_entries {
            previous.cache.clone()
        } else {
            previous.cache.resized(self.cache_entries)
        };
        self
    }

    /// For `--dump-config`. The secret is left out: dumps end up in bug reports.
    pub(super) fn dump(&self) -> [(&'static str, String); 2] {
        [
            ("jwt-secret-is-base64", self.is_base64.to_string()),
            ("jwt-cache-max-entries", self.cache_entries.to_string()),
        ]
    }
}

/// A secret that starts with `@` names a file; its trailing newline is ignored.
fn read(given: &str) -> Result<Vec<u8>, String> {
    let Some(path) = given.strip_prefix('@') else {
        return Ok(given.as_bytes().to_vec());
    };
    let mut content =
        fs::read(path).map_err(|error| format!("the file {path} cannot be read: {error}"))?;
    if content.ends_with(b"\n") {
        content.pop();
    }
    Ok(content)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{super::options::Value, *};

    const SECRET: &str = "reallyreallyreallyreallyverysafe";
    /// The same in base64.
    const ENCODED: &str = "cmVhbGx5cmVhbGx5cmVhbGx5cmVhbGx5dmVyeXNhZmU=";

    fn with(pairs: &[(&str, &str)]) -> Result<JwtConfig, Vec<String>> {
        let mut options = Options::default();
        for (name, text) in pairs {
            options.add(name, name, Value::Text((*text).to_owned()));
        }
        let mut config = JwtConfig::none();
        config.apply(&mut options);
        options.finish().map(|_| config)
    }

    fn accepts(config: &JwtConfig) -> bool {
        let signer = KeySet::builder().legacy_secret(SECRET).build();
        let signer = signer.expect("a good secret");
        let token = signer.sign(&json!({})).expect("signed");
        config
            .keys()
            .is_some_and(|keys| config.cache().verify(keys, &token).is_ok())
    }

    #[test]
    fn a_secret_may_be_plain_in_base64_or_in_a_file() {
        let file = std::env::temp_dir().join(format!("plinth-jwt-secret-{}", std::process::id()));
        fs::write(&file, format!("{SECRET}\n")).expect("a file");
        let path = format!("@{}", file.display());

        for pairs in [
            &[("jwt-secret", SECRET)][..],
            &[("jwt-secret", ENCODED), ("jwt-secret-is-base64", "true")],
            &[("jwt-secret", ENCODED), ("secret-is-base64", "true")],
            &[("jwt-secret", path.as_str())],
        ] {
            assert!(accepts(&with(pairs).expect("a good secret")), "{pairs:?}");
        }
        fs::remove_file(file).expect("our own file");
    }

    #[test]
    fn bad_secrets_are_reported_without_showing_them() {
        let check = |pairs: &[(&str, &str)], expected: &str| {
            let problems = with(pairs).expect_err("rejected");
            assert_eq!(problems.len(), 1);
            assert!(problems[0].contains(expected), "{problems:?}");
            assert!(!problems[0].contains("tiny"), "{problems:?}");
        };

        check(&[("jwt-secret", "tiny")], "at least 32 characters");
        check(
            &[("jwt-secret", "tiny!"), ("jwt-secret-is-base64", "1")],
            "not valid base64",
        );
        check(&[("jwt-secret", "@/no/such/file")], "cannot be read");
    }

    #[test]
    fn without_a_secret_there_are_no_keys() {
        assert!(with(&[]).expect("nothing").keys().is_none());
        assert!(with(&[("jwt-secret", "")]).expect("unset").keys().is_none());
    }

    #[test]
    fn remembered_tokens_survive_a_reload_that_changes_nothing() {
        let before = with(&[("jwt-secret", SECRET)]).expect("a good secret");
        assert!(accepts(&before));

        let after = with(&[("jwt-secret", SECRET)]).expect("the same");
        let after = after.reusing_cache(&before);

        assert!(accepts(&after));
        assert_eq!(after.cache().counts().hits, 1);
    }

    #[test]
    fn a_secret_of_the_database_keeps_its_keys_from_one_load_to_the_next() {
        let base = with(&[]).expect("no secret");
        let load = || {
            let mut options = Options::default();
            options.add("jwt-secret", "", Value::Text(SECRET.to_owned()));
            let mut config = base.clone();
            config.apply(&mut options);
            config
        };

        assert!(accepts(&load()));
        assert!(accepts(&load()));

        assert_eq!(base.cache().counts().hits, 1);
    }

    #[test]
    fn printing_the_settings_never_shows_the_secret() {
        let config = with(&[("jwt-secret", SECRET)]).expect("a good secret");

        let shown = format!("{config:?}");

        assert!(!shown.contains(SECRET), "{shown}");
        assert!(!shown.contains("114, 101, 97, 108"), "{shown}");
    }
}

//! Limits for received cookies (A30).

/// Limits for the cookies of one request. What exceeds them counts as no session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// All `Cookie` headers together. Default 64 KiB.
    pub max_cookie_bytes: usize,
    /// Chunks of one value; those with a higher index are not read. Default 24.
    pub max_chunks: usize,
    /// A value joined from its chunks. Default 96 KiB.
    pub max_value_bytes: usize,
    /// How deep the JSON of a session may be nested. Default 32.
    pub max_json_depth: usize,
    /// An access token. Default 16 KiB.
    pub max_token_bytes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            max_cookie_bytes: 64 * 1024,
            max_chunks: 24,
            max_value_bytes: 96 * 1024,
            max_json_depth: 32,
            max_token_bytes: 16 * 1024,
        }
    }
}

impl Limits {
    /// Whether the objects and arrays of a JSON text are nested no deeper than allowed.
    ///
    /// Scans the bytes once without parsing, so a deeply nested text costs only its length.
    pub(crate) fn allows_depth_of(&self, json: &str) -> bool {
        let (mut depth, mut in_string, mut escaped) = (0_usize, false, false);
        for byte in json.bytes() {
            match byte {
                _ if escaped => escaped = false,
                b'\\' if in_string => escaped = true,
                b'"' => in_string = !in_string,
                _ if in_string => {}
                b'{' | b'[' => {
                    depth += 1;
                    if depth > self.max_json_depth {
                        return false;
                    }
                }
                b'}' | b']' => depth = depth.saturating_sub(1),
                _ => {}
            }
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn depth_is_counted_outside_of_strings() {
        let limits = Limits::default();
        let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));

        assert!(limits.allows_depth_of(&nested(32)));
        assert!(!limits.allows_depth_of(&nested(33)));
        assert!(limits.allows_depth_of(&format!("[{}]", ["{}"; 99].join(","))));
        assert!(limits.allows_depth_of(&format!(r#"["\"{}"]"#, "[".repeat(99))));
        assert!(limits.allows_depth_of("]]]]"));
    }
}

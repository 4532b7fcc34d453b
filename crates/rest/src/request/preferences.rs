//! The `Prefer` header (rest contract §3.1, §3.2).

use http::HeaderMap;

/// The preferences of a request.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Preferences {
    pub(crate) resolution: Option<Resolution>,
    pub(crate) representation: Option<Representation>,
    pub(crate) count: Option<Count>,
    /// Always `None` where `db-tx-end` does not allow an override.
    pub(crate) transaction: Option<TransactionEnd>,
    pub(crate) missing: Option<Missing>,
    pub(crate) handling: Option<Handling>,
    pub(crate) timezone: Option<String>,
    pub(crate) max_affected: Option<i64>,
    /// Unknown tokens, as written.
    pub(crate) invalid: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Resolution {
    MergeDuplicates,
    IgnoreDuplicates,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Representation {
    Full,
    HeadersOnly,
    Minimal,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Count {
    Exact,
    Planned,
    Estimated,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TransactionEnd {
    Commit,
    Rollback,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Missing {
    Default,
    Null,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Handling {
    Strict,
    Lenient,
}

impl Preferences {
    /// From all `Prefer` headers. The first valid token of each kind wins.
    pub(crate) fn parse(headers: &HeaderMap, allows_tx_override: bool) -> Self {
        let mut preferences = Self::default();
        let mut has_max_affected = false;
        for header in headers.get_all("prefer") {
            let header = String::from_utf8_lossy(header.as_bytes());
            for token in header.split(',').map(str::trim) {
                if let Some(timezone) = token.strip_prefix("timezone=") {
                    let timezone = || timezone.to_owned();
                    preferences.timezone.get_or_insert_with(timezone);
                } else if let Some(rows) = token.strip_prefix("max-affected=") {
                    if !has_max_affected {
                        preferences.max_affected = whole_number(rows);
                    }
                    has_max_affected = true;
                } else if !preferences.accept_token(token) {
                    preferences.invalid.push(token.to_owned());
                }
            }
        }
        if !allows_tx_override {
            preferences.transaction = None;
        }
        preferences
    }

    pub(crate) fn is_strict(&self) -> bool {
        self.handling == Some(Handling::Strict)
    }

    /// Returns `false` if the token is unknown.
    fn accept_token(&mut self, token: &str) -> bool {
        set_if_known(&mut self.resolution, &Resolution::TOKENS, token)
            || set_if_known(&mut self.representation, &Representation::TOKENS, token)
            || set_if_known(&mut self.count, &Count::TOKENS, token)
            || set_if_known(&mut self.transaction, &TransactionEnd::TOKENS, token)
            || set_if_known(&mut self.missing, &Missing::TOKENS, token)
            || set_if_known(&mut self.handling, &Handling::TOKENS, token)
    }
}

fn set_if_known<T: Copy>(place: &mut Option<T>, tokens: &[(&str, T)], token: &str) -> bool {
    let found = tokens.iter().find(|(text, _)| *text == token);
    if let Some((_, value)) = found {
        place.get_or_insert(*value);
    }
    found.is_some()
}

/// `None` for a leading plus sign, which Rust would accept.
fn whole_number(text: &str) -> Option<i64> {
    let text = text.trim();
    if text.starts_with('+') {
        None
    } else {
        text.parse().ok()
    }
}

/// The tokens of a preference, in requests and in `Preference-Applied`.
macro_rules! tokens {
    ($preference:ty { $($value:ident => $text:literal,)+ }) => {
        impl $preference {
            const TOKENS: [(&'static str, Self); [$($text),+].len()] =
                [$(($text, Self::$value)),+];

            pub(crate) fn token(self) -> &'static str {
                match self {
                    $(Self::$value => $text,)+
                }
            }
        }
    };
}

tokens!(Resolution {
    MergeDuplicates => "resolution=merge-duplicates",
    IgnoreDuplicates => "resolution=ignore-duplicates",
});
tokens!(Representation {
    Full => "return=representation",
    HeadersOnly => "return=headers-only",
    Minimal => "return=minimal",
});
tokens!(Count {
    Exact => "count=exact",
    Planned => "count=planned",
    Estimated => "count=estimated",
});
tokens!(TransactionEnd {
    Commit => "tx=commit",
    Rollback => "tx=rollback",
});
tokens!(Missing {
    Default => "missing=default",
    Null => "missing=null",
});
tokens!(Handling {
    Strict => "handling=strict",
    Lenient => "handling=lenient",
});

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    fn parse(values: &[&'static str], allows_tx_override: bool) -> Preferences {
        let mut headers = HeaderMap::new();
        for value in values {
            headers.append("prefer", HeaderValue::from_static(value));
        }
        Preferences::parse(&headers, allows_tx_override)
    }

    #[test]
    fn one_header_may_hold_several() {
        let preferences = parse(
            &["resolution=ignore-duplicates, count=exact,timezone=America/Lima , max-affected=100"],
            true,
        );
        let expected = Preferences {
            resolution: Some(Resolution::IgnoreDuplicates),
            count: Some(Count::Exact),
            timezone: Some("America/Lima".to_owned()),
            max_affected: Some(100),
            ..Preferences::default()
        };
        assert_eq!(preferences, expected);
    }

    #[test]
    fn several_headers_count_together() {
        let values = [
            "missing=null",
            "handling=strict",
            "return=headers-only",
            "bogus",
        ];
        let expected = Preferences {
            missing: Some(Missing::Null),
            handling: Some(Handling::Strict),
            representation: Some(Representation::HeadersOnly),
            invalid: vec!["bogus".to_owned()],
            ..Preferences::default()
        };
        assert_eq!(parse(&values, true), expected);
    }

    #[test]
    fn the_first_of_each_kind_wins() {
        let both = parse(&["tx=commit, tx=rollback"], true);
        assert_eq!(both.transaction, Some(TransactionEnd::Commit));
        let both = parse(&["count=none, count=planned", "count=exact"], true);
        assert_eq!(both.count, Some(Count::Planned));
        assert_eq!(both.invalid, ["count=none"]);
        assert_eq!(
            parse(&["timezone=a, timezone=b"], true).timezone.as_deref(),
            Some("a")
        );
        assert_eq!(
            parse(&["max-affected=x, max-affected=5"], true).max_affected,
            None
        );
    }

    #[test]
    fn the_end_of_the_transaction_is_silently_not_for_all_to_choose() {
        let preferences = parse(&["tx=rollback"], false);
        assert_eq!(preferences, Preferences::default());
    }

    #[test]
    fn tokens_are_compared_as_written() {
        let preferences = parse(&["Count=exact, return = minimal, "], true);
        assert_eq!(preferences.invalid, ["Count=exact", "return = minimal", ""]);
        let preferences = parse(&["max-affected=many"], true);
        assert_eq!(preferences, Preferences::default());
    }
}

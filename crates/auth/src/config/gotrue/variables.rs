//! Environment variables, read by name; names that were never read are reported as unknown.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Display,
    str::FromStr,
    time::Duration,
};

use plinth_settings::{nearest, parse_duration};
use plinth_token::Secret;
use url::Url;

use crate::config::{cap_duration, comma_list};

const PREFIX: &str = "GOTRUE_";

/// Names and prefixes without effect in Plinth, which is no cause for a warning.
const INERT: &[&str] = &[
    "API_ENDPOINT",
    "API_REQUEST_ID_HEADER",
    "CORS_ALLOWED_HEADERS",
    "DB_ADVISOR_",
    "DB_DRIVER",
    "DB_HEALTH_CHECK_PERIOD",
    "DB_MIGRATIONS_PATH",
    "INDEX_WORKER_",
    "JWT_ADMIN_GROUP_NAME",
    "METRICS_",
    "OPERATOR_TOKEN",
    "PROFILER_",
    "RATE_LIMIT_SSO",
    "RATE_LIMIT_WEB3",
    "SAML_",
    "EXTERNAL_WEB3_",
    "EXPERIMENTAL_SCIM_",
    "SMTP_LOGGING_ENABLED",
    "TRACING_",
];

/// Variables that GoTrue uses and Plinth ignores, each with the value at which that makes no
/// difference; other values cause a warning.
const IGNORED: &[(&str, &str)] = &[
    ("JWT_VALID_METHODS", ""),
    ("LOG_LEVEL", "info"),
    ("LOG_", ""),
    ("LOGGING_", ""),
    ("MAILER_EMAIL_BACKGROUND_SENDING", "false"),
    ("MAILER_EMAIL_VALIDATION_SERVICE_", ""),
    ("MAILER_TEMPLATE_MAX_SIZE", "1000000"),
    ("MAILER_TEMPLATE_MAX_AGE", "10m"),
    ("MAILER_TEMPLATE_RETRY_INTERVAL", "10s"),
    ("MAILER_TEMPLATE_RELOADING_ENABLED", "false"),
    ("MAILER_TEMPLATE_RELOADING_MAX_IDLE", "20m"),
    ("PASSWORD_HIBP_BLOOM_ENABLED", "false"),
    ("PASSWORD_HIBP_BLOOM_ITEMS", "100000"),
    ("PASSWORD_HIBP_BLOOM_FALSE_POSITIVES", "0.0000099"),
    ("RELOADING_", "false"),
];

/// Features that are not implemented: enabling one causes a warning.
const UNSUPPORTED: &[&str] = &[
    "SAML_ENABLED",
    "EXTERNAL_WEB3_SOLANA_ENABLED",
    "EXTERNAL_WEB3_ETHEREUM_ENABLED",
    "EXPERIMENTAL_SCIM_ENABLED",
];

/// The environment, the names that were read, and the problems found.
pub(super) struct Variables {
    values: BTreeMap<String, String>,
    read_names: BTreeSet<String>,
    problems: Vec<String>,
}

impl Variables {
    /// Empty values count as unset.
    pub(super) fn new(environment: impl IntoIterator<Item = (String, String)>) -> Self {
        let environment = environment.into_iter();
        Self {
            values: environment.filter(|(_, value)| !value.is_empty()).collect(),
            read_names: BTreeSet::new(),
            problems: Vec::new(),
        }
    }

    pub(super) fn text(&mut self, name: &str) -> Option<String> {
        self.find(&[name], None).map(|(_, value)| value)
    }

    /// The first that is set: names with the prefix, then one without.
    pub(super) fn text_of(&mut self, names: &[&str], bare: Option<&str>) -> Option<String> {
        self.find(names, bare).map(|(_, value)| value)
    }

    pub(super) fn text_or(&mut self, name: &str, default: &str) -> String {
        self.text(name).unwrap_or_else(|| default.to_owned())
    }

    pub(super) fn secret(&mut self, name: &str) -> Option<Secret> {
        self.text(name).map(Secret::from)
    }

    /// A boolean as Go's `strconv.ParseBool` reads it.
    pub(super) fn flag(&mut self, name: &str, default: bool) -> bool {
        self.read(name, "true or false", |text| match text {
            "1" | "t" | "T" | "true" | "TRUE" | "True" => Some(true),
            "0" | "f" | "F" | "false" | "FALSE" | "False" => Some(false),
            _ => None,
        })
        .unwrap_or(default)
    }

    pub(super) fn number(&mut self, name: &str, default: u32) -> u32 {
        let number = self.read(name, "a whole number", parse_whole_number);
        number.unwrap_or(default)
    }

    pub(super) fn number_up_to(&mut self, name: &str, default: u8, max: u8) -> u8 {
        let expected = format!("a whole number from 0 to {max}");
        let number = self.read(name, &expected, |text| {
            text.parse().ok().filter(|number| *number <= max)
        });
        number.unwrap_or(default)
    }

    pub(super) fn decimal(&mut self, name: &str, default: f64) -> f64 {
        let number = self.read(name, "a number that is not negative", |text| {
            let number: f64 = text.parse().ok()?;
            (number.is_finite() && number >= 0.0).then_some(number)
        });
        number.unwrap_or(default)
    }

    /// A duration in the format of Go.
    pub(super) fn duration(&mut self, name: &str, default: Duration) -> Duration {
        self.optional_duration(name).unwrap_or(default)
    }

    /// Zero means the default.
    pub(super) fn duration_or_if_zero(&mut self, name: &str, default: Duration) -> Duration {
        let given = self.optional_duration(name);
        given.filter(|span| !span.is_zero()).unwrap_or(default)
    }

    pub(super) fn positive_duration(&mut self, name: &str) -> Option<Duration> {
        self.read(name, "a duration above zero, as in 1h30m", |text| {
            parse_duration(text).filter(|span| !span.is_zero())
        })
        .map(cap_duration)
    }

    pub(super) fn optional_duration(&mut self, name: &str) -> Option<Duration> {
        self.read(name, "a duration, as in 1h30m", parse_duration)
            .map(cap_duration)
    }

    /// A number of seconds.
    pub(super) fn seconds(&mut self, name: &str, default: Duration) -> Duration {
        let seconds = self.decimal(name, default.as_secs_f64());
        cap_duration(Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX))
    }

    pub(super) fn list(&mut self, name: &str) -> Vec<String> {
        self.text(name)
            .map_or_else(Vec::new, |text| comma_list(&text))
    }

    pub(super) fn list_or(&mut self, name: &str, default: &[&str]) -> Vec<String> {
        let list = self.list(name);
        if list.is_empty() {
            default.iter().map(|item| (*item).to_owned()).collect()
        } else {
            list
        }
    }

    pub(super) fn urls(&mut self, name: &str) -> Vec<Url> {
        let items = self.list(name);
        let urls = items.iter().map(|item| Url::parse(item)).collect();
        match urls {
            Ok(urls) => urls,
            Err(_) => {
                self.add_problem_with(name, "must be URLs, with commas between them");
                Vec::new()
            }
        }
    }

    /// Pairs such as `a=1,b=2`.
    pub(super) fn pairs(&mut self, name: &str, between: char) -> Vec<(String, String)> {
        let mut pairs = Vec::new();
        for item in self.list(name) {
            match item.split_once(between) {
                Some((key, value)) => pairs.push((key.trim().to_owned(), value.trim().to_owned())),
                None => {
                    self.add_problem_with(name, format!("{item:?} must be <name>{between}<value>"));
                }
            }
        }
        pairs
    }

    pub(super) fn required_url(&mut self, name: &str) -> Option<Url> {
        self.required_url_of(&[name], None)
    }

    pub(super) fn required_url_of(&mut self, names: &[&str], bare: Option<&str>) -> Option<Url> {
        let Some((name, text)) = self.find(names, bare) else {
            let name = bare.map_or_else(|| format!("{PREFIX}{}", names[0]), str::to_owned);
            self.problems.push(format!("{name} is not set"));
            return None;
        };
        let url = Url::parse(&text).ok().filter(Url::has_host);
        if url.is_none() {
            self.problems.push(format!(
                "{name}: {text:?} is no URL such as https://example.com"
            ));
        }
        url
    }

    /// A value that `parse` accepts; others are recorded as problems.
    pub(super) fn read<T>(
        &mut self,
        name: &str,
        expected: &str,
        parse: impl FnOnce(&str) -> Option<T>,
    ) -> Option<T> {
        let text = self.text(name)?;
        let value = parse(text.trim());
        if value.is_none() {
            self.add_problem_with(name, format!("{text:?} is not {expected}"));
        }
        value
    }

    /// Records a problem with a variable.
    pub(super) fn add_problem_with(&mut self, name: &str, text: impl Display) {
        self.problems.push(format!("{PREFIX}{name}: {text}"));
    }

    /// Records a problem that does not belong to one variable.
    pub(super) fn add_problem(&mut self, text: impl Into<String>) {
        self.problems.push(text.into());
    }

    fn find(&mut self, names: &[&str], bare: Option<&str>) -> Option<(String, String)> {
        let prefixed = names.iter().map(|name| format!("{PREFIX}{name}"));
        let all: Vec<String> = prefixed.chain(bare.map(str::to_owned)).collect();
        self.read_names.extend(all.iter().cloned());
        all.into_iter().find_map(|name| {
            let value = self.values.get(&name)?.clone();
            Some((name, value))
        })
    }

    /// All problems, or else the warnings.
    pub(super) fn finish(self) -> Result<Vec<String>, Vec<String>> {
        if !self.problems.is_empty() {
            return Err(self.problems);
        }
        let mut warnings = Vec::new();
        for (name, value) in &self.values {
            let Some(bare) = name.strip_prefix(PREFIX) else {
                continue;
            };
            if UNSUPPORTED.contains(&bare) && value.parse() != Ok(false) {
                warnings.push(format!("{name}: not supported yet"));
            } else if let Some(harmless) = ignored_unless(bare) {
                if value != harmless {
                    warnings.push(format!("{name}: has no effect in Plinth"));
                }
            } else if !self.read_names.contains(name) && !is_inert(bare) {
                warnings.push(self.unknown_warning(name));
            }
        }
        Ok(warnings)
    }

    fn unknown_warning(&self, name: &str) -> String {
        let known = self.read_names.iter().map(String::as_str);
        match nearest(name, known) {
            Some(meant) => format!("{name} is unknown and ignored; did you mean {meant}?"),
            None => format!("{name} is unknown and ignored"),
        }
    }
}

/// Negative numbers and fractions are rejected.
fn parse_whole_number(text: &str) -> Option<u32> {
    // GoTrue reads some of them as decimals.
    let text = text.strip_suffix(".0").unwrap_or(text);
    u32::from_str(text).ok()
}

fn is_inert(bare: &str) -> bool {
    INERT.iter().any(|name| is_named(bare, name))
}

/// The value at which an ignored variable makes no difference.
fn ignored_unless(bare: &str) -> Option<&'static str> {
    let mut ignored = IGNORED.iter();
    let (_, harmless) = ignored.find(|(name, _)| is_named(bare, name))?;
    Some(*harmless)
}

/// By the whole name, or by a prefix that ends with `_`.
fn is_named(bare: &str, name: &str) -> bool {
    if name.ends_with('_') {
        bare.starts_with(name)
    } else {
        bare == name
    }
}

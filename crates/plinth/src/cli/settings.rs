//! `plinth settings`, and the durations that options take.

use std::time::Duration;

use plinth_settings::Loader;
use serde_json::json;

use super::{Global, args::SettingsArgs, output::print_list};
use crate::{
    failure::{Failure, Outcome},
    folder::Folder,
};

const COLUMNS: &[(&str, &str)] = &[
    ("NAME", "name"),
    ("VALUE", "value"),
    ("SOURCE", "source"),
    ("MEANING", "meaning"),
];

pub(super) fn run(global: &Global, args: SettingsArgs) -> Outcome {
    let folder = Folder::find(global.workdir.as_deref(), global.data_dir.as_deref())?;
    let loaded = Loader::new()
        .folder(&folder.root)
        .process_environment()
        .load()?;
    for warning in &loaded.warnings {
        eprintln!("warning: {warning}");
    }
    let filter = args.filter.unwrap_or_default();
    let rows = plinth_settings::describe(&loaded.settings);
    let rows: Vec<_> = rows
        .into_iter()
        .filter(|row| row.name.contains(&filter))
        .collect();
    print_list(global.output, &json!(rows), COLUMNS)
}

/// Such as `90s`, `15m`, `24h` or `1h30m`.
pub(crate) fn parse_duration(text: &str) -> Outcome<Duration> {
    let invalid = || Failure::usage(format!("{text:?} is not a duration, as in 90s, 15m or 24h"));
    let mut total = Duration::ZERO;
    let mut rest = text.trim();
    if rest.is_empty() {
        return Err(invalid());
    }
    while !rest.is_empty() {
        let digits = rest
            .find(|c: char| !c.is_ascii_digit())
            .ok_or_else(invalid)?;
        let number: u64 = rest[..digits].parse().map_err(|_| invalid())?;
        let unit_end = rest[digits..]
            .find(|c: char| c.is_ascii_digit())
            .map_or(rest.len(), |at| digits + at);
        let seconds = match &rest[digits..unit_end] {
            "s" => 1,
            "m" => 60,
            "h" => 3600,
            "d" => 86_400,
            _ => return Err(invalid()),
        };
        let part = number.checked_mul(seconds).ok_or_else(invalid)?;
        total = total
            .checked_add(Duration::from_secs(part))
            .ok_or_else(invalid)?;
        rest = &rest[unit_end..];
    }
    Ok(total)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_parsed() {
        assert_eq!(parse_duration("90s").ok(), Some(Duration::from_secs(90)));
        assert_eq!(
            parse_duration("1h30m").ok(),
            Some(Duration::from_secs(5400))
        );
        assert_eq!(
            parse_duration("7d").ok(),
            Some(Duration::from_secs(604_800))
        );
        for bad in ["", "h", "10", "5x", "99999999999999999999h", "-1h"] {
            assert!(parse_duration(bad).is_err(), "{bad}");
        }
    }
}

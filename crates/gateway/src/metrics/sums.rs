//! Sums over all projects (realtime contract §12): what the realtime service counts by project,
//! `realtime_x{project="…"}`, is told once more without that label, as `realtime_global_x`.
//!
//! They are added up from the page itself when somebody asks for it, so that each number is counted
//! once and nothing that happens a million times per second happens twice.

use std::{collections::HashMap, fmt::Write as _};

const OWN: &str = "realtime_";
const GLOBAL: &str = "realtime_global_";
const LABEL: &str = "project=\"";

/// Databases may be on one server: being behind there adds up to nothing.
const NOT_SUMMED: &str = "realtime_replication_lag_";

/// Adds the sums to a page in Prometheus' format.
pub(super) fn add_sums(page: &mut String) {
    let mut sums = String::new();
    let mut family: Option<Family> = None;
    let mut help = "";
    for line in page.lines() {
        if let Some(text) = line.strip_prefix("# HELP ") {
            help = text;
        } else if let Some(text) = line.strip_prefix("# TYPE ") {
            finish(family.take(), &mut sums);
            family = Family::of(text, help);
        } else if let Some(family) = &mut family {
            family.add(line);
        }
    }
    finish(family, &mut sums);
    page.push_str(&sums);
}

fn finish(family: Option<Family>, sums: &mut String) {
    if let Some(family) = family {
        family.write(sums);
    }
}

/// All that is told under one name.
struct Family {
    head: String,
    /// By name and other labels, in the order of the page: buckets stand in theirs.
    sums: Vec<(String, f64)>,
    places: HashMap<String, usize>,
}

impl Family {
    /// Quantiles cannot be added up.
    fn of(name_and_kind: &str, help: &str) -> Option<Self> {
        let (name, kind) = name_and_kind.split_once(' ')?;
        let own = name.strip_prefix(OWN)?;
        if kind == "summary" || name.starts_with(NOT_SUMMED) {
            return None;
        }
        let mut head = String::new();
        if let Some((described, text)) = help.split_once(' ')
            && described == name
        {
            // Writing to a string cannot fail.
            _ = writeln!(head, "# HELP {GLOBAL}{own} {text} All projects.");
        }
        _ = writeln!(head, "# TYPE {GLOBAL}{own} {kind}");
        Some(Self {
            head,
            sums: Vec::new(),
            places: HashMap::new(),
        })
    }

    fn add(&mut self, line: &str) {
        let Some((sample, value)) = read(line) else {
            return;
        };
        match self.places.get(&sample) {
            Some(place) => self.sums[*place].1 += value,
            None => {
                self.places.insert(sample.clone(), self.sums.len());
                self.sums.push((sample, value));
            }
        }
    }

    fn write(&self, page: &mut String) {
        if self.sums.is_empty() {
            return;
        }
        page.push_str(&self.head);
        for (sample, value) in &self.sums {
            _ = writeln!(page, "{sample} {value}");
        }
        page.push('\n');
    }
}

/// A line of a project: what it is called in the sum, and its value.
fn read(line: &str) -> Option<(String, f64)> {
    let (sample, value) = line.rsplit_once(' ')?;
    let (name, labels) = sample.strip_prefix(OWN)?.split_once('{')?;
    let labels = without_project(labels.strip_suffix('}')?)?;
    let sample = match labels.is_empty() {
        true => format!("{GLOBAL}{name}"),
        false => format!("{GLOBAL}{name}{{{labels}}}"),
    };
    Some((sample, value.parse().ok()?))
}

/// Refs need no escaping, so the label ends with the next quote.
fn without_project(labels: &str) -> Option<String> {
    let start = match labels.starts_with(LABEL) {
        true => 0,
        false => labels.find(&format!(",{LABEL}"))? + 1,
    };
    let (before, own) = labels.split_at(start);
    let (_, after) = own[LABEL.len()..].split_once('"')?;
    let (before, after) = (before.trim_end_matches(','), after.trim_start_matches(','));
    let comma = if before.is_empty() || after.is_empty() {
        ""
    } else {
        ","
    };
    Some(format!("{before}{comma}{after}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sums(page: &str) -> String {
        let mut whole = page.to_owned();
        add_sums(&mut whole);
        let sums = whole.strip_prefix(page).expect("the page as it was");
        sums.to_owned()
    }

    #[test]
    fn projects_are_added_up() {
        let page = "# HELP realtime_channel_joins Joins.\n\
             # TYPE realtime_channel_joins counter\n\
             realtime_channel_joins{project=\"a\"} 2\n\
             realtime_channel_joins{project=\"b\"} 3\n\n";
        let expected = "# HELP realtime_global_channel_joins Joins. All projects.\n\
             # TYPE realtime_global_channel_joins counter\n\
             realtime_global_channel_joins 5\n\n";
        assert_eq!(sums(page), expected);
    }

    #[test]
    fn other_labels_stay_wherever_the_project_stands() {
        let page = "# TYPE realtime_channel_error counter\n\
             realtime_channel_error{project=\"a\",code=\"X\"} 1\n\
             realtime_channel_error{code=\"X\",project=\"b\"} 1\n\
             realtime_channel_error{code=\"Y\",project=\"b\",more=\"z\"} 1\n";
        let expected = "# TYPE realtime_global_channel_error counter\n\
             realtime_global_channel_error{code=\"X\"} 2\n\
             realtime_global_channel_error{code=\"Y\",more=\"z\"} 1\n\n";
        assert_eq!(sums(page), expected);
    }

    #[test]
    fn buckets_are_added_up_in_their_order() {
        let project = |name: &str, low: u64, high: u64, sum: f64| {
            format!(
                "realtime_tenants_replay_bucket{{project=\"{name}\",le=\"5\"}} {low}\n\
                 realtime_tenants_replay_bucket{{project=\"{name}\",le=\"10\"}} {high}\n\
                 realtime_tenants_replay_bucket{{project=\"{name}\",le=\"+Inf\"}} {high}\n\
                 realtime_tenants_replay_sum{{project=\"{name}\"}} {sum}\n\
                 realtime_tenants_replay_count{{project=\"{name}\"}} {high}\n"
            )
        };
        let mut page = "# TYPE realtime_tenants_replay histogram\n".to_owned();
        page.push_str(&project("a", 1, 2, 7.5));
        page.push_str(&project("b", 0, 4, 30.0));
        let expected = "# TYPE realtime_global_tenants_replay histogram\n\
             realtime_global_tenants_replay_bucket{le=\"5\"} 1\n\
             realtime_global_tenants_replay_bucket{le=\"10\"} 6\n\
             realtime_global_tenants_replay_bucket{le=\"+Inf\"} 6\n\
             realtime_global_tenants_replay_sum 37.5\n\
             realtime_global_tenants_replay_count 6\n\n";
        assert_eq!(sums(&page), expected);
    }

    #[test]
    fn what_is_no_sum_is_left_out() {
        let page = "# TYPE plinth_http_requests_total counter\n\
             plinth_http_requests_total{project=\"a\"} 1\n\
             # TYPE realtime_replication_lag_seconds gauge\n\
             realtime_replication_lag_seconds{project=\"a\"} 1\n\
             # TYPE realtime_x summary\n\
             realtime_x{project=\"a\",quantile=\"0.5\"} 1\n\
             # TYPE realtime_y gauge\n\
             realtime_y 1\n";
        assert_eq!(sums(page), "");
    }
}

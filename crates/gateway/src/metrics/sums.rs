//! Sums over all projects (realtime contract §12): what the realtime service counts by project,
//! `realtime_x{project="…"}`, is also rendered without that label, as `realtime_global_x`.
//!
//! They are summed up from the rendered text at each scrape, so that events are counted only once.

use std::{collections::HashMap, fmt::Write as _};

const OWN: &str = "realtime_";
const GLOBAL: &str = "realtime_global_";
const LABEL: &str = "project=\"";

/// Replication lags of several databases have no meaningful sum.
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
            family = Family::parse(text, help);
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

/// All samples of one metric.
struct Family {
    head: String,
    /// By name and other labels, in the order of the page, which keeps buckets sorted.
    sums: Vec<(String, f64)>,
    indexes: HashMap<String, usize>,
}

impl Family {
    /// `None` if it is not summed; quantiles cannot be.
    fn parse(name_and_kind: &str, help: &str) -> Option<Self> {
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
            indexes: HashMap::new(),
        })
    }

    fn add(&mut self, line: &str) {
        let Some((sample, value)) = parse_sample(line) else {
            return;
        };
        match self.indexes.get(&sample) {
            Some(index) => self.sums[*index].1 += value,
            None => {
                self.indexes.insert(sample.clone(), self.sums.len());
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

/// A project's sample: its name and labels in the sum, and its value.
fn parse_sample(line: &str) -> Option<(String, f64)> {
    let (sample, value) = line.rsplit_once(' ')?;
    let (name, labels) = sample.strip_prefix(OWN)?.split_once('{')?;
    let labels = without_project(labels.strip_suffix('}')?)?;
    let sample = if labels.is_empty() {
        format!("{GLOBAL}{name}")
    } else {
        format!("{GLOBAL}{name}{{{labels}}}")
    };
    Some((sample, value.parse().ok()?))
}

/// Refs need no escaping, so the label ends with the next quote.
fn without_project(labels: &str) -> Option<String> {
    let start = if labels.starts_with(LABEL) {
        0
    } else {
        labels.find(&format!(",{LABEL}"))? + 1
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

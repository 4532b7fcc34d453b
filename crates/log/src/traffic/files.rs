//! The files of a project's traffic: a day of minutes, or a day of hours.

use std::{
    collections::BTreeMap,
    fs::{self, OpenOptions},
    io::{self, Write as _},
    path::{Path, PathBuf},
};

use super::{DAY, HOUR, Stats, line::Line};
use crate::{
    Timestamp,
    segment::{Layout, names_in},
};

/// Days whose minutes are kept, today included.
const MINUTE_DAYS: i64 = 2;
/// Days whose hours are kept.
const HOUR_DAYS: i64 = 90;
/// Minutes of one day beyond this are not written.
const MAX_FILE_BYTES: u64 = 32 << 20;

const MINUTES: &str = ".minutes.ndjson";
const HOURS: &str = ".hours.ndjson";

pub(super) fn append_minutes(
    layout: &Layout,
    project: &str,
    day: i64,
    page: &[u8],
) -> io::Result<()> {
    let path = layout.create_traffic_dir(project)?.join(minutes_name(day));
    let mut file = OpenOptions::new().append(true).create(true).open(path)?;
    if file.metadata()?.len() > MAX_FILE_BYTES {
        return Ok(());
    }
    file.write_all(page)
}

fn minutes_name(day: i64) -> String {
    format!("{day}{MINUTES}")
}

/// The lines of some days, both bounds included.
pub(super) fn read(
    layout: &Layout,
    project: &str,
    days: std::ops::RangeInclusive<i64>,
) -> io::Result<Vec<Line>> {
    let dir = layout.traffic_dir(project);
    let mut lines = Vec::new();
    for name in names_in(&dir)? {
        let Some((day, kind)) = parse_name(&name) else {
            continue;
        };
        // Minutes of a day that has hours were about to be removed.
        let is_merged = kind == MINUTES && dir.join(format!("{day}{HOURS}")).exists();
        if days.contains(&day) && !is_merged {
            lines.extend(Line::read_all(&read_if_present(&dir.join(&name))?));
        }
    }
    Ok(lines)
}

fn parse_name(name: &str) -> Option<(i64, &'static str)> {
    [MINUTES, HOURS].into_iter().find_map(|kind| {
        let day = name.strip_suffix(kind)?.parse().ok()?;
        Some((day, kind))
    })
}

fn read_if_present(path: &Path) -> io::Result<Vec<u8>> {
    match fs::read(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        content => content,
    }
}

/// Merges minutes that are old enough, and removes what is too old, in all projects.
pub(crate) fn maintain(layout: &Layout, now: Timestamp) -> io::Result<()> {
    let today = now.as_micros().div_euclid(1_000_000 * DAY);
    let mut result = Ok(());
    for project in layout.projects()? {
        let dir = layout.traffic_dir(&project);
        for name in names_in(&dir)? {
            let Some((day, kind)) = parse_name(&name) else {
                continue;
            };
            let path = dir.join(&name);
            let done = if day <= today - HOUR_DAYS {
                fs::remove_file(&path)
            } else if kind == MINUTES && day <= today - MINUTE_DAYS {
                merge(&path, &dir.join(format!("{day}{HOURS}")))
            } else {
                Ok(())
            };
            result = result.and(done);
        }
        // Of a project that is gone; fails while there is anything in them.
        if fs::remove_dir(&dir).is_ok()
            && let Some(project) = dir.parent()
        {
            _ = fs::remove_dir(project);
        }
    }
    result
}

/// Writes the hours under another name first, so that a crash leaves either file whole.
fn merge(minutes: &Path, hours: &Path) -> io::Result<()> {
    if !hours.exists() {
        let mut sums: BTreeMap<(i64, String, String), Stats> = BTreeMap::new();
        for line in Line::read_all(&read_if_present(minutes)?) {
            let start = line.start - line.start.rem_euclid(HOUR);
            let stats = line.stats();
            let sum = sums.entry((start, line.service, line.route)).or_default();
            sum.merge(&stats);
        }
        let mut page = Vec::new();
        for ((start, service, route), stats) in &sums {
            Line::new(*start, service, route, stats).write(&mut page);
        }
        let unfinished: PathBuf = hours.with_extension("part");
        let mut file = fs::File::create(&unfinished)?;
        file.write_all(&page)?;
        file.sync_all()?;
        fs::rename(&unfinished, hours)?;
    }
    fs::remove_file(minutes)
}

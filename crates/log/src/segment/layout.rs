//! `<dir>/<ref>/<source>/<start>.ndjson`: names, listing, permissions.
//!
//! Paths are built from a checked project ref, a [`Source`] and a start time only; no other text
//! reaches the file system. Files that are not named like ours are ignored.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use crate::{Scope, Source, Timestamp, is_valid_project};

const EXTENSION: &str = ".ndjson";
const STAMP_LEN: usize = 22;

/// One source of one project: a folder of segments.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Stream {
    pub(crate) project: String,
    pub(crate) source: Source,
}

/// A segment file as the folder listing shows it.
#[derive(Debug, Clone)]
pub(crate) struct Segment {
    pub(crate) path: PathBuf,
    /// The file's name without extension; sorts by time.
    pub(crate) stamp: String,
    pub(crate) bytes: u64,
}

impl Segment {
    /// When the segment was started, as its name says.
    pub(crate) fn start(&self) -> Option<Timestamp> {
        parse_stamp(&self.stamp)
    }
}

/// The folder of the store.
#[derive(Debug, Clone)]
pub(crate) struct Layout {
    root: PathBuf,
}

impl Layout {
    pub(crate) fn new(root: PathBuf) -> Self {
        Self { root }
    }

    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// The folder of a stream. The project must have been checked before.
    pub(crate) fn stream_dir(&self, stream: &Stream) -> PathBuf {
        debug_assert!(is_valid_project(&stream.project));
        self.root.join(&stream.project).join(stream.source.as_str())
    }

    /// The folder of a project's traffic. The project must have been checked before.
    pub(crate) fn traffic_dir(&self, project: &str) -> PathBuf {
        debug_assert!(is_valid_project(project));
        self.root.join(project).join("traffic")
    }

    /// The projects that have a folder.
    pub(crate) fn projects(&self) -> io::Result<Vec<String>> {
        let names = names_in(&self.root)?.into_iter();
        Ok(names.filter(|name| is_valid_project(name)).collect())
    }

    /// Creates the folder of a project's traffic.
    pub(crate) fn create_traffic_dir(&self, project: &str) -> io::Result<PathBuf> {
        create_private(self.traffic_dir(project))
    }

    /// Creates the folder of a stream, readable by its owner only.
    pub(crate) fn create_stream_dir(&self, stream: &Stream) -> io::Result<PathBuf> {
        create_private(self.stream_dir(stream))
    }

    /// The streams on disk within `scope`, sorted.
    pub(crate) fn streams(&self, scope: &Scope) -> io::Result<Vec<Stream>> {
        let projects = match scope {
            Scope::Projects(projects) => projects.clone(),
            Scope::All => names_in(&self.root)?,
        };
        let mut streams = Vec::new();
        for project in projects
            .into_iter()
            .filter(|project| is_valid_project(project))
        {
            for name in names_in(&self.root.join(&project))? {
                let source = Source::ALL
                    .into_iter()
                    .find(|source| source.as_str() == name);
                streams.extend(source.map(|source| Stream {
                    project: project.clone(),
                    source,
                }));
            }
        }
        streams.sort();
        streams.dedup();
        Ok(streams)
    }

    /// The segments of a stream, sorted by name.
    pub(crate) fn segments(&self, stream: &Stream) -> io::Result<Vec<Segment>> {
        let dir = self.stream_dir(stream);
        let mut segments = Vec::new();
        for name in names_in(&dir)? {
            let Some(stamp) = name.strip_suffix(EXTENSION) else {
                continue;
            };
            if parse_stamp(stamp).is_none() {
                continue;
            }
            let path = dir.join(&name);
            // Retention may have deleted it since it was listed.
            if let Some(metadata) = absent_as_none(fs::metadata(&path))? {
                segments.push(Segment {
                    path,
                    stamp: stamp.to_owned(),
                    bytes: metadata.len(),
                });
            }
        }
        segments.sort_by(|a, b| a.stamp.cmp(&b.stamp));
        Ok(segments)
    }

    /// Removes the folders of a stream that has nothing left.
    pub(crate) fn remove_if_empty(&self, stream: &Stream) {
        let dir = self.stream_dir(stream);
        // Removing a non-empty folder fails, as intended.
        if fs::remove_dir(&dir).is_ok() {
            let _ = fs::remove_dir(self.root.join(&stream.project));
        }
    }
}

/// The path of a segment that starts at `start`.
pub(super) fn segment_path(dir: &Path, start: Timestamp) -> PathBuf {
    dir.join(format!("{}{EXTENSION}", stamp(start)))
}

/// `20260801T100000123456Z`.
fn stamp(start: Timestamp) -> String {
    start.to_string().replace(['-', ':', '.'], "")
}

fn parse_stamp(stamp: &str) -> Option<Timestamp> {
    if stamp.len() != STAMP_LEN || !stamp.is_ascii() {
        return None;
    }
    let (date, time) = stamp.strip_suffix('Z')?.split_at_checked(8)?;
    let time = time.strip_prefix('T')?;
    if !date
        .bytes()
        .chain(time.bytes())
        .all(|byte| byte.is_ascii_digit())
    {
        return None;
    }
    let text = format!(
        "{}-{}-{}T{}:{}:{}.{}Z",
        &date[..4],
        &date[4..6],
        &date[6..],
        &time[..2],
        &time[2..4],
        &time[4..6],
        &time[6..]
    );
    text.parse().ok()
}

fn create_private(dir: PathBuf) -> io::Result<PathBuf> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(&dir)?;
    Ok(dir)
}

/// The names in a folder; none if it does not exist.
pub(crate) fn names_in(dir: &Path) -> io::Result<Vec<String>> {
    let Some(entries) = absent_as_none(fs::read_dir(dir))? else {
        return Ok(Vec::new());
    };
    let mut names = Vec::new();
    for entry in entries {
        names.extend(entry?.file_name().into_string());
    }
    Ok(names)
}

/// A missing file, or a file in place of a folder, means no logs, not an error.
fn absent_as_none<T>(result: io::Result<T>) -> io::Result<Option<T>> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(error)
            if matches!(
                error.kind(),
                io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
            ) =>
        {
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stamps_sort_as_times_and_read_back() {
        let earlier = Timestamp::from_micros(1_785_578_400_000_009);
        let later = Timestamp::from_micros(1_785_578_400_000_010);

        assert_eq!(stamp(earlier), "20260801T100000000009Z");
        assert!(stamp(earlier) < stamp(later));
        assert_eq!(parse_stamp(&stamp(later)), Some(later));
    }

    #[test]
    fn other_names_are_no_stamps() {
        for name in [
            "",
            "x",
            "20260801T100000000009",
            "20261301T100000000009Z",
            "2026-801T100000000009Z",
        ] {
            assert_eq!(parse_stamp(name), None, "{name}");
        }
    }

    #[test]
    fn foreign_files_and_folders_are_ignored() {
        let dir = tempfile::tempdir().unwrap();
        let layout = Layout::new(dir.path().to_owned());
        let stream = Stream {
            project: "shop".to_owned(),
            source: Source::Api,
        };
        let folder = layout.create_stream_dir(&stream).unwrap();
        fs::write(folder.join("notes.txt"), "x").unwrap();
        fs::write(folder.join("notes.ndjson"), "x").unwrap();
        fs::write(segment_path(&folder, Timestamp::from_micros(0)), "xyz").unwrap();
        fs::create_dir_all(dir.path().join("shop/kong")).unwrap();
        fs::create_dir_all(dir.path().join("Not A Ref/api")).unwrap();
        fs::write(dir.path().join("file"), "x").unwrap();

        let segments = layout.segments(&stream).unwrap();

        assert_eq!(layout.streams(&Scope::All).unwrap(), [stream]);
        assert_eq!(segments.len(), 1);
        assert_eq!(segments[0].bytes, 3);
        assert_eq!(segments[0].start(), Some(Timestamp::from_micros(0)));
    }

    #[test]
    fn a_scope_cannot_leave_the_folder() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir_all(dir.path().join("outside/api")).unwrap();
        fs::create_dir_all(dir.path().join("logs")).unwrap();
        let layout = Layout::new(dir.path().join("logs"));

        let streams = layout
            .streams(&Scope::Projects(vec!["../outside".to_owned()]))
            .unwrap();

        assert_eq!(streams, []);
    }
}

//! The source files of one version, validated before any of them is stored.

use std::collections::BTreeMap;

use aws_lc_rs::digest::{Context, SHA256};
use bytes::Bytes;
use plinth_project::FunctionSource;

use super::path;
use crate::PlatformError;

/// All files of a version together.
pub const MAX_BUNDLE_BYTES: usize = 20 * 1024 * 1024;
const MAX_FILES: usize = 2000;
const MAX_PATTERNS: usize = 100;

/// One file of a version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceFile {
    /// Relative to the folder that holds all sources.
    pub path: String,
    /// As it was sent.
    pub content: Bytes,
}

/// The validated source files of a version and its entry point.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bundle {
    pub(super) source: FunctionSource,
    /// In the order of their paths.
    pub(super) files: Vec<SourceFile>,
}

impl Bundle {
    /// Validates paths, sizes and counts.
    pub fn new(source: FunctionSource, files: Vec<SourceFile>) -> Result<Self, PlatformError> {
        if files.len() > MAX_FILES {
            return Err(PlatformError::TooLarge(format!(
                "A function has at most {MAX_FILES} files"
            )));
        }
        let size: usize = files.iter().map(|file| file.content.len()).sum();
        if size > MAX_BUNDLE_BYTES {
            return Err(too_large());
        }
        let files = by_path(files)?;
        let source = FunctionSource {
            entrypoint: path::normalized(&source.entrypoint)?,
            import_map: source
                .import_map
                .map(|map| path::normalized(&map))
                .transpose()?,
            static_patterns: checked_patterns(&source.static_patterns)?,
        };
        for named in [Some(&source.entrypoint), source.import_map.as_ref()] {
            if let Some(named) = named
                && !files.contains_key(named)
            {
                return Err(bundle_error(&format!("{named} is not among the files")));
            }
        }
        let files = files.into_iter();
        Ok(Self {
            source,
            files: files
                .map(|(path, content)| SourceFile { path, content })
                .collect(),
        })
    }

    /// SHA-256 over paths and contents.
    pub(super) fn digest(&self) -> String {
        let mut context = Context::new(&SHA256);
        for file in &self.files {
            for part in [file.path.as_bytes(), &file.content] {
                context.update(&(part.len() as u64).to_be_bytes());
                context.update(part);
            }
        }
        let digest = context.finish();
        digest.as_ref().iter().map(|b| format!("{b:02x}")).collect()
    }
}

/// The error for sources beyond [`MAX_BUNDLE_BYTES`].
pub(crate) fn too_large() -> PlatformError {
    PlatformError::TooLarge(format!(
        "The files of a function are larger than {} MB together",
        MAX_BUNDLE_BYTES >> 20
    ))
}

/// The error for sources that cannot be run.
pub(super) fn bundle_error(reason: &str) -> PlatformError {
    PlatformError::Invalid(format!("Failed to bundle: {reason}"))
}

fn by_path(files: Vec<SourceFile>) -> Result<BTreeMap<String, Bytes>, PlatformError> {
    let mut sorted = BTreeMap::new();
    for SourceFile { path, content } in files {
        let path = path::normalized(&path)?;
        if sorted.insert(path.clone(), content).is_some() {
            return Err(PlatformError::Invalid(format!("{path} was sent twice")));
        }
    }
    for path in sorted.keys() {
        let folders = path.match_indices('/').map(|(at, _)| &path[..at]);
        if let Some(both) = folders
            .into_iter()
            .find(|folder| sorted.contains_key(*folder))
        {
            return Err(PlatformError::Invalid(format!(
                "{both} is both a file and a folder"
            )));
        }
    }
    Ok(sorted)
}

fn checked_patterns(patterns: &[String]) -> Result<Vec<String>, PlatformError> {
    if patterns.len() > MAX_PATTERNS {
        return Err(PlatformError::Invalid(format!(
            "A function has at most {MAX_PATTERNS} patterns of static files"
        )));
    }
    let patterns = patterns.iter();
    patterns.map(|pattern| path::normalized(pattern)).collect()
}

#[cfg(test)]
mod tests {
    use axum::http::StatusCode;

    use super::*;

    fn file(path: &str, content: &'static str) -> SourceFile {
        SourceFile {
            path: path.to_owned(),
            content: Bytes::from_static(content.as_bytes()),
        }
    }

    fn source(entrypoint: &str) -> FunctionSource {
        FunctionSource {
            entrypoint: entrypoint.to_owned(),
            import_map: None,
            static_patterns: Vec::new(),
        }
    }

    fn rejection(source: FunctionSource, files: Vec<SourceFile>) -> (StatusCode, String) {
        let error = Bundle::new(source, files).expect_err("rejected");
        (error.status_and_code().0, error.to_string())
    }

    #[test]
    fn the_order_of_files_makes_no_difference() {
        let files = vec![file("b.ts", "2"), file("./a.ts", "1")];
        let reordered = vec![file("a.ts", "1"), file("b.ts", "2")];
        let bundle = Bundle::new(source("a.ts"), files).expect("a bundle");
        let same = Bundle::new(source("./a.ts"), reordered).expect("a bundle");

        assert_eq!(bundle, same);
        assert_eq!(bundle.digest(), same.digest());
        let other = Bundle::new(source("a.ts"), vec![file("a.ts", "1b.ts2")]);
        assert_ne!(bundle.digest(), other.expect("a bundle").digest());
    }

    #[test]
    fn what_is_named_must_be_there() {
        let (status, message) = rejection(source("b.ts"), vec![file("a.ts", "")]);
        assert_eq!(status, 400);
        assert_eq!(message, "Failed to bundle: b.ts is not among the files");

        let with_map = FunctionSource {
            import_map: Some("deno.json".to_owned()),
            ..source("a.ts")
        };
        let (_, message) = rejection(with_map, vec![file("a.ts", "")]);
        assert_eq!(
            message,
            "Failed to bundle: deno.json is not among the files"
        );
    }

    #[test]
    fn conflicting_paths_are_rejected() {
        let twice = vec![file("a.ts", ""), file("./a.ts", "")];
        assert_eq!(rejection(source("a.ts"), twice).1, "a.ts was sent twice");
        let nested = vec![file("a", ""), file("a-b", ""), file("a/b/c.ts", "")];
        let (status, message) = rejection(source("a"), nested);
        assert_eq!(status, 400);
        assert_eq!(message, "a is both a file and a folder");
    }

    #[test]
    fn bundles_beyond_the_limits_are_rejected() {
        let large = SourceFile {
            path: "a.ts".to_owned(),
            content: Bytes::from(vec![b' '; MAX_BUNDLE_BYTES + 1]),
        };
        assert_eq!(rejection(source("a.ts"), vec![large]).0, 413);
        let many = (0..=MAX_FILES).map(|n| file(&n.to_string(), ""));
        assert_eq!(rejection(source("1"), many.collect()).0, 413);
    }
}

//! Files must not name places that exist on one machine only.
//!
//! What such a place is called depends on the machine, so the paths looked for are those of the
//! machine that checks: this clone, and the tools' folders in the home folder of the user who runs it.

use std::{fs, path::Path};

use anyhow::Result;

use super::files;

/// Larger files are data, which is not written by hand.
const MAX_BYTES: u64 = 1024 * 1024;

/// One sentence for every line that names a place of this machine.
pub(super) fn problems(root: &Path) -> Result<Vec<String>> {
    let home = std::env::var("HOME").ok();
    let places = places(root, home.as_deref());
    let mut problems = Vec::new();
    for file in files::list(root)? {
        if fs::metadata(&file)?.len() > MAX_BYTES {
            continue;
        }
        let Ok(text) = String::from_utf8(fs::read(&file)?) else {
            continue;
        };
        let shown = file.strip_prefix(root).unwrap_or(&file).display();
        let lines = lines_naming(&text, &places);
        problems.extend(
            lines.map(|(line, place)| {
                format!("{shown}:{line} names {place}, a place of this machine")
            }),
        );
    }
    Ok(problems)
}

fn places(root: &Path, home: Option<&str>) -> Vec<String> {
    let mut places = Vec::new();
    // A clone at `/app` would find itself in every URL.
    if root.components().count() > 2 {
        places.push(root.display().to_string());
    }
    if let Some(home) = home
        .map(|home| home.trim_end_matches('/'))
        .filter(|home| !home.is_empty())
    {
        places.push(format!("{home}/."));
    }
    places
}

fn lines_naming<'a>(
    text: &'a str,
    places: &'a [String],
) -> impl Iterator<Item = (usize, &'a str)> + 'a {
    text.lines().enumerate().filter_map(|(index, line)| {
        let place = places.iter().find(|place| line.contains(place.as_str()))?;
        Some((index + 1, place.as_str()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_clone_and_hidden_folders_of_the_home_are_places_of_the_machine() {
        let places = places(Path::new("/srv/ada/plinth"), Some("/home/ada/"));
        assert_eq!(places, ["/srv/ada/plinth", "/home/ada/."]);
    }

    #[test]
    fn a_clone_directly_below_the_root_is_not_looked_for() {
        assert!(places(Path::new("/app"), None).is_empty());
        assert!(places(Path::new("/app"), Some("/")).is_empty());
    }

    #[test]
    fn a_problem_names_file_line_and_place() {
        let root = tempfile::tempdir().expect("a folder");
        let text = format!("fine\ncd {}/crates\n", root.path().display());
        fs::write(root.path().join("notes.md"), text).expect("a file");

        let problems = problems(root.path()).expect("readable");

        let place = root.path().display();
        assert_eq!(
            problems,
            [format!("notes.md:2 names {place}, a place of this machine")]
        );
    }
}

//! Tests wait for events; a fixed time needs a reason.
//!
//! In a test, a call of `sleep` outside of a polling loop needs a comment on the line before it. Files
//! are read as rustfmt leaves them, so that indentation says what a line belongs to.

use std::{fs, path::Path};

use anyhow::{Context, Result};

use super::files;

/// One sentence for every sleep without a reason.
pub(super) fn problems(root: &Path) -> Result<Vec<String>> {
    let mut problems = Vec::new();
    for file in files::list(root)? {
        if file.extension().is_none_or(|extension| extension != "rs") {
            continue;
        }
        let text = fs::read_to_string(&file)
            .with_context(|| format!("{} cannot be read", file.display()))?;
        let path = file.strip_prefix(root).unwrap_or(&file);
        let lines = unexplained_sleeps(&text, is_test_file(path));
        problems.extend(lines.into_iter().map(|line| {
            format!(
                "{}:{line} sleeps in a test: wait for an event, or say in a comment on the line \
                 before why time has to pass",
                path.display()
            )
        }));
    }
    Ok(problems)
}

fn is_test_file(path: &Path) -> bool {
    path.ends_with("tests.rs") || path.iter().any(|folder| folder == "tests")
}

/// Numbers of the lines that sleep outside of a loop and have no comment before them.
fn unexplained_sleeps(text: &str, is_test_file: bool) -> Vec<usize> {
    let lines: Vec<_> = text.lines().collect();
    let begin = if is_test_file {
        0
    } else {
        let tests = lines.iter().position(|line| *line == "mod tests {");
        tests.unwrap_or(lines.len())
    };
    let is_unexplained = |index: &usize| {
        let before = index.checked_sub(1).map(|before| lines[before].trim());
        calls_sleep(lines[*index])
            && !is_in_loop(&lines, *index)
            && !before.is_some_and(|before| before.starts_with("//"))
    };
    let unexplained = (begin..lines.len()).filter(is_unexplained);
    unexplained.map(|index| index + 1).collect()
}

/// A call with a duration; `pg_sleep(` and functions that are named `sleep` are none.
fn calls_sleep(line: &str) -> bool {
    let code = line.split("//").next().unwrap_or_default();
    code.match_indices("sleep(").any(|(at, call)| {
        let (before, after) = (&code[..at], &code[at + call.len()..]);
        let is_part_of_a_name =
            before.ends_with(|c: char| c.is_alphanumeric() || ['_', '.'].contains(&c));
        let quotes = before.matches('"').count() - before.matches("\\\"").count();
        let is_in_string = quotes % 2 == 1;
        !is_in_string && !is_part_of_a_name && !before.ends_with("fn ") && !after.starts_with(')')
    })
}

/// Whether a loop is around the line, within its function.
fn is_in_loop(lines: &[&str], index: usize) -> bool {
    let mut inner = indentation(lines[index]);
    for line in lines[..index].iter().rev() {
        if line.trim().is_empty() || indentation(line) >= inner {
            continue;
        }
        inner = indentation(line);
        let code = line.trim();
        let begins_loop = ["loop {", "while ", "for "]
            .iter()
            .any(|word| code.starts_with(word));
        if begins_loop || code.ends_with(" loop {") {
            return true;
        }
        if code.contains("fn ") && code.contains('(') {
            return false;
        }
    }
    false
}

fn indentation(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workspace;

    #[track_caller]
    fn check(text: &str, expected: &[usize]) {
        assert_eq!(unexplained_sleeps(text, true), expected, "{text}");
    }

    #[test]
    fn no_test_here_sleeps_without_a_reason() {
        let problems = problems(workspace::root()).expect("readable");
        assert_eq!(problems, Vec::<String>::new());
    }

    #[test]
    fn a_sleep_needs_a_comment_right_before_it() {
        check("fn a() {\n    tokio::time::sleep(SHORT).await;\n}", &[2]);
        check(
            "fn a() {\n    // Silence is the proof.\n    sleep(SHORT).await;\n}",
            &[],
        );
        check(
            "fn a() {\n    // Too far away.\n\n    sleep(SHORT).await;\n}",
            &[4],
        );
    }

    #[test]
    fn a_loop_that_polls_may_sleep() {
        for head in [
            "loop {",
            "while !done() {",
            "let x = loop {",
            "for _ in 0..9 {",
        ] {
            let text = format!(
                "fn a() {{\n    {head}\n        if b() {{\n            sleep(SHORT);\n        }}\n    }}\n}}"
            );
            check(&text, &[]);
        }
    }

    #[test]
    fn a_loop_before_or_outside_of_the_function_does_not_count() {
        check(
            "fn a() {\n    while b() {\n        c();\n    }\n    sleep(SHORT);\n}",
            &[5],
        );
        check(
            "fn a() {\n    loop {\n        fn b() {\n            sleep(SHORT);\n        }\n    }\n}",
            &[4],
        );
    }

    #[test]
    fn sql_comments_and_functions_of_that_name_are_no_sleeps() {
        check(
            "fn sleep(time: Duration) {\n    run(\"select pg_sleep(1)\"); // sleep(1)\n    start(sleep());\n}",
            &[],
        );
    }

    #[test]
    fn outside_of_tests_code_may_sleep() {
        let text = "fn retry() {\n    sleep(BACKOFF);\n}\n\nmod tests {\n    fn a() {\n        sleep(SHORT);\n    }\n}";
        assert_eq!(unexplained_sleeps(text, false), [7]);
        assert!(unexplained_sleeps("fn a() {\n    sleep(X);\n}", false).is_empty());
    }
}

//! Tests wait for events; a fixed time needs a reason.
//!
//! In a test, a call of `sleep`, or its equivalent in JavaScript, outside of a polling loop needs a comment on
//! the line before it. Files are read as formatters leave them, so that indentation says what a line belongs to.

use std::{fs, path::Path};

use anyhow::{Context, Result};

use super::files;

/// One sentence for every sleep without a reason.
pub(super) fn problems(root: &Path) -> Result<Vec<String>> {
    let mut problems = Vec::new();
    for file in files::list(root)? {
        let path = file.strip_prefix(root).unwrap_or(&file);
        let Some(language) = Language::of(path) else {
            continue;
        };
        let text = fs::read_to_string(&file)
            .with_context(|| format!("{} cannot be read", file.display()))?;
        let lines = unexplained_sleeps(&text, language, is_test_file(path));
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

#[derive(Debug, Clone, Copy)]
enum Language {
    Rust,
    JavaScript,
}

impl Language {
    /// JavaScript counts in `tests/` only; the code of pages is not a test.
    fn of(path: &Path) -> Option<Self> {
        match path.extension()?.to_str()? {
            "rs" => Some(Self::Rust),
            "mjs" if path.starts_with("tests") => Some(Self::JavaScript),
            _ => None,
        }
    }

    fn calls_sleep(self, line: &str) -> bool {
        match self {
            Self::Rust => calls_sleep(line),
            Self::JavaScript => awaits_timer(line),
        }
    }

    fn begins_loop(self, code: &str) -> bool {
        let heads: &[&str] = match self {
            Self::Rust => &["loop {", "while ", "for "],
            Self::JavaScript => &["do {", "while (", "for (", "for await ("],
        };
        let is_value = matches!(self, Self::Rust) && code.ends_with(" loop {");
        is_value || heads.iter().any(|head| code.starts_with(head))
    }

    fn begins_function(self, code: &str) -> bool {
        match self {
            Self::Rust => code.contains("fn ") && code.contains('('),
            Self::JavaScript => code.contains("function ") || code.ends_with("=> {"),
        }
    }
}

fn is_test_file(path: &Path) -> bool {
    path.ends_with("tests.rs") || path.iter().any(|folder| folder == "tests")
}

/// Numbers of the lines that sleep outside of a loop and have no comment before them.
fn unexplained_sleeps(text: &str, language: Language, is_test_file: bool) -> Vec<usize> {
    let lines: Vec<_> = text.lines().collect();
    let begin = if is_test_file {
        0
    } else {
        let tests = lines.iter().position(|line| *line == "mod tests {");
        tests.unwrap_or(lines.len())
    };
    let is_unexplained = |index: &usize| {
        let before = index.checked_sub(1).map(|before| lines[before].trim());
        language.calls_sleep(lines[*index])
            && !is_in_loop(&lines, language, *index)
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

/// A promise that only a timer resolves, made in place or by `node:timers/promises`.
fn awaits_timer(line: &str) -> bool {
    let code = line.split("//").next().unwrap_or_default();
    let is_resolved = code.contains("setTimeout(resolve");
    let is_awaited = ["wait", "sleep", "delay", "setTimeout"]
        .iter()
        .any(|name| code.contains(&format!("await {name}(")));
    is_resolved || is_awaited
}

/// Whether the line is in a loop, within its function.
fn is_in_loop(lines: &[&str], language: Language, index: usize) -> bool {
    let mut inner = indentation(lines[index]);
    if language.begins_loop(lines[index].trim()) {
        return true;
    }
    for line in lines[..index].iter().rev() {
        if line.trim().is_empty() || indentation(line) >= inner {
            continue;
        }
        inner = indentation(line);
        let code = line.trim();
        if language.begins_loop(code) {
            return true;
        }
        if language.begins_function(code) {
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
        let found = unexplained_sleeps(text, Language::Rust, true);
        assert_eq!(found, expected, "{text}");
    }

    #[track_caller]
    fn check_javascript(text: &str, expected: &[usize]) {
        let found = unexplained_sleeps(text, Language::JavaScript, true);
        assert_eq!(found, expected, "{text}");
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
    fn a_timer_in_javascript_needs_a_comment_too() {
        for sleep in [
            "await new Promise((resolve) => setTimeout(resolve, 300));",
            "await wait(300);",
        ] {
            check_javascript(&format!("async function a() {{\n  {sleep}\n}}"), &[2]);
            check_javascript(
                &format!("test(\"a\", async () => {{\n  {sleep}\n}});"),
                &[2],
            );
            check_javascript(&format!("  // Silence is the proof.\n  {sleep}"), &[]);
            check_javascript(
                &format!("for (;;) {{\n  try {{\n    {sleep}\n  }}\n}}"),
                &[],
            );
            check_javascript(&format!("while (!isDone()) {sleep}"), &[]);
            check_javascript(
                &format!(
                    "for (const x of y) {{\n  test(x, async () => {{\n    {sleep}\n  }});\n}}"
                ),
                &[3],
            );
        }
        check_javascript("const timer = setTimeout(() => reject(late), 300);", &[]);
    }

    #[test]
    fn only_tests_are_read_of_javascript() {
        assert!(Language::of(Path::new("tests/ssr/a.test.mjs")).is_some());
        assert!(Language::of(Path::new("packaging/npm/plinth.mjs")).is_none());
        assert!(Language::of(Path::new("docs/a.md")).is_none());
    }

    #[test]
    fn outside_of_tests_code_may_sleep() {
        let text = "fn retry() {\n    sleep(BACKOFF);\n}\n\nmod tests {\n    fn a() {\n        sleep(SHORT);\n    }\n}";
        let found = |text| unexplained_sleeps(text, Language::Rust, false);
        assert_eq!(found(text), [7]);
        assert!(found("fn a() {\n    sleep(X);\n}").is_empty());
    }
}

//! PostgREST's configuration file: `name = value` lines, comments after `#`, groups in braces,
//! `import "other file"`, and `$(variable)` in strings.

use std::{fs, path::Path};

use super::{
    super::options::Value,
    interpolation::{Variables, interpolate},
    scanner::Scanner,
};

/// The depth of nested imports; deeper ones are taken for a cycle.
const MAX_IMPORTS: usize = 16;

/// Reads a file and its imports. A later value replaces an earlier one.
pub(super) fn read(path: &Path, variables: &Variables<'_>) -> Result<Vec<(String, Value)>, String> {
    let mut reader = Reader {
        variables,
        values: Vec::new(),
        depth: 0,
    };
    reader.import(path)?;
    Ok(reader.values)
}

#[cfg(test)]
pub(super) fn read_text(
    text: &str,
    variables: &Variables<'_>,
) -> Result<Vec<(String, Value)>, String> {
    let mut reader = Reader {
        variables,
        values: Vec::new(),
        depth: 0,
    };
    reader.text(text, Path::new("test.conf"))?;
    Ok(reader.values)
}

struct Reader<'a> {
    variables: &'a Variables<'a>,
    values: Vec<(String, Value)>,
    depth: usize,
}

impl Reader<'_> {
    fn import(&mut self, path: &Path) -> Result<(), String> {
        if self.depth == MAX_IMPORTS {
            return Err(format!("{}: files import each other", path.display()));
        }
        let text = fs::read_to_string(path)
            .map_err(|error| format!("{} cannot be read: {error}", path.display()))?;
        self.depth += 1;
        self.text(&text, path)?;
        self.depth -= 1;
        Ok(())
    }

    fn text(&mut self, text: &str, path: &Path) -> Result<(), String> {
        let mut scanner = Scanner::new(text);
        let outcome = self.directives(&mut scanner, "", path, true);
        outcome.map_err(|problem| match problem {
            Problem::Here(expected) => {
                format!("{}, {}: {expected}", path.display(), scanner.position())
            }
            Problem::Elsewhere(sentence) => sentence,
        })
    }

    /// Parses until the closing brace of a group, or the end of the file.
    fn directives(
        &mut self,
        scanner: &mut Scanner<'_>,
        group: &str,
        path: &Path,
        is_counted: bool,
    ) -> Result<(), Problem> {
        loop {
            scanner.skip_lines();
            if scanner.is_at_end() && group.is_empty() {
                return Ok(());
            }
            if !group.is_empty() && scanner.eat("}") {
                return Ok(());
            }
            let is_commented_out = scanner.eat("#;");
            scanner.skip_spaces();
            self.directive(scanner, group, path, is_counted && !is_commented_out)?;
            scanner.end_of_line()?;
        }
    }

    fn directive(
        &mut self,
        scanner: &mut Scanner<'_>,
        group: &str,
        path: &Path,
        is_counted: bool,
    ) -> Result<(), Problem> {
        let name = scanner.name()?;
        scanner.skip_lines();
        if name == "import" && scanner.peek() == Some('"') {
            let file = path.with_file_name("").join(scanner.quoted()?);
            return if is_counted {
                self.import(&file).map_err(Problem::Elsewhere)
            } else {
                Ok(())
            };
        }
        let whole_name = format!("{group}{name}");
        if scanner.eat("{") {
            let inner = format!("{whole_name}.");
            return self.directives(scanner, &inner, path, is_counted);
        }
        scanner.expect("=")?;
        scanner.skip_lines();
        let value = scanner.value()?;
        if is_counted {
            self.bind(&whole_name, value)?;
        }
        Ok(())
    }

    fn bind(&mut self, name: &str, value: Value) -> Result<(), Problem> {
        let value = match value {
            Value::Text(text) => {
                let known = |variable: &str| self.find(name, variable);
                let text = interpolate(&text, known, self.variables)
                    .map_err(|problem| Problem::Here(format!("{name}: {problem}")))?;
                Value::Text(text)
            }
            other => other,
        };
        self.values.retain(|(known, _)| known != name);
        self.values.push((name.to_owned(), value));
        Ok(())
    }

    /// A value of this file, by its name in the same group or an outer one.
    fn find(&self, from: &str, variable: &str) -> Option<&Value> {
        let mut group = from;
        loop {
            group = group.rsplit_once('.').map_or("", |(outer, _)| outer);
            let whole_name = match group {
                "" => variable.to_owned(),
                group => format!("{group}.{variable}"),
            };
            let found = self.values.iter().find(|(name, _)| *name == whole_name);
            if found.is_some() || group.is_empty() {
                return found.map(|(_, value)| value);
            }
        }
    }
}

/// Where an error is.
pub(super) enum Problem {
    /// At the scanner's position.
    Here(String),
    /// In an imported file; the text says where.
    Elsewhere(String),
}

impl From<String> for Problem {
    fn from(expected: String) -> Self {
        Self::Here(expected)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(text: &str) -> Value {
        Value::Text(text.to_owned())
    }

    fn check(file: &str, expected: &[(&str, Value)]) {
        let variables = |name: &str| (name == "HOME").then(|| "/root".to_owned());
        let values = read_text(file, &variables).unwrap_or_else(|problem| panic!("{problem}"));
        let expected: Vec<(String, Value)> = expected
            .iter()
            .map(|(name, value)| ((*name).to_owned(), value.clone()))
            .collect();
        assert_eq!(values, expected, "{file}");
    }

    #[test]
    fn names_have_texts_numbers_switches_and_lists() {
        check(
            "# Commènt\ndb-uri = \"a\\\"b\\u00e4\\n\"\n\ndb-pool = 10 # ten\n\
             db-config=false\nlog-query = on\nx = [1, \"two\",\n true]",
            &[
                ("db-uri", text("a\"bä\n")),
                ("db-pool", Value::Number("10".to_owned())),
                ("db-config", Value::Flag(false)),
                ("log-query", Value::Flag(true)),
                (
                    "x",
                    Value::List(vec![
                        Value::Number("1".to_owned()),
                        text("two"),
                        Value::Flag(true),
                    ]),
                ),
            ],
        );
    }

    #[test]
    fn groups_make_dotted_names_and_later_values_win() {
        check(
            "app.settings.a = \"1\"\napp {\n  settings {\n b = \"2\"\n }\n}\n\
             app.settings.a = \"3\"\n#;skipped = \"x\"\n",
            &[("app.settings.b", text("2")), ("app.settings.a", text("3"))],
        );
    }

    #[test]
    fn texts_take_in_variables_of_the_file_and_of_the_environment() {
        check(
            "a = \"x\"\nn = 5\nb = \"$(a)-$(n)-$(HOME)\"\njwt-role-claim-key = \"$$.role\"",
            &[
                ("a", text("x")),
                ("n", Value::Number("5".to_owned())),
                ("b", text("x-5-/root")),
                ("jwt-role-claim-key", text("$.role")),
            ],
        );
    }

    #[test]
    fn mistakes_are_reported_with_their_position() {
        let check = |file: &str, expected: &str| {
            let problem = read_text(file, &|_: &str| None).expect_err("a mistake");
            assert!(problem.contains(expected), "{problem}");
        };

        check("a = \"1\"\nb 2", "test.conf, line 2, column 3: \"=\"");
        check("a = \"open", "line 1");
        check("a = what", "a value");
        check("a = \"1\" b = \"2\"", "the end of the line");
        check("a { b = \"1\"", "a name");
        check("a = \"$(NOWHERE)\"", "no variable NOWHERE");
        check("import \"/no/such.conf\"", "/no/such.conf cannot be read");
        check("- \"no\"", "a name");
    }

    #[test]
    fn a_file_may_import_others_beside_it_but_not_itself() {
        let folder = std::env::temp_dir().join(format!("plinth-import-{}", std::process::id()));
        fs::create_dir_all(&folder).expect("a folder");
        fs::write(folder.join("main.conf"), "import \"more.conf\"\nb = \"2\"").expect("a file");
        fs::write(folder.join("more.conf"), "a = \"1\"").expect("a file");
        fs::write(folder.join("loop.conf"), "import \"loop.conf\"").expect("a file");

        let values = read(&folder.join("main.conf"), &|_: &str| None);
        let circle = read(&folder.join("loop.conf"), &|_: &str| None);
        fs::remove_dir_all(&folder).expect("our own folder");

        assert_eq!(
            values.expect("two files"),
            [("a".to_owned(), text("1")), ("b".to_owned(), text("2"))]
        );
        assert!(circle.expect_err("a circle").contains("import each other"));
    }
}

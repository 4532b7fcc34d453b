//! Finds the import specifiers of a module with a scanner for strings, comments and templates, which
//! is enough without a parser.

/// The specifiers of `import … from "x"`, `export … from "x"`, `import "x"` and `import("x")`.
pub(super) fn find(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut scanner = Scanner {
        rest: text,
        before: Before::Other,
    };
    scanner.code(&mut found, 0);
    found
}

/// The token before the current position.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Before {
    /// `import`: a string that follows is a specifier, also after a `(`.
    Import,
    /// `import(`.
    Call,
    /// `from`: a string that follows is a specifier.
    From,
    Other,
}

/// Nested templates beyond this depth are not scanned.
const MAX_DEPTH: usize = 32;

struct Scanner<'a> {
    rest: &'a str,
    before: Before,
}

impl Scanner<'_> {
    /// Scans code up to its end, or up to the `}` that ends a template expression.
    fn code(&mut self, found: &mut Vec<String>, depth: usize) {
        let mut braces = 0;
        while let Some(c) = self.rest.chars().next() {
            if self.rest.starts_with("//") {
                self.skip_past("\n");
            } else if self.rest.starts_with("/*") {
                self.take(2);
                self.skip_past("*/");
            } else if c == '"' || c == '\'' {
                self.string(c, found);
            } else if c == '`' {
                self.template(found, depth);
            } else if is_word(c) {
                self.word();
            } else if c == '}' && depth > 0 && braces == 0 {
                return;
            } else {
                braces += i32::from(c == '{') - i32::from(c == '}');
                self.take(c.len_utf8());
                match (c, self.before) {
                    ('(', Before::Import) => self.before = Before::Call,
                    (c, _) if c.is_whitespace() => {}
                    _ => self.before = Before::Other,
                }
            }
        }
    }

    fn word(&mut self) {
        let end = self.rest.find(|c| !is_word(c)).unwrap_or(self.rest.len());
        let word = &self.rest[..end];
        self.before = match word {
            "import" => Before::Import,
            "from" => Before::From,
            _ => Before::Other,
        };
        self.take(end);
    }

    /// A string ends on its line; otherwise the quote was no string delimiter.
    fn string(&mut self, quote: char, found: &mut Vec<String>) {
        self.take(1);
        let mut value = String::new();
        let mut chars = self.rest.char_indices();
        while let Some((at, c)) = chars.next() {
            match c {
                '\n' => break,
                '\\' => {
                    chars.next();
                }
                c if c == quote => {
                    if self.before != Before::Other && !value.is_empty() {
                        found.push(value);
                    }
                    self.take(at + 1);
                    break;
                }
                c => value.push(c),
            }
        }
        self.before = Before::Other;
    }

    fn template(&mut self, found: &mut Vec<String>, depth: usize) {
        self.take(1);
        self.before = Before::Other;
        while let Some(c) = self.rest.chars().next() {
            match c {
                '\\' => {
                    self.take(1);
                    let escaped = self.rest.chars().next().map_or(0, char::len_utf8);
                    self.take(escaped);
                }
                '`' => {
                    self.take(1);
                    return;
                }
                '$' if self.rest.starts_with("${") && depth < MAX_DEPTH => {
                    self.take(2);
                    self.code(found, depth + 1);
                    self.take(usize::from(self.rest.starts_with('}')));
                }
                c => self.take(c.len_utf8()),
            }
        }
    }

    fn take(&mut self, bytes: usize) {
        self.rest = &self.rest[bytes..];
    }

    fn skip_past(&mut self, end: &str) {
        self.rest = match self.rest.find(end) {
            Some(at) => &self.rest[at + end.len()..],
            None => "",
        };
    }
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_' || c == '$'
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_of_import_is_found() {
        let text = r#"
            import "./side.ts";
            import a, { b } from './a.ts'; import type { T } from "./types.ts"
            export * from "../_shared/cors.ts";
            export { x } from "npm:x@1";
            import data from "./data.json" with { type: "json" };
            const lazy = await import("./lazy.ts");
            import{c}from"./c.ts";
        "#;
        let expected = [
            "./side.ts",
            "./a.ts",
            "./types.ts",
            "../_shared/cors.ts",
            "npm:x@1",
            "./data.json",
            "./lazy.ts",
            "./c.ts",
        ];
        assert_eq!(find(text), expected);
    }

    #[test]
    fn strings_comments_and_other_calls_are_not_imports() {
        let text = r#"
            // import "./a.ts"
            /* import "./b.ts" */
            const text = "import './c.ts'";
            const template = `import "./d.ts" ${await import("./e.ts")} from "./f.ts" \` ${{ a: `}` }}`;
            supabase.from("todos"); Array.from("abc"); reimport("./g.ts"); import.meta.resolve("./h.ts");
            const apostrophe = /'/; export * from "./i.ts";
        "#;
        assert_eq!(find(text), ["./e.ts", "./i.ts"]);
    }

    #[test]
    fn unfinished_text_ends_the_search() {
        for text in ["import \"", "`${", "`", "/*", "import '\\", "}", "`${`${"] {
            assert!(find(text).is_empty(), "{text}");
        }
        let deep = "`${".repeat(10_000);
        assert!(find(&deep).is_empty());
    }
}

//! Types of columns, as people write them: `text`, `numeric(10, 2)`, `public.mood[]`,
//! `timestamp with time zone`, `"My type"`.

use plinth_db::QuotedIdent;

use super::{StatementError, names::check_name};

/// Words that the grammar of PostgreSQL makes types of; quoted they would be other names.
const KEYWORDS: [&str; 19] = [
    "bigint",
    "bit",
    "boolean",
    "char",
    "character",
    "dec",
    "decimal",
    "double",
    "float",
    "int",
    "integer",
    "interval",
    "nchar",
    "numeric",
    "real",
    "smallint",
    "time",
    "timestamp",
    "varchar",
];

/// Keywords with the words that may follow them.
const PHRASES: [&str; 13] = [
    "double precision",
    "character varying",
    "char varying",
    "bit varying",
    "time with time zone",
    "time without time zone",
    "timestamp with time zone",
    "timestamp without time zone",
    "interval year",
    "interval day",
    "interval hour",
    "interval minute",
    "interval second",
];

/// A type, as SQL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TypeName {
    /// Before the length or precision.
    head: String,
    /// `(10, 2)`, or nothing.
    modifiers: String,
    /// `with time zone`, or nothing.
    tail: String,
    /// `[]` for each dimension.
    brackets: String,
}

impl TypeName {
    /// Reads what a person or a program wrote. A text that is no type of SQL is a name, as it is for
    /// postgres-meta: `Mood` is the type "Mood".
    pub fn parse(text: &str) -> Result<Self, StatementError> {
        let text = text.trim();
        if text.contains('\0') {
            return Err(StatementError::new(
                "The name of a type must not contain a zero character",
            ));
        }
        let (base, brackets) = split_brackets(text);
        let (name, modifiers, tail) = split_modifiers(base)?;
        let phrase = [name, tail].join(" ").trim().to_ascii_lowercase();
        let words: Vec<&str> = phrase.split_ascii_whitespace().collect();
        let phrase = words.join(" ");
        if KEYWORDS.contains(&phrase.as_str()) || PHRASES.contains(&phrase.as_str()) {
            let (head, tail) = match (modifiers.is_empty(), words.split_first()) {
                (false, Some((head, tail))) if !tail.is_empty() && tail[0] != "varying" => {
                    ((*head).to_owned(), format!(" {}", tail.join(" ")))
                }
                _ => (phrase, String::new()),
            };
            return Ok(Self {
                head,
                modifiers,
                tail,
                brackets,
            });
        }
        if !tail.is_empty() {
            return Err(StatementError::new(format!("{text} is no type")));
        }
        Ok(Self {
            head: quoted_name(name)?,
            modifiers,
            tail: String::new(),
            brackets,
        })
    }

    /// The type.
    pub fn sql(&self) -> String {
        let Self {
            head,
            modifiers,
            tail,
            brackets,
        } = self;
        format!("{head}{modifiers}{tail}{brackets}")
    }

    /// The type without length and precision: a cast to it cuts nothing.
    pub fn sql_without_modifiers(&self) -> String {
        // `char` and `bit` without a length have the length 1.
        match self.head.as_str() {
            "char" | "character" | "nchar" => format!("text{}", self.brackets),
            "bit" => format!("bit varying{}", self.brackets),
            head => format!("{head}{}{}", self.tail, self.brackets),
        }
    }

    /// Whether it is an array.
    pub fn is_array(&self) -> bool {
        !self.brackets.is_empty()
    }
}

/// `int[3][]` is `int` and `[][]`: PostgreSQL does not keep the bounds.
fn split_brackets(text: &str) -> (&str, String) {
    let mut base = text;
    let mut brackets = String::new();
    while let Some(open) = base.strip_suffix(']') {
        let inner = open.trim_end_matches(|c: char| c.is_ascii_digit());
        let Some(before) = inner.strip_suffix('[') else {
            break;
        };
        base = before.trim_end();
        brackets.push_str("[]");
    }
    (base, brackets)
}

/// The name, `(…)` with what is in it as SQL, and what follows.
fn split_modifiers(base: &str) -> Result<(&str, String, &str), StatementError> {
    let none = (base, String::new(), "");
    if base.ends_with('"') {
        return Ok(none);
    }
    let (Some(open), Some(close)) = (base.rfind('('), base.rfind(')')) else {
        return Ok(none);
    };
    // A parenthesis may be part of a quoted name.
    if open > close || base[..open].matches('"').count() % 2 == 1 {
        return Ok(none);
    }
    let items: Vec<String> = base[open + 1..close]
        .split(',')
        .map(|item| modifier(item.trim()))
        .collect::<Result<_, _>>()?;
    let name = base[..open].trim_end();
    Ok((
        name,
        format!("({})", items.join(", ")),
        base[close + 1..].trim(),
    ))
}

/// A number, or a word as PostGIS has it: `geometry(Point, 4326)`.
fn modifier(item: &str) -> Result<String, StatementError> {
    let digits = item.strip_prefix('-').unwrap_or(item);
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    let is_word = item.starts_with(|c: char| c.is_ascii_alphabetic())
        && item.bytes().all(|byte| byte.is_ascii_alphanumeric());
    if is_number {
        Ok(item.to_owned())
    } else if is_word {
        Ok(QuotedIdent::new(item).to_string())
    } else {
        Err(StatementError::new(format!(
            "The length or precision of a type is a number, not {item:?}"
        )))
    }
}

/// A name with or without a schema and with or without quotes.
fn quoted_name(name: &str) -> Result<String, StatementError> {
    if name.is_empty() {
        return Err(StatementError::new("The name of a type must not be empty"));
    }
    let parts = match split_quoted(name) {
        Some(parts) => parts,
        None => match name.split_once('.') {
            Some((schema, name)) => vec![schema.to_owned(), name.to_owned()],
            None => vec![name.to_owned()],
        },
    };
    let quoted = parts.iter().map(|part| {
        check_name("a type", part)?;
        Ok(QuotedIdent::new(part).to_string())
    });
    Ok(quoted
        .collect::<Result<Vec<_>, StatementError>>()?
        .join("."))
}

/// `schema."name"` as SQL has it; `None` if it has no quotes, or they are not around whole names.
fn split_quoted(name: &str) -> Option<Vec<String>> {
    if !name.contains('"') {
        return None;
    }
    let mut parts = Vec::new();
    let mut rest = name;
    loop {
        let part;
        if let Some(after) = rest.strip_prefix('"') {
            let mut end = 0;
            loop {
                end += after[end..].find('"')?;
                if after[end + 1..].starts_with('"') {
                    end += 2;
                } else {
                    break;
                }
            }
            part = after[..end].replace("\"\"", "\"");
            rest = &after[end + 1..];
        } else {
            let end = rest.find('.').unwrap_or(rest.len());
            part = rest[..end].to_owned();
            if part.contains('"') {
                return None;
            }
            rest = &rest[end..];
        }
        parts.push(part);
        match rest.strip_prefix('.') {
            Some(after) if parts.len() < 2 => rest = after,
            None if rest.is_empty() => return Some(parts),
            _ => return None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, sql: &str, without_modifiers: &str) {
        let name = TypeName::parse(text).expect(text);
        assert_eq!(name.sql(), sql, "{text}");
        assert_eq!(name.sql_without_modifiers(), without_modifiers, "{text}");
    }

    #[test]
    fn types_of_the_grammar_are_not_quoted() {
        check("int", "int", "int");
        check("VARCHAR(20)", "varchar(20)", "varchar");
        check("numeric(10,2)[]", "numeric(10, 2)[]", "numeric[]");
        check("double  precision", "double precision", "double precision");
        check(
            "timestamp(3) with time zone",
            "timestamp(3) with time zone",
            "timestamp with time zone",
        );
        check(
            "character varying (5)",
            "character varying(5)",
            "character varying",
        );
        check("char(3)", "char(3)", "text");
        check("bit(3)", "bit(3)", "bit varying");
    }

    #[test]
    fn other_types_are_names() {
        check("text", r#""text""#, r#""text""#);
        check("int8[3][]", r#""int8"[][]"#, r#""int8"[][]"#);
        check("public.mood", r#""public"."mood""#, r#""public"."mood""#);
        check("Mood", r#""Mood""#, r#""Mood""#);
        check("my type", r#""my type""#, r#""my type""#);
        check(r#"a."b.""c"[]"#, r#""a"."b.""c"[]"#, r#""a"."b.""c"[]"#);
        check(r#""x(1)""#, r#""x(1)""#, r#""x(1)""#);
        check(
            "geometry(Point, 4326)",
            r#""geometry"("Point", 4326)"#,
            r#""geometry""#,
        );
        check(
            "text; drop table a",
            r#""text; drop table a""#,
            r#""text; drop table a""#,
        );
        check(r#"a"b"#, r#""a""b""#, r#""a""b""#);
    }

    #[test]
    fn what_is_no_type_is_rejected() {
        for bad in [
            "",
            "  ",
            "[]",
            "int(1; drop table a)",
            "int(1) default 2",
            "a\0b",
            "x.",
            "(3)",
        ] {
            assert!(TypeName::parse(bad).is_err(), "{bad}");
        }
    }

    proptest::proptest! {
        #[test]
        fn any_text_can_be_asked(text in "(\\PC|[\".()\\[\\], ]){0,30}") {
            if let Ok(name) = TypeName::parse(&text) {
                assert!(!name.sql().is_empty());
            }
        }
    }
}

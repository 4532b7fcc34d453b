//! A statement in the making.
//!
//! Its text can only grow by words of our own, quoted identifiers, numbered parameters, and text
//! that came from the catalog: what a client wrote cannot get there in any other way.

use std::borrow::Cow;

use plinth_db::{Literal, QuotedIdent};

use crate::{plan::tree::Qualifier, schema_cache::QualifiedName};

/// A statement with its parameters.
#[derive(Debug, Default, Clone, PartialEq)]
pub(crate) struct Sql<'a> {
    text: String,
    values: Vec<Literal<'a>>,
}

impl<'a> Sql<'a> {
    pub(crate) fn new() -> Self {
        Self {
            text: String::with_capacity(512),
            values: Vec::new(),
        }
    }

    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    pub(crate) fn values(&self) -> &[Literal<'a>] {
        &self.values
    }

    /// Words of our own.
    pub(super) fn push(&mut self, words: &'static str) -> &mut Self {
        self.text.push_str(words);
        self
    }

    /// An identifier, quoted.
    pub(super) fn ident(&mut self, name: &str) -> &mut Self {
        use std::fmt::Write;
        // Writing to a string cannot fail.
        _ = write!(self.text, "{}", QuotedIdent::new(name));
        self
    }

    /// A relation's or function's name.
    pub(super) fn name(&mut self, name: &QualifiedName) -> &mut Self {
        if !name.schema.is_empty() {
            self.ident(&name.schema).push(".");
        }
        self.ident(&name.name)
    }

    pub(super) fn qualifier(&mut self, qualifier: Qualifier<'_>) -> &mut Self {
        match qualifier {
            Qualifier::Relation(relation) => self.name(relation),
            Qualifier::Alias(alias) => self.ident(alias),
        }
    }

    /// A column, or all of them for `*`.
    pub(super) fn column(&mut self, qualifier: Qualifier<'_>, column: &str) -> &mut Self {
        self.qualifier(qualifier);
        match column {
            "*" => self.push(".*"),
            _ => self.push(".").ident(column),
        }
    }

    /// A parameter in text form.
    pub(super) fn value(&mut self, value: impl Into<Cow<'a, str>>) -> &mut Self {
        self.literal(Literal::Text(value.into()))
    }

    pub(super) fn literal(&mut self, value: Literal<'a>) -> &mut Self {
        use std::fmt::Write;
        self.values.push(value);
        _ = write!(self.text, "${}", self.values.len());
        self
    }

    /// Text that the catalog gave us: names of types, default expressions, functions of casts.
    pub(super) fn catalog(&mut self, text: &str) -> &mut Self {
        self.text.push_str(text);
        self
    }

    /// The name of a type as a client wrote it. The grammar lets through letters, digits, `_`,
    /// `$` and spaces; anything else would be quoted, and then names no type.
    pub(super) fn client_type(&mut self, name: &str) -> &mut Self {
        let is_harmless = |c: char| c.is_alphanumeric() || matches!(c, '_' | '$' | ' ');
        match name.chars().all(is_harmless) {
            true => self.catalog(name),
            false => self.ident(name),
        }
    }

    /// A string constant of something that is in the catalog, such as a column's name.
    pub(super) fn constant(&mut self, text: &str) -> &mut Self {
        use std::fmt::Write;
        _ = write!(self.text, "{}", plinth_db::QuotedLiteral::new(text));
        self
    }

    /// Items with a separator between them.
    pub(super) fn list<T>(
        &mut self,
        separator: &'static str,
        items: impl IntoIterator<Item = T>,
        mut write: impl FnMut(&mut Self, T),
    ) -> &mut Self {
        for (index, item) in items.into_iter().enumerate() {
            if index > 0 {
                self.push(separator);
            }
            write(self, item);
        }
        self
    }
}

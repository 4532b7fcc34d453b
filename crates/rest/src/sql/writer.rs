//! Builds the text of a statement and its parameters.
//!
//! Text can only be added as string literals of this crate, quoted identifiers, numbered
//! parameters, and text from the catalog, so that SQL injection is not possible.

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

    /// Literal SQL.
    pub(super) fn push(&mut self, sql: &'static str) -> &mut Self {
        self.text.push_str(sql);
        self
    }

    /// An identifier, quoted.
    pub(super) fn ident(&mut self, name: &str) -> &mut Self {
        use std::fmt::Write;
        // Writing to a string cannot fail.
        _ = write!(self.text, "{}", QuotedIdent::new(name));
        self
    }

    /// The name of a relation or function.
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

    /// A column, or `*`.
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

    /// Text from the catalog: names of types, default expressions, functions of casts.
    pub(super) fn catalog(&mut self, text: &str) -> &mut Self {
        self.text.push_str(text);
        self
    }

    /// The name of a type as the client wrote it, unquoted. The grammar allows letters, digits,
    /// `_`, `$` and spaces only; anything else would be quoted here, and then is not a type.
    pub(super) fn client_type(&mut self, name: &str) -> &mut Self {
        let is_allowed = |c: char| c.is_alphanumeric() || matches!(c, '_' | '$' | ' ');
        if name.chars().all(is_allowed) {
            self.catalog(name)
        } else {
            self.ident(name)
        }
    }

    /// A string constant, for names from the catalog.
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

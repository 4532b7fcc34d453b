//! Statements with their values.

use std::fmt::{self, Write as _};

use plinth_db::{DbError, Literal, OpenTransaction, QuotedIdent, QuotedLiteral, TextReply};

use crate::{Column, QueryError};

/// PostgreSQL takes no more parameters.
pub(crate) const MAX_PARAMETERS: usize = 65_535;

/// A statement under construction.
#[derive(Debug, Default)]
pub(crate) struct Sql {
    text: String,
    values: Vec<Literal<'static>>,
    /// The column that each value is for.
    columns: Vec<Option<String>>,
    /// Whether values become literals: COPY takes no parameters.
    is_inline: bool,
}

impl Sql {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// With literals instead of parameters.
    pub(crate) fn inline() -> Self {
        Self {
            is_inline: true,
            ..Self::default()
        }
    }

    /// Syntax of our own, and names that are quoted.
    pub(crate) fn push(&mut self, text: impl fmt::Display) -> &mut Self {
        // Writing to a String does not fail.
        _ = write!(self.text, "{text}");
        self
    }

    /// A value of a column's type.
    pub(crate) fn value(&mut self, column: &Column, value: &str) -> Result<&mut Self, QueryError> {
        self.typed_value(Some(&column.name), value)?;
        Ok(self.push(format_args!("::{}", column.parameter_type())))
    }

    /// A text.
    pub(crate) fn text(&mut self, column: &Column, value: &str) -> Result<&mut Self, QueryError> {
        self.typed_value(Some(&column.name), value)?;
        Ok(self.push("::pg_catalog.text"))
    }

    /// A value whose type is written behind it.
    pub(crate) fn typed_value(
        &mut self,
        column: Option<&str>,
        value: &str,
    ) -> Result<&mut Self, QueryError> {
        if value.contains('\0') {
            return Err(QueryError::Invalid(
                "A value contains a NUL character, which PostgreSQL cannot store".to_owned(),
            ));
        }
        if self.is_inline {
            return Ok(self.push(QuotedLiteral::new(value)));
        }
        if self.values.len() == MAX_PARAMETERS {
            return Err(QueryError::Invalid(format!(
                "There are more than {MAX_PARAMETERS} values"
            )));
        }
        self.values.push(Literal::Text(value.to_owned().into()));
        self.columns.push(column.map(str::to_owned));
        let number = self.values.len();
        Ok(self.push(format_args!("${number}")))
    }

    /// Runs it; all results are texts.
    pub(crate) async fn run(&self, tx: &mut OpenTransaction) -> Result<TextReply, QueryError> {
        let reply = tx.run_for_texts(&self.text, &self.values).await;
        reply.map_err(|error| self.error(error))
    }

    pub(crate) fn error(&self, error: DbError) -> QueryError {
        let mut error = QueryError::of_statement(error, &self.columns);
        if let QueryError::Rejected(rejection) = &mut error {
            // A place in a text that nobody has seen.
            rejection.position = None;
        }
        error
    }

    pub(crate) fn into_text(self) -> String {
        self.text
    }
}

/// A list with something between its items.
pub(crate) fn separated<T: fmt::Display>(
    items: impl IntoIterator<Item = T>,
    separator: &str,
) -> String {
    let mut text = String::new();
    for (index, item) in items.into_iter().enumerate() {
        if index > 0 {
            text.push_str(separator);
        }
        _ = write!(text, "{item}");
    }
    text
}

/// A qualified name.
pub(crate) fn qualified(schema: &str, name: &str) -> String {
    format!("{}.{}", QuotedIdent::new(schema), QuotedIdent::new(name))
}

//! The part of Go's templates that mails are written in (auth contract §7.2).
//!
//! Fields, variables, `if`, `with`, `range`, pipelines, the predefined functions, comments and
//! trim markers; not `define`, `block` and `template`, because a mail is one text. A body escapes
//! every value for the place where it stands, a subject does not. Nothing here knows about mail.

mod functions;
mod html;
mod parse;
mod run;
mod syntax;
mod tree;
mod value;

use serde_json::Value;

use syntax::Node;

/// A template that was understood.
#[derive(Debug, Clone)]
pub(crate) struct Template {
    nodes: Vec<Node>,
}

/// Why a template cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {reason}")]
pub(crate) struct TemplateError {
    pub(crate) line: usize,
    pub(crate) reason: String,
}

/// Why it could not be filled in.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub(crate) struct RenderError(pub(crate) String);

impl Template {
    pub(crate) fn parse(text: &str) -> Result<Self, TemplateError> {
        let items = parse::items(text)?;
        let nodes = tree::grow(items)?;
        Ok(Self { nodes })
    }

    /// As HTML: values are escaped for where they stand.
    pub(crate) fn render_html(&self, data: &Value) -> Result<String, RenderError> {
        run::run(&self.nodes, data, run::Sink::html())
    }

    /// As plain text: values are put in as they are.
    pub(crate) fn render_text(&self, data: &Value) -> Result<String, RenderError> {
        run::run(&self.nodes, data, run::Sink::text())
    }
}

#[cfg(test)]
mod tests;

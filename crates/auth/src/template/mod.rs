//! The subset of Go's templates that mails and text messages are written in (auth contract §7.2).
//!
//! Fields, variables, `if`, `with`, `range`, pipelines, the predefined functions, comments and
//! trim markers; not `define`, `block` and `template`, because a mail is one text. HTML
//! output escapes every value for its context, plain text does not.

mod functions;
mod html;
mod parse;
mod run;
mod syntax;
mod tree;
mod value;

use serde_json::Value;

use syntax::Node;

/// A parsed template.
#[derive(Debug, Clone)]
pub(crate) struct Template {
    nodes: Vec<Node>,
}

/// Why a template cannot be parsed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {reason}")]
pub(crate) struct TemplateError {
    pub(crate) line: usize,
    pub(crate) reason: String,
}

/// Why a template could not be rendered.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub(crate) struct RenderError(pub(crate) String);

impl Template {
    pub(crate) fn parse(text: &str) -> Result<Self, TemplateError> {
        let items = parse::items(text)?;
        let nodes = tree::build(items)?;
        Ok(Self { nodes })
    }

    /// As HTML: values are escaped for their context.
    pub(crate) fn render_html(&self, data: &Value) -> Result<String, RenderError> {
        run::run(&self.nodes, data, run::Sink::html())
    }

    /// As plain text: values are written as they are.
    pub(crate) fn render_text(&self, data: &Value) -> Result<String, RenderError> {
        run::run(&self.nodes, data, run::Sink::text())
    }
}

#[cfg(test)]
mod tests;

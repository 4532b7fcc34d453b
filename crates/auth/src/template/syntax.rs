//! The syntax tree of a template.

use serde_json::Value;

/// A node of the tree.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Node {
    Text(String),
    Output(Pipeline),
    If {
        /// Each condition with what it guards; the first that holds wins.
        arms: Vec<(Pipeline, Vec<Node>)>,
        otherwise: Vec<Node>,
    },
    With {
        arms: Vec<(Pipeline, Vec<Node>)>,
        otherwise: Vec<Node>,
    },
    Range {
        over: Pipeline,
        body: Vec<Node>,
        otherwise: Vec<Node>,
    },
}

/// An item of the text, before blocks are nested.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Item {
    Text(String),
    Comment,
    Output(Pipeline),
    If(Pipeline),
    With(Pipeline),
    Range(Pipeline),
    Else,
    ElseIf(Pipeline),
    ElseWith(Pipeline),
    End,
}

/// Commands, each of which gets the result of the one before as its last argument.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Pipeline {
    pub(super) variables: Vec<String>,
    /// `:=`, as opposed to `=`.
    pub(super) is_declaration: bool,
    pub(super) commands: Vec<Command>,
}

/// A function with its arguments, or a single operand.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Command {
    Call(Function, Vec<Operand>),
    Value(Operand),
}

/// Where a value comes from.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Operand {
    Literal(Value),
    /// `.A.B`; of no fields: the dot itself.
    Field(Vec<String>),
    /// `$name.A.B`; the empty name is the data as a whole.
    Variable(String, Vec<String>),
    /// `(…).A.B`
    Group(Box<Pipeline>, Vec<String>),
    /// A function without arguments as an argument.
    Call(Function),
}

/// The predefined functions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Function {
    And,
    Or,
    Not,
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
    Len,
    Index,
    Print,
    Printf,
    Println,
    Html,
    Js,
    UrlQuery,
}

impl Function {
    pub(super) fn named(name: &str) -> Option<Self> {
        Some(match name {
            "and" => Self::And,
            "or" => Self::Or,
            "not" => Self::Not,
            "eq" => Self::Eq,
            "ne" => Self::Ne,
            "lt" => Self::Lt,
            "le" => Self::Le,
            "gt" => Self::Gt,
            "ge" => Self::Ge,
            "len" => Self::Len,
            "index" => Self::Index,
            "print" => Self::Print,
            "printf" => Self::Printf,
            "println" => Self::Println,
            "html" => Self::Html,
            "js" => Self::Js,
            "urlquery" => Self::UrlQuery,
            _ => return None,
        })
    }
}

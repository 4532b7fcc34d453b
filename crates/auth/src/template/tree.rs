//! Builds the tree of a template: every block gets its `end`.

use super::{
    TemplateError,
    parse::{MAX_DEPTH, Placed},
    syntax::{Item, Node, Pipeline},
};

/// A block whose `end` has not come yet.
struct Open {
    line: usize,
    kind: Kind,
    arms: Vec<(Pipeline, Vec<Node>)>,
    /// What the last `else` began.
    otherwise: Option<Vec<Node>>,
}

#[derive(PartialEq, Eq, Clone, Copy)]
enum Kind {
    If,
    With,
    Range,
}

impl Open {
    fn new(line: usize, kind: Kind, condition: Pipeline) -> Self {
        Self {
            line,
            kind,
            arms: vec![(condition, Vec::new())],
            otherwise: None,
        }
    }

    /// Where the next node goes.
    fn body(&mut self) -> Option<&mut Vec<Node>> {
        match &mut self.otherwise {
            Some(body) => Some(body),
            None => self.arms.last_mut().map(|(_, body)| body),
        }
    }

    fn close(mut self) -> Option<Node> {
        let otherwise = self.otherwise.unwrap_or_default();
        Some(match self.kind {
            Kind::If => Node::If {
                arms: self.arms,
                otherwise,
            },
            Kind::With => Node::With {
                arms: self.arms,
                otherwise,
            },
            Kind::Range => {
                let (over, body) = self.arms.pop()?;
                Node::Range {
                    over,
                    body,
                    otherwise,
                }
            }
        })
    }
}

pub(super) fn build(items: Vec<Placed>) -> Result<Vec<Node>, TemplateError> {
    let mut root = Vec::new();
    let mut open: Vec<Open> = Vec::new();
    for (line, item) in items {
        let argument_error = |reason: &str| TemplateError {
            line,
            reason: reason.to_owned(),
        };
        let node = match item {
            Item::Comment => continue,
            Item::Text(text) => Node::Text(text),
            Item::Output(pipeline) => Node::Output(pipeline),
            Item::If(condition) => {
                open.push(Open::new(line, Kind::If, condition));
                continue;
            }
            Item::With(value) => {
                open.push(Open::new(line, Kind::With, value));
                continue;
            }
            Item::Range(over) => {
                open.push(Open::new(line, Kind::Range, over));
                continue;
            }
            Item::Else => {
                let block = open.last_mut().filter(|block| block.otherwise.is_none());
                let block = block.ok_or_else(|| argument_error("{{else}} belongs to no block"))?;
                block.otherwise = Some(Vec::new());
                continue;
            }
            Item::ElseIf(condition) => {
                add_arm(&mut open, Kind::If, condition)
                    .ok_or_else(|| argument_error("{{else if}} belongs to no {{if}}"))?;
                continue;
            }
            Item::ElseWith(value) => {
                add_arm(&mut open, Kind::With, value)
                    .ok_or_else(|| argument_error("{{else with}} belongs to no {{with}}"))?;
                continue;
            }
            Item::End => open
                .pop()
                .and_then(Open::close)
                .ok_or_else(|| argument_error("{{end}} belongs to no block"))?,
        };
        if open.len() > MAX_DEPTH {
            return Err(argument_error("blocks are nested too deeply"));
        }
        match open.last_mut().map(Open::body) {
            Some(Some(body)) => body.push(node),
            _ => root.push(node),
        }
    }
    match open.pop() {
        Some(block) => Err(TemplateError {
            line: block.line,
            reason: "this block has no {{end}}".to_owned(),
        }),
        None => Ok(root),
    }
}

fn add_arm(open: &mut [Open], kind: Kind, condition: Pipeline) -> Option<()> {
    let block = open.last_mut()?;
    if block.kind != kind || block.otherwise.is_some() {
        return None;
    }
    block.arms.push((condition, Vec::new()));
    Some(())
}

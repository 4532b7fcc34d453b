//! Renders a template tree with data.

use serde_json::Value;

use super::{
    RenderError, functions,
    html::HtmlContext,
    syntax::{Command, Function, Node, Operand, Pipeline},
    value::{follow, is_true, print},
};

/// Longer output is an error: a template could loop over much data.
const MAX_BYTES: usize = 4 << 20;

/// The output; HTML output escapes values.
pub(super) struct Sink {
    text: String,
    context: Option<HtmlContext>,
}

impl Sink {
    pub(super) fn html() -> Self {
        Self {
            text: String::new(),
            context: Some(HtmlContext::default()),
        }
    }

    pub(super) fn text() -> Self {
        Self {
            text: String::new(),
            context: None,
        }
    }

    fn write_literal(&mut self, text: &str) -> Result<(), RenderError> {
        if let Some(context) = &mut self.context {
            context.advance(text);
        }
        self.text.push_str(text);
        self.check_length()
    }

    fn write_value(&mut self, value: &Value, is_encoded: bool) -> Result<(), RenderError> {
        let text = print(value);
        match &mut self.context {
            Some(context) => self
                .text
                .push_str(&context.escape_for_context(&text, is_encoded)),
            None => self.text.push_str(&text),
        }
        self.check_length()
    }

    fn check_length(&self) -> Result<(), RenderError> {
        if self.text.len() > MAX_BYTES {
            Err(RenderError("the mail would be too long".to_owned()))
        } else {
            Ok(())
        }
    }
}

/// Renders the whole template.
pub(super) fn run(nodes: &[Node], data: &Value, sink: Sink) -> Result<String, RenderError> {
    let mut run = Renderer {
        data,
        variables: Vec::new(),
        sink,
    };
    run.render_nodes(nodes, data)?;
    Ok(run.sink.text)
}

struct Renderer<'a> {
    data: &'a Value,
    variables: Vec<(String, Value)>,
    sink: Sink,
}

impl Renderer<'_> {
    fn render_nodes(&mut self, nodes: &[Node], dot: &Value) -> Result<(), RenderError> {
        let outer = self.variables.len();
        for node in nodes {
            self.render_node(node, dot)?;
        }
        self.variables.truncate(outer);
        Ok(())
    }

    fn render_node(&mut self, node: &Node, dot: &Value) -> Result<(), RenderError> {
        match node {
            Node::Text(text) => self.sink.write_literal(text),
            Node::Output(pipeline) => self.output(pipeline, dot),
            Node::If { arms, otherwise } => self.first_true(arms, otherwise, dot, false),
            Node::With { arms, otherwise } => self.first_true(arms, otherwise, dot, true),
            Node::Range {
                over,
                body,
                otherwise,
            } => self.range(over, body, otherwise, dot),
        }
    }

    fn output(&mut self, pipeline: &Pipeline, dot: &Value) -> Result<(), RenderError> {
        let value = self.evaluate(pipeline, dot)?;
        if pipeline.variables.is_empty() {
            // Values that the template escaped itself must not be escaped again.
            let is_encoded = matches!(
                pipeline.commands.last(),
                Some(Command::Call(Function::UrlQuery, _))
            );
            self.sink.write_value(&value, is_encoded)?;
        }
        Ok(())
    }

    fn first_true(
        &mut self,
        arms: &[(Pipeline, Vec<Node>)],
        otherwise: &[Node],
        dot: &Value,
        is_new_dot: bool,
    ) -> Result<(), RenderError> {
        let outer = self.variables.len();
        for (condition, body) in arms {
            let value = self.evaluate(condition, dot)?;
            if is_true(&value) {
                self.render_nodes(body, if is_new_dot { &value } else { dot })?;
                self.variables.truncate(outer);
                return Ok(());
            }
        }
        self.render_nodes(otherwise, dot)?;
        self.variables.truncate(outer);
        Ok(())
    }

    fn range(
        &mut self,
        over: &Pipeline,
        body: &[Node],
        otherwise: &[Node],
        dot: &Value,
    ) -> Result<(), RenderError> {
        let outer = self.variables.len();
        let whole = self.commands(over, dot)?;
        let items = items_of(&whole);
        for (key, item) in &items {
            match over.variables.as_slice() {
                [one_argument] => self.variables.push((one_argument.clone(), item.clone())),
                [first, second] => {
                    self.variables.push((first.clone(), key.clone()));
                    self.variables.push((second.clone(), item.clone()));
                }
                _ => {}
            }
            self.render_nodes(body, item)?;
            self.variables.truncate(outer);
        }
        if items.is_empty() {
            self.render_nodes(otherwise, dot)?;
        }
        Ok(())
    }

    /// The pipeline's value, which is also assigned to its variable.
    fn evaluate(&mut self, pipeline: &Pipeline, dot: &Value) -> Result<Value, RenderError> {
        let value = self.commands(pipeline, dot)?;
        if let Some(name) = pipeline.variables.first() {
            let known = self.variables.iter_mut().rev().find(|(n, _)| n == name);
            match known {
                Some((_, held)) if !pipeline.is_declaration => *held = value.clone(),
                _ => self.variables.push((name.clone(), value.clone())),
            }
        }
        Ok(value)
    }

    fn commands(&mut self, pipeline: &Pipeline, dot: &Value) -> Result<Value, RenderError> {
        let mut piped: Option<Value> = None;
        for command in &pipeline.commands {
            let value = match command {
                Command::Value(_) if piped.is_some() => {
                    return Err(RenderError("only functions take piped values".to_owned()));
                }
                Command::Value(operand) => self.operand(operand, dot)?,
                Command::Call(function, operands) => {
                    let mut arguments = Vec::with_capacity(operands.len() + 1);
                    for operand in operands {
                        arguments.push(self.operand(operand, dot)?);
                    }
                    arguments.extend(piped.take());
                    self.call(*function, arguments)?
                }
            };
            piped = Some(value);
        }
        Ok(piped.unwrap_or_default())
    }

    /// In HTML every value is escaped where it is printed, so `html` has nothing left to do.
    fn call(&self, function: Function, arguments: Vec<Value>) -> Result<Value, RenderError> {
        match function {
            Function::Html if self.sink.context.is_some() => {
                functions::call(Function::Print, arguments)
            }
            function => functions::call(function, arguments),
        }
    }

    fn operand(&mut self, operand: &Operand, dot: &Value) -> Result<Value, RenderError> {
        Ok(match operand {
            Operand::Literal(value) => value.clone(),
            Operand::Field(fields) => follow(dot, fields),
            Operand::Variable(name, fields) if name.is_empty() => follow(self.data, fields),
            Operand::Variable(name, fields) => {
                let known = self.variables.iter().rev().find(|(n, _)| n == name);
                let (_, value) =
                    known.ok_or_else(|| RenderError(format!("there is no variable ${name}")))?;
                follow(value, fields)
            }
            Operand::Group(pipeline, fields) => follow(&self.evaluate(pipeline, dot)?, fields),
            Operand::Call(function) => self.call(*function, Vec::new())?,
        })
    }
}

/// Keys and items of a list or object.
fn items_of(value: &Value) -> Vec<(Value, Value)> {
    match value {
        Value::Array(items) => {
            let numbered = items.iter().enumerate();
            numbered
                .map(|(at, item)| (at.into(), item.clone()))
                .collect()
        }
        Value::Object(fields) => {
            let named = fields.iter();
            named
                .map(|(name, item)| (name.as_str().into(), item.clone()))
                .collect()
        }
        _ => Vec::new(),
    }
}

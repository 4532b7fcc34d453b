//! Writing TypeScript, formatted as Prettier would.

use super::{
    Options,
    model::{RelationModel, SchemaModel},
    resolve::Resolver,
};
use crate::objects::{ArgumentMode, Column, Function, FunctionArgument, IdentityGeneration};

/// Lines with their indentation.
#[derive(Default)]
pub(super) struct Writer {
    text: String,
    depth: usize,
}

impl Writer {
    pub(super) fn raw(&mut self, text: &str) {
        self.text.push_str(text);
    }

    pub(super) fn line(&mut self, line: &str) {
        self.text.push_str(&"  ".repeat(self.depth));
        self.text.push_str(line);
        self.text.push('\n');
    }

    pub(super) fn block(&mut self, open: &str, close: &str, fill: impl FnOnce(&mut Self)) {
        self.line(open);
        self.depth += 1;
        fill(self);
        self.depth -= 1;
        self.line(close);
    }

    pub(super) fn finish(self) -> String {
        self.text
    }
}

/// A string of TypeScript; JSON's are.
pub(super) fn quoted(text: &str) -> String {
    let json = serde_json::Value::from(text).to_string();
    // Line separators end a line in older versions of the language.
    json.replace('\u{2028}', "\\u2028")
        .replace('\u{2029}', "\\u2029")
}

/// The name of a property, in quotes where it needs them.
pub(super) fn key(name: &str) -> String {
    let starts_well = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_' || c == '$');
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '$';
    if starts_well && name.chars().all(is_plain) {
        name.to_owned()
    } else {
        quoted(name)
    }
}

fn list(names: &[String]) -> String {
    let names: Vec<String> = names.iter().map(|name| quoted(name)).collect();
    format!("[{}]", names.join(", "))
}

/// A table or a view.
pub(super) fn relation(
    writer: &mut Writer,
    relation: &RelationModel,
    schema: &SchemaModel,
    resolver: &Resolver<'_>,
    options: &Options,
) {
    writer.block(&format!("{}: {{", key(&relation.name)), "}", |writer| {
        writer.block("Row: {", "}", |writer| {
            for column in &relation.columns {
                let type_ = resolver.nullable(column.type_id, column.is_nullable);
                writer.line(&format!("{}: {type_}", key(&column.name)));
            }
            for function in schema.functions.iter() {
                if is_computed(function, relation.id, resolver) {
                    let type_ = resolver.nullable(function.return_type_id, true);
                    writer.line(&format!("{}: {type_}", key(&function.name)));
                }
            }
        });
        if relation.is_writable {
            for (name, is_update) in [("Insert", false), ("Update", true)] {
                writer.block(&format!("{name}: {{"), "}", |writer| {
                    for column in &relation.columns {
                        let is_optional = is_update || relation.is_view || has_value(column);
                        writer.line(&written(column, relation, is_optional, resolver));
                    }
                });
            }
        }
        relationships(writer, relation, options);
    });
}

/// A column in what is inserted or updated.
fn written(
    column: &Column,
    relation: &RelationModel,
    is_optional: bool,
    resolver: &Resolver<'_>,
) -> String {
    let name = key(&column.name);
    let is_always = column.identity_generation == Some(IdentityGeneration::Always);
    if is_always || column.is_generated || relation.is_view && !column.is_updatable {
        return format!("{name}?: never");
    }
    let mark = if is_optional { "?" } else { "" };
    let type_ = resolver.nullable(column.type_id, column.is_nullable || relation.is_view);
    format!("{name}{mark}: {type_}")
}

/// Whether a row without it gets one.
fn has_value(column: &Column) -> bool {
    column.is_nullable || column.is_identity || column.default_value.is_some()
}

fn relationships(writer: &mut Writer, relation: &RelationModel, options: &Options) {
    if relation.relationships.is_empty() {
        return writer.line("Relationships: []");
    }
    writer.block("Relationships: [", "]", |writer| {
        for one in &relation.relationships {
            writer.block("{", "},", |writer| {
                writer.line(&format!("foreignKeyName: {}", quoted(&one.name)));
                writer.line(&format!("columns: {}", list(&one.columns)));
                if options.detects_one_to_one {
                    writer.line(&format!("isOneToOne: {}", one.is_one_to_one));
                }
                writer.line(&format!(
                    "referencedRelation: {}",
                    quoted(&one.referenced_relation)
                ));
                writer.line(&format!(
                    "referencedColumns: {}",
                    list(&one.referenced_columns)
                ));
            });
        }
    });
}

fn inputs(function: &Function) -> impl Iterator<Item = &FunctionArgument> {
    function.args.iter().filter(|argument| {
        matches!(
            argument.mode,
            ArgumentMode::In | ArgumentMode::Inout | ArgumentMode::Variadic
        )
    })
}

/// A function of one row of the relation is a column of it.
fn is_computed(function: &Function, relation: u32, resolver: &Resolver<'_>) -> bool {
    let mut inputs = inputs(function);
    let (Some(first), None) = (inputs.next(), inputs.next()) else {
        return false;
    };
    let type_ = resolver.type_(first.type_id);
    type_.is_some_and(|type_| type_.relation == relation)
}

/// Functions of one name.
pub(super) fn functions(writer: &mut Writer, overloads: &[Function], resolver: &Resolver<'_>) {
    let Some(first) = overloads.first() else {
        return;
    };
    if let [only] = overloads {
        return writer.block(&format!("{}: {{", key(&only.name)), "}", |writer| {
            signature(writer, only, resolver);
        });
    }
    writer.line(&format!("{}:", key(&first.name)));
    writer.depth += 1;
    for function in overloads {
        writer.block("| {", "}", |writer| {
            writer.depth += 1;
            signature(writer, function, resolver);
            writer.depth -= 1;
        });
    }
    writer.depth -= 1;
}

fn signature(writer: &mut Writer, function: &Function, resolver: &Resolver<'_>) {
    let mut arguments = inputs(function).collect::<Vec<_>>();
    arguments.sort_by(|a, b| a.name.cmp(&b.name));
    let arguments: Vec<String> = arguments
        .iter()
        .map(|argument| {
            let mark = if argument.has_default { "?" } else { "" };
            let type_ = resolver.resolve(argument.type_id);
            format!("{}{mark}: {type_}", key(&argument.name))
        })
        .collect();
    if arguments.is_empty() {
        writer.line("Args: Record<PropertyKey, never>");
    } else {
        writer.line(&format!("Args: {{ {} }}", arguments.join("; ")));
    }
    returns(writer, function, resolver);
}

fn returns(writer: &mut Writer, function: &Function, resolver: &Resolver<'_>) {
    let target = resolver
        .type_(function.return_type_id)
        .filter(|type_| type_.relation != 0);
    let many = function.prorows.is_some_and(|rows| rows > 1.0);
    // With a target, the client itself makes a list of a single row.
    let is_list = function.is_set_returning_function && (many || target.is_none());
    let brackets = if is_list { "[]" } else { "" };
    let columns: Vec<&FunctionArgument> = function
        .args
        .iter()
        .filter(|argument| argument.mode == ArgumentMode::Table)
        .collect();
    if columns.is_empty() {
        let type_ = resolver.resolve(function.return_type_id);
        let type_ = if is_list && type_.contains(" | ") {
            format!("({type_})")
        } else {
            type_
        };
        writer.line(&format!("Returns: {type_}{brackets}"));
    } else {
        writer.block("Returns: {", &format!("}}{brackets}"), |writer| {
            for column in columns {
                let type_ = resolver.resolve(column.type_id);
                writer.line(&format!("{}: {type_}", key(&column.name)));
            }
        });
    }
    let Some(target) = target else {
        return;
    };
    let source = match function.args.as_slice() {
        [only] => resolver
            .type_(only.type_id)
            .filter(|type_| type_.relation != 0)
            .map_or("*", |type_| type_.name.as_str()),
        _ => "*",
    };
    writer.block("SetofOptions: {", "}", |writer| {
        writer.line(&format!("from: {}", quoted(source)));
        writer.line(&format!("to: {}", quoted(&target.name)));
        writer.line(&format!("isOneToOne: {}", !many));
        let is_set = function.is_set_returning_function;
        writer.line(&format!("isSetofReturn: {is_set}"));
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_quoted_where_they_need_it() {
        for (name, expected) in [
            ("plain_1", "plain_1"),
            ("1st", "\"1st\""),
            ("a b", "\"a b\""),
            ("a\"b\\", "\"a\\\"b\\\\\""),
            ("é", "\"é\""),
            ("a\u{2028}", "\"a\\u2028\""),
            ("", "\"\""),
        ] {
            assert_eq!(key(name), expected);
        }
    }
}

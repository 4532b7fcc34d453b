//! `$(name)` in a string: a value of the file, else an environment variable. `$$` is a literal
//! dollar.

use super::super::options::Value;

/// Looks up an environment variable.
pub(super) type Variables<'a> = dyn Fn(&str) -> Option<String> + 'a;

pub(super) fn interpolate<'a>(
    text: &str,
    in_file: impl Fn(&str) -> Option<&'a Value>,
    variables: &Variables<'_>,
) -> Result<String, String> {
    let mut result = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('$') {
        result.push_str(before);
        if let Some(after) = after.strip_prefix('$') {
            result.push('$');
            rest = after;
            continue;
        }
        let name = after
            .strip_prefix('(')
            .and_then(|after| after.split_once(')'));
        let Some((name, after)) = name.filter(|(name, _)| !name.is_empty()) else {
            return Err("a dollar begins $(variable); a plain one is written $$".to_owned());
        };
        match in_file(name) {
            Some(Value::Text(value) | Value::Number(value)) => result.push_str(value),
            Some(_) => return Err(format!("the variable {name} is neither text nor number")),
            None => match variables(name) {
                Some(value) => result.push_str(&value),
                None => return Err(format!("there is no variable {name}")),
            },
        }
        rest = after;
    }
    result.push_str(rest);
    Ok(result)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dollars_name_variables_or_stand_for_themselves() {
        let check = |text: &str, expected: Result<&str, ()>| {
            let variables = |name: &str| (name == "A").then(|| "1".to_owned());
            let result = interpolate(text, |_| None, &variables);
            assert_eq!(result.as_deref().map_err(|_| ()), expected, "{text}");
        };

        check("plain", Ok("plain"));
        check("$(A)$$$(A)", Ok("1$1"));
        check("$", Err(()));
        check("$A", Err(()));
        check("$(A", Err(()));
        check("$()", Err(()));
        check("$(B)", Err(()));
    }
}

//! From text to [`JsonPath`].

use serde_json::Value;

use super::{
    cursor::Cursor,
    path::{Comparison, Condition, JsonPath, Operand, Query, Segment, Selector},
    pattern::Pattern,
};

/// Integers that every JSON reader keeps exactly (RFC 9535 §2.1).
const LARGEST_INTEGER: i64 = 9_007_199_254_740_991;

/// Nesting that no person writes; deeper text could exhaust the stack.
const MAX_DEPTH: usize = 32;

/// Longer ones first, where one is the beginning of another.
const COMPARISONS: [(&str, Comparison); 6] = [
    (">=", Comparison::GreaterOrEqual),
    ("<=", Comparison::LessOrEqual),
    ("==", Comparison::Equal),
    ("!=", Comparison::NotEqual),
    (">", Comparison::Greater),
    ("<", Comparison::Less),
];

impl JsonPath {
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let mut parser = Parser {
            cursor: Cursor::new(text),
            depth: 0,
        };
        parser.cursor.expect("$")?;
        let segments = parser.segments()?;
        match parser.cursor.is_at_end() {
            false => Err(parser.cursor.expected("\".\" or \"[\"")),
            // The claims as a whole are no role.
            true if segments.is_empty() => Err(parser.cursor.expected("\".\" or \"[\"")),
            true => Ok(Self(segments)),
        }
    }
}

struct Parser<'a> {
    cursor: Cursor<'a>,
    depth: usize,
}

impl Parser<'_> {
    /// As many as follow; spaces count only when one does.
    fn segments(&mut self) -> Result<Vec<Segment>, String> {
        let mut segments = Vec::new();
        loop {
            let before = self.cursor.clone();
            self.cursor.skip_spaces();
            if !matches!(self.cursor.peek(), Some('.' | '[')) {
                self.cursor = before;
                return Ok(segments);
            }
            segments.push(self.segment()?);
        }
    }

    fn segment(&mut self) -> Result<Segment, String> {
        let is_descendant = self.cursor.eat("..");
        let is_dotted = is_descendant || self.cursor.eat(".");
        let selectors = match self.cursor.peek() {
            Some('[') if is_descendant || !is_dotted => self.bracketed()?,
            Some('*') => {
                self.cursor.next();
                vec![Selector::Wildcard]
            }
            _ => vec![Selector::Name(self.shorthand_name()?)],
        };
        Ok(Segment {
            is_descendant,
            selectors,
        })
    }

    fn shorthand_name(&mut self) -> Result<String, String> {
        let starts = |c: char| c.is_alphabetic() || c == '_' || !c.is_ascii();
        if !self.cursor.peek().is_some_and(starts) {
            return Err(self.cursor.expected("a name"));
        }
        let goes_on = |c: char| c.is_alphanumeric() || c == '_' || !c.is_ascii();
        Ok(self.cursor.take_while(goes_on).to_owned())
    }

    fn bracketed(&mut self) -> Result<Vec<Selector>, String> {
        self.cursor.expect("[")?;
        let mut selectors = Vec::new();
        loop {
            self.cursor.skip_spaces();
            selectors.push(self.selector()?);
            self.cursor.skip_spaces();
            if !self.cursor.eat(",") {
                self.cursor.expect("]")?;
                return Ok(selectors);
            }
        }
    }

    fn selector(&mut self) -> Result<Selector, String> {
        match self.cursor.peek() {
            Some('\'' | '"') => self.quoted().map(Selector::Name),
            Some('*') => {
                self.cursor.next();
                Ok(Selector::Wildcard)
            }
            Some('?') => {
                self.cursor.next();
                self.cursor.skip_spaces();
                self.any_of().map(Selector::Filter)
            }
            _ => self.index_or_slice(),
        }
    }

    fn index_or_slice(&mut self) -> Result<Selector, String> {
        let start = self.optional_integer()?;
        let after_start = self.cursor.clone();
        self.cursor.skip_spaces();
        if !self.cursor.eat(":") {
            self.cursor = after_start;
            return start
                .map(Selector::Index)
                .ok_or_else(|| self.cursor.expected("a name in quotes, an index, * or ?"));
        }
        self.cursor.skip_spaces();
        let end = self.optional_integer()?;
        self.cursor.skip_spaces();
        let mut step = None;
        if self.cursor.eat(":") {
            self.cursor.skip_spaces();
            step = self.optional_integer()?;
        }
        Ok(Selector::Slice {
            start,
            end,
            step: step.unwrap_or(1),
        })
    }

    fn optional_integer(&mut self) -> Result<Option<i64>, String> {
        if !matches!(self.cursor.peek(), Some('-' | '0'..='9')) {
            return Ok(None);
        }
        let before = self.cursor.clone();
        let sign = if self.cursor.eat("-") { -1 } else { 1 };
        let digits = self.cursor.take_while(|c| c.is_ascii_digit());
        let is_plain = digits == "0" && sign == 1 || !digits.starts_with('0');
        let number = digits.parse::<i64>().ok();
        let number = number.filter(|number| *number <= LARGEST_INTEGER);
        match number.filter(|_| is_plain) {
            Some(number) => Ok(Some(sign * number)),
            None => Err(before.expected("a whole number")),
        }
    }

    fn any_of(&mut self) -> Result<Condition, String> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(self.cursor.expected("something less deeply nested"));
        }
        let mut conditions = vec![self.all_of()?];
        while self.eat_spaced("||") {
            conditions.push(self.all_of()?);
        }
        self.depth -= 1;
        Ok(Condition::AnyOf(conditions))
    }

    fn all_of(&mut self) -> Result<Condition, String> {
        let mut conditions = vec![self.condition()?];
        while self.eat_spaced("&&") {
            conditions.push(self.condition()?);
        }
        Ok(Condition::AllOf(conditions))
    }

    fn eat_spaced(&mut self, word: &str) -> bool {
        let before = self.cursor.clone();
        self.cursor.skip_spaces();
        let is_here = self.cursor.eat(word);
        match is_here {
            true => self.cursor.skip_spaces(),
            false => self.cursor = before,
        }
        is_here
    }

    fn condition(&mut self) -> Result<Condition, String> {
        if self.cursor.eat("!") {
            self.cursor.skip_spaces();
            let inner = match self.cursor.peek() {
                Some('(') => self.parenthesised()?,
                Some('m' | 's') => self.text_test()?,
                _ => Condition::Exists(self.query()?),
            };
            return Ok(Condition::Not(Box::new(inner)));
        }
        if matches!(self.cursor.peek(), Some('m' | 's')) {
            return self.text_test();
        }
        if self.cursor.peek() == Some('(') {
            return self.parenthesised();
        }
        let left = self.operand()?;
        let Some(comparison) = self.comparison() else {
            return match left {
                Operand::Query(query) => Ok(Condition::Exists(query)),
                _ => Err(self.cursor.expected("a comparison")),
            };
        };
        let left = self.single(left)?;
        let right = self.operand().and_then(|operand| self.single(operand))?;
        Ok(Condition::Compares(left, comparison, right))
    }

    /// The operand, unless it may be several values.
    fn single(&self, operand: Operand) -> Result<Operand, String> {
        match operand {
            Operand::Query(query) if !query.is_singular() => {
                Err(self.cursor.expected("a path to a single value before this"))
            }
            operand => Ok(operand),
        }
    }

    /// The functions that are conditions by themselves.
    fn text_test(&mut self) -> Result<Condition, String> {
        let is_whole = self.cursor.eat("match(");
        if !is_whole && !self.cursor.eat("search(") {
            return Err(self.cursor.expected("match() or search()"));
        }
        let text = self.argument()?;
        self.cursor.expect(",")?;
        let pattern = self.argument()?;
        self.cursor.expect(")")?;
        Ok(Condition::Matches(text, Pattern::new(pattern, is_whole)))
    }

    fn argument(&mut self) -> Result<Operand, String> {
        self.cursor.skip_spaces();
        let operand = self.operand()?;
        let operand = self.single(operand)?;
        self.cursor.skip_spaces();
        Ok(operand)
    }

    fn parenthesised(&mut self) -> Result<Condition, String> {
        self.cursor.expect("(")?;
        self.cursor.skip_spaces();
        let inner = self.any_of()?;
        self.cursor.skip_spaces();
        self.cursor.expect(")")?;
        Ok(inner)
    }

    fn comparison(&mut self) -> Option<Comparison> {
        let before = self.cursor.clone();
        self.cursor.skip_spaces();
        let found = COMPARISONS.iter().find(|(word, _)| self.cursor.eat(word));
        let Some((_, comparison)) = found else {
            self.cursor = before;
            return None;
        };
        self.cursor.skip_spaces();
        Some(*comparison)
    }

    fn operand(&mut self) -> Result<Operand, String> {
        match self.cursor.peek() {
            Some('@' | '$') => self.query().map(Operand::Query),
            _ if self.cursor.eat("length(") => self.length(),
            _ if self.cursor.eat("count(") => self.query_argument().map(Operand::Count),
            _ if self.cursor.eat("value(") => self.query_argument().map(Operand::Only),
            _ => self.literal().map(Operand::Literal),
        }
    }

    fn length(&mut self) -> Result<Operand, String> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(self.cursor.expected("something less deeply nested"));
        }
        let argument = self.argument()?;
        self.depth -= 1;
        self.cursor.expect(")")?;
        Ok(Operand::Length(Box::new(argument)))
    }

    fn query_argument(&mut self) -> Result<Query, String> {
        self.cursor.skip_spaces();
        let query = self.query()?;
        self.cursor.skip_spaces();
        self.cursor.expect(")")?;
        Ok(query)
    }

    fn query(&mut self) -> Result<Query, String> {
        let is_from_root = match self.cursor.next() {
            Some('$') => true,
            Some('@') => false,
            _ => return Err(self.cursor.expected("@ or $ before this")),
        };
        let segments = self.segments()?;
        Ok(Query {
            is_from_root,
            segments,
        })
    }

    fn literal(&mut self) -> Result<Value, String> {
        if matches!(self.cursor.peek(), Some('\'' | '"')) {
            return self.quoted().map(Value::from);
        }
        for (word, value) in [
            ("true", Value::from(true)),
            ("false", Value::from(false)),
            ("null", Value::Null),
        ] {
            if self.cursor.eat(word) {
                return Ok(value);
            }
        }
        let before = self.cursor.clone();
        let number = self
            .cursor
            .take_while(|c| c.is_ascii_digit() || "+-.eE".contains(c));
        let number: Option<serde_json::Number> = serde_json::from_str(number).ok();
        number.map(Value::Number).ok_or_else(|| {
            before.expected("a text in quotes, a number, a path, true, false or null")
        })
    }

    /// A text in either kind of quotes, with JSON's escapes.
    fn quoted(&mut self) -> Result<String, String> {
        let Some(quote) = self.cursor.next() else {
            return Err(self.cursor.expected("a quote"));
        };
        let mut json = String::from('"');
        loop {
            let before = self.cursor.clone();
            match self.cursor.next() {
                Some(c) if c == quote => break,
                Some('\\') => match self.cursor.next() {
                    Some('\'') if quote == '\'' => json.push('\''),
                    Some('"') if quote != '"' => return Err(before.expected("no such escape")),
                    Some(c) => json.extend(['\\', c]),
                    None => return Err(self.cursor.expected("the closing quote")),
                },
                Some('"') => json.push_str("\\\""),
                Some(c) => json.push(c),
                None => return Err(self.cursor.expected("the closing quote")),
            }
        }
        json.push('"');
        serde_json::from_str(&json)
            .map_err(|_| self.cursor.expected("a well-formed text before this"))
    }
}

impl Query {
    /// Whether it finds one value at most.
    fn is_singular(&self) -> bool {
        self.segments.iter().all(|segment| {
            let selectors = segment.selectors.as_slice();
            !segment.is_descendant && matches!(selectors, [Selector::Name(_) | Selector::Index(_)])
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(path: &str, expected: Value) {
        let claims = json!({
            "a": { "b": ["x", "y", "z"], "n": [1, 2, 30] },
            "people": [
                { "name": "ada", "age": 36, "role": "admin" },
                { "name": "bob", "age": 7 },
            ],
            "wanted": "bob",
            "it's": "quoted",
        });
        let parsed = JsonPath::parse(path).unwrap_or_else(|problem| panic!("{path}: {problem}"));
        let found = parsed.first(claims.as_object().expect("an object"));
        assert_eq!(
            found.cloned().unwrap_or(json!("nothing")),
            expected,
            "{path}"
        );
    }

    #[test]
    fn names_indices_slices_and_wildcards_select() {
        check("$.a.b[0]", json!("x"));
        check("$.a.b[-1]", json!("z"));
        check("$.a.b[1:]", json!("y"));
        check("$.a.b[::-1]", json!("z"));
        check("$.a.b[5:1:-2]", json!("z"));
        check("$.a.b[::0]", json!("nothing"));
        check("$.a.b[ 7 , 1 ]", json!("y"));
        check("$ .a ['b'] [2]", json!("z"));
        check("$.a.*[1]", json!("y"));
        check("$..name", json!("ada"));
        check("$..[2]", json!("z"));
        check("$['it\\'s']", json!("quoted"));
        check("$[\"it's\"]", json!("quoted"));
        check("$.*.b[0]", json!("x"));
    }

    #[test]
    fn filters_compare_and_test() {
        check("$.a.b[?@ == 'y']", json!("y"));
        check("$.a.b[?(@ == \"y\")]", json!("y"));
        check("$.a.b[?(@ != 'x')]", json!("y"));
        check("$.a.n[?@ > 1.5]", json!(2));
        check("$.a.n[?@ >= 30 && @ < 31]", json!(30));
        check("$.a.b[?@ == 'q' || @ == 'z']", json!("z"));
        check("$.people[?@.role].name", json!("ada"));
        check("$.people[?!@.role].name", json!("bob"));
        check("$.people[?!(@.age < 10)].name", json!("ada"));
        check("$.people[?@.name == $.wanted].age", json!(7));
        check("$.people[?@.missing == @.absent].name", json!("ada"));
        check("$.people[?@.age == 36.0].name", json!("ada"));
        check("$.people[?@.name > 'b'].name", json!("bob"));
        check("$[?@ == 'bob']", json!("bob"));
    }

    #[test]
    fn functions_count_and_look_into_texts() {
        check("$.a.b[?search(@, '[yz]')]", json!("y"));
        check("$.people[?match(@.name, 'b.b')].name", json!("bob"));
        check("$.people[?match(@.name, 'b')].name", json!("nothing"));
        check("$.people[?search(@.name, 'b$')].name", json!("nothing"));
        check("$.people[?!search(@.name, 'a')].name", json!("bob"));
        check("$.people[?search(@.name, $.wanted)].name", json!("bob"));
        check(
            "$.people[?search(@.name, '[') || search(@.age, '7')]",
            json!("nothing"),
        );
        check("$.people[?length(@) == 2].name", json!("bob"));
        check("$.people[?length(@.name) >= 3].name", json!("ada"));
        check("$.people[?length(@.age) == 1].name", json!("nothing"));
        check("$[?count(@.*) == 2].n[0]", json!(1));
        check("$.people[?length($) == 4].name", json!("ada"));
        check("$.people[?count($) == 1 && $].name", json!("ada"));
        check("$.people[?value($) == $].name", json!("ada"));
        check("$.people[?!$].name", json!("nothing"));
        check("$.people[?value(@..role) == 'admin'].name", json!("ada"));
    }

    #[test]
    fn malformed_paths_are_refused() {
        for bad in [
            "a",
            "$.",
            "$..",
            "$.1a",
            "$[",
            "$[]",
            "$[01]",
            "$[-0]",
            "$['a",
            "$.a;",
            "$.a ",
            "$[?]",
            "$[?@ = 1]",
            "$[?1]",
            "$[?@.* == 1]",
            "$[9007199254740992]",
            "$.[0]",
            "$",
            "$['\\x']",
            "$[?search(@)]",
            "$[?search(@, 'x') == true]",
            "$[?search(@.*, 'x')]",
            "$[?length(@)]",
            "$[?length(@.*) == 1]",
            "$[?count(1) == 1]",
            "$[?starts_with(@, 'x')]",
            "$[?!length(@)]",
        ] {
            assert!(JsonPath::parse(bad).is_err(), "{bad}");
        }
        let deep = format!("$[?{}@{}]", "(".repeat(100), ")".repeat(100));
        assert!(JsonPath::parse(&deep).is_err());
        let deep = format!("$[?{}@{} == 1]", "length(".repeat(100), ")".repeat(100));
        assert!(JsonPath::parse(&deep).is_err());
    }
}

//! Contextual escaping: which part of an HTML page a value stands in, and how it is escaped there.
//!
//! A state machine follows the page as it is written. Values never change the state: they are escaped
//! so that they stay text, the value of one attribute, or a part of one URL.

mod escape;

pub(super) use escape::{escape, script_text};

use escape::{css, name, query, unquoted, url};

/// Written instead of a value that cannot be escaped, as Go's templates do.
const UNSAFE_VALUE: &str = "ZgotmplZ";

/// The part of a page that is being written.
#[derive(Debug, Default)]
pub(super) struct HtmlContext {
    state: State,
    /// The element whose tag is or was being written.
    tag: String,
    attribute: String,
    /// Whether spaces came after the attribute's name; its `=` may still come.
    is_name_over: bool,
    /// The last characters, to find ends that are longer than one.
    recent: String,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum State {
    #[default]
    Text,
    /// After `<`.
    TagName,
    /// In a tag, between attributes or in the name of one.
    Tag,
    /// After `=`.
    BeforeValue,
    Value {
        quote: Option<char>,
        kind: Kind,
        part: UrlPart,
    },
    Comment,
    /// In an element whose content is not markup.
    Raw,
}

/// What an attribute's value is read as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Plain,
    Url,
    Css,
    Script,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum UrlPart {
    /// Nothing is written yet: a scheme may come.
    Start,
    Path,
    QueryOrFragment,
}

impl HtmlContext {
    /// Follows text of the template.
    pub(super) fn advance(&mut self, text: &str) {
        for c in text.chars() {
            self.state = self.next(c);
        }
    }

    fn next(&mut self, c: char) -> State {
        match self.state {
            State::Text if c == '<' => {
                self.tag.clear();
                State::TagName
            }
            State::Text => State::Text,
            State::TagName => self.in_tag_name(c),
            State::Tag => self.in_tag(c),
            State::BeforeValue => self.before_value(c),
            State::Value { quote, kind, part } => self.in_value(c, quote, kind, part),
            State::Comment => self.until_recent(c, "-->", State::Comment),
            State::Raw => {
                let end = format!("</{}", self.tag);
                match self.until_recent(c, &end, State::Raw) {
                    State::Text => {
                        self.tag.insert(0, '/');
                        State::Tag
                    }
                    state => state,
                }
            }
        }
    }

    fn in_tag_name(&mut self, c: char) -> State {
        match c {
            '<' if self.tag.is_empty() => State::TagName,
            // A mere "less than".
            c if self.tag.is_empty() && !(c.is_ascii_alphabetic() || "/!?".contains(c)) => {
                State::Text
            }
            '>' => self.after_tag(),
            c if c.is_whitespace() || (c == '/' && !self.tag.is_empty()) => {
                self.attribute.clear();
                State::Tag
            }
            c => {
                self.tag.push(c.to_ascii_lowercase());
                if self.tag == "!--" {
                    self.recent.clear();
                    State::Comment
                } else {
                    State::TagName
                }
            }
        }
    }

    fn in_tag(&mut self, c: char) -> State {
        match c {
            '>' => return self.after_tag(),
            '=' => return State::BeforeValue,
            c if c.is_whitespace() => self.is_name_over = true,
            '/' | '"' | '\'' => self.attribute.clear(),
            c => {
                if self.is_name_over {
                    self.attribute.clear();
                }
                self.is_name_over = false;
                self.attribute.push(c.to_ascii_lowercase());
            }
        }
        State::Tag
    }

    fn before_value(&mut self, c: char) -> State {
        match c {
            '>' => self.after_tag(),
            '"' | '\'' => self.value(Some(c)),
            c if c.is_whitespace() => State::BeforeValue,
            c => {
                self.state = self.value(None);
                self.next(c)
            }
        }
    }

    fn value(&self, quote: Option<char>) -> State {
        State::Value {
            quote,
            kind: kind_of(&self.attribute),
            part: UrlPart::Start,
        }
    }

    fn in_value(&mut self, c: char, quote: Option<char>, kind: Kind, part: UrlPart) -> State {
        let is_over = match quote {
            Some(quote) => c == quote,
            None => c.is_whitespace() || c == '>',
        };
        if is_over {
            self.attribute.clear();
            return match c {
                '>' => self.after_tag(),
                _ => State::Tag,
            };
        }
        let part = match c {
            '?' | '#' => UrlPart::QueryOrFragment,
            c if c.is_whitespace() => part,
            _ if part == UrlPart::Start => UrlPart::Path,
            _ => part,
        };
        State::Value { quote, kind, part }
    }

    fn after_tag(&mut self) -> State {
        match self.tag.as_str() {
            "script" | "style" | "textarea" | "title" => {
                self.recent.clear();
                State::Raw
            }
            _ => State::Text,
        }
    }

    /// [`State::Text`] when what was written last ends with `end`.
    fn until_recent(&mut self, c: char, end: &str, otherwise: State) -> State {
        self.recent.push(c.to_ascii_lowercase());
        if self.recent.ends_with(end) {
            self.recent.clear();
            return State::Text;
        }
        let surplus = self.recent.chars().count().saturating_sub(end.len());
        if surplus > 0 {
            self.recent = self.recent.chars().skip(surplus).collect();
        }
        otherwise
    }

    /// Escapes a value for this context. `is_encoded`: it went through `urlquery` already.
    pub(super) fn escape_for_context(&mut self, value: &str, is_encoded: bool) -> String {
        match self.state {
            State::Text => escape(value),
            State::Raw => match self.tag.as_str() {
                "title" | "textarea" => escape(value),
                "style" => css(value),
                _ => script_text(value),
            },
            State::Comment => String::new(),
            State::TagName => UNSAFE_VALUE.to_owned(),
            // What follows must not be read as a script or a link because of a name from the data.
            State::Tag if kind_of(&value.to_ascii_lowercase()) != Kind::Plain => {
                UNSAFE_VALUE.to_owned()
            }
            State::Tag => name(value),
            State::BeforeValue => {
                self.state = self.value(None);
                self.escape_for_context(value, is_encoded)
            }
            State::Value { quote, kind, part } => {
                let inside = match (kind, part) {
                    (Kind::Plain, _) => value.to_owned(),
                    (Kind::Css, _) => css(value),
                    (Kind::Script, _) => script_text(value),
                    (Kind::Url, UrlPart::QueryOrFragment) if !is_encoded => query(value),
                    (Kind::Url, UrlPart::Start) if !has_good_scheme(value) => {
                        format!("#{UNSAFE_VALUE}")
                    }
                    (Kind::Url, _) => url(value),
                };
                self.advance_value(quote, kind, part, &inside);
                match quote {
                    Some(_) => escape(&inside),
                    None => unquoted(&inside),
                }
            }
        }
    }

    /// A value may bring its own question mark.
    fn advance_value(&mut self, quote: Option<char>, kind: Kind, part: UrlPart, inside: &str) {
        let part = match part {
            _ if inside.contains(['?', '#']) => UrlPart::QueryOrFragment,
            UrlPart::Start if !inside.is_empty() => UrlPart::Path,
            part => part,
        };
        self.state = State::Value { quote, kind, part };
    }
}

fn kind_of(attribute: &str) -> Kind {
    const URLS: &[&str] = &[
        "action",
        "archive",
        "background",
        "cite",
        "classid",
        "codebase",
        "data",
        "formaction",
        "href",
        "icon",
        "longdesc",
        "manifest",
        "ping",
        "poster",
        "profile",
        "src",
        "srcset",
        "usemap",
    ];
    let local = attribute.rsplit(':').next().unwrap_or(attribute);
    match local {
        "style" => Kind::Css,
        "srcdoc" => Kind::Script,
        name if name.starts_with("on") => Kind::Script,
        name if URLS.contains(&name) => Kind::Url,
        name if ["src", "uri", "url"].iter().any(|part| name.contains(part)) => Kind::Url,
        _ => Kind::Plain,
    }
}

/// Whether a browser or mail program follows such a link without running anything.
fn has_good_scheme(value: &str) -> bool {
    let Some((scheme, _)) = value.split_once(':') else {
        return true;
    };
    // A colon after one of these is no scheme's.
    scheme.contains(['/', '?', '#'])
        || ["http", "https", "mailto"]
            .iter()
            .any(|good| scheme.eq_ignore_ascii_case(good))
}

//! The plain text of an HTML page, and the links in it.
//!
//! For the text part of mails and for the mailbox. It handles the HTML that mails contain, not all
//! of HTML.

/// Text and links of a page. Not `Debug`: it may contain one-time codes.
pub(super) struct PlainText {
    pub(super) text: String,
    pub(super) links: Vec<String>,
}

/// Extracts text and links; malformed HTML yields some text, too.
pub(super) fn extract(html: &str) -> PlainText {
    let mut reader = Reader::default();
    let mut rest = html;
    while let Some(at) = rest.find('<') {
        reader.text(&rest[..at]);
        rest = reader.markup(&rest[at..]);
    }
    reader.text(rest);
    PlainText {
        text: tidy(&reader.out),
        links: reader.links,
    }
}

#[derive(Default)]
struct Reader {
    out: String,
    links: Vec<String>,
    /// The link that is open, and where its text begins.
    open: Option<(String, usize)>,
}

impl Reader {
    fn text(&mut self, text: &str) {
        let mut was_space = self.out.ends_with([' ', '\n']);
        for c in unescape(text).chars() {
            let is_space = c.is_whitespace() && c != '\u{a0}';
            if !is_space {
                self.out.push(c);
            } else if !was_space {
                self.out.push(' ');
            }
            was_space = is_space;
        }
    }

    /// Handles the markup at the start of `rest` and returns what follows it.
    fn markup<'a>(&mut self, rest: &'a str) -> &'a str {
        if let Some(comment) = rest.strip_prefix("<!--") {
            return comment.split_once("-->").map_or("", |(_, after)| after);
        }
        let Some(end) = tag_end(rest) else {
            self.out.push('<');
            return &rest[1..];
        };
        let (tag, after) = (&rest[1..end], &rest[end + 1..]);
        let name: String = tag
            .chars()
            .take_while(|c| !c.is_whitespace() && (*c != '/' || tag.starts_with('/')))
            .collect::<String>()
            .to_ascii_lowercase();
        match name.as_str() {
            "head" | "style" | "script" | "title" => return after_element(after, &name),
            "a" => self.begin_link(tag),
            "/a" => self.end_link(),
            "br" => self.out.push('\n'),
            "p" | "/p" | "h1" | "/h1" | "h2" | "/h2" | "h3" | "/h3" | "ul" | "/ul" | "ol"
            | "/ol" | "table" | "/table" | "hr" | "blockquote" | "/blockquote" => {
                self.out.push_str("\n\n");
            }
            "div" | "/div" | "tr" | "/tr" | "/li" => self.out.push('\n'),
            "li" => self.out.push_str("\n- "),
            "td" | "/td" | "th" | "/th" => self.out.push(' '),
            _ => {}
        }
        after
    }

    fn begin_link(&mut self, tag: &str) {
        if let Some(target) = attribute(tag, "href").filter(|target| !target.is_empty()) {
            self.open = Some((target, self.out.len()));
        }
    }

    fn end_link(&mut self) {
        let Some((target, start)) = self.open.take() else {
            return;
        };
        let says_target = self
            .out
            .get(start..)
            .is_some_and(|text| text.trim() == target);
        if !says_target {
            self.out.push_str(": ");
            self.out.push_str(&target);
        }
        if !self.links.contains(&target) {
            self.links.push(target);
        }
    }
}

/// Where the tag at the start of `rest` ends; a quoted `>` does not end it.
fn tag_end(rest: &str) -> Option<usize> {
    let second = rest.chars().nth(1)?;
    if !(second.is_ascii_alphabetic() || second == '/' || second == '!') {
        return None;
    }
    let mut quote = None;
    for (at, c) in rest.char_indices() {
        match (quote, c) {
            (None, '>') => return Some(at),
            (None, '"' | '\'') => quote = Some(c),
            (Some(open), c) if c == open => quote = None,
            _ => {}
        }
    }
    None
}

fn after_element<'a>(rest: &'a str, name: &str) -> &'a str {
    let end = format!("</{name}");
    let lower = rest.to_ascii_lowercase();
    match lower.find(&end) {
        Some(at) => rest[at..].split_once('>').map_or("", |(_, after)| after),
        None => "",
    }
}

/// The value of a quoted attribute.
fn attribute(tag: &str, name: &str) -> Option<String> {
    let lower = tag.to_ascii_lowercase();
    let start = format!("{name}=");
    let mut places = lower.match_indices(&start).map(|(at, _)| at);
    let at = places.find(|at| lower[..*at].ends_with(char::is_whitespace))?;
    let value = tag.get(at + start.len()..)?;
    let quote = value.chars().next()?;
    let value = match quote {
        '"' | '\'' => value[1..].split(quote).next()?,
        _ => value.split(char::is_whitespace).next()?,
    };
    Some(unescape(value))
}

/// Decodes the entities that escaping produces and authors use.
fn unescape(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('&') {
        plain.push_str(&rest[..at]);
        rest = &rest[at..];
        match entity(rest) {
            Some((c, length)) => {
                plain.push(c);
                rest = &rest[length..];
            }
            None => {
                plain.push('&');
                rest = &rest[1..];
            }
        }
    }
    plain.push_str(rest);
    plain
}

/// The character of an entity at the start, and the entity's length.
fn entity(text: &str) -> Option<(char, usize)> {
    const LONGEST: usize = 10;
    let end = text.bytes().take(LONGEST).position(|byte| byte == b';')?;
    let name = text.get(1..end)?;
    let c = match name {
        "amp" => '&',
        "lt" => '<',
        "gt" => '>',
        "quot" => '"',
        "apos" => '\'',
        "nbsp" => '\u{a0}',
        "copy" => '©',
        "mdash" => '—',
        "ndash" => '–',
        "hellip" => '…',
        _ => {
            let digits = name.strip_prefix('#')?;
            let number = match digits.strip_prefix(['x', 'X']) {
                Some(hex) => u32::from_str_radix(hex, 16).ok()?,
                None => digits.parse().ok()?,
            };
            char::from_u32(number)?
        }
    };
    Some((c, end + 1))
}

/// Trims lines, and reduces several empty lines to one.
fn tidy(text: &str) -> String {
    let mut tidy = String::with_capacity(text.len());
    let mut empty_lines = 0;
    for line in text.lines().map(str::trim) {
        if line.is_empty() {
            empty_lines += 1;
            continue;
        }
        if !tidy.is_empty() {
            tidy.push_str(if empty_lines > 0 { "\n\n" } else { "\n" });
        }
        empty_lines = 0;
        tidy.push_str(line);
    }
    tidy
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn check(html: &str, text: &str, links: &[&str]) {
        let plain = extract(html);
        assert_eq!(plain.text, text);
        assert_eq!(plain.links, links);
    }

    #[test]
    fn a_page_becomes_paragraphs_and_links() {
        check(
            "<head><title>x</title></head><style>p{}</style><h1>Hello</h1>\n<p>Dear&nbsp;Ann &amp;\n co,<br>go on</p>\
             <p><a class='b' href=\"https://a.test/?x=1&amp;y=2\">Sign in</a></p>",
            "Hello\n\nDear\u{a0}Ann & co,\ngo on\n\nSign in: https://a.test/?x=1&y=2",
            &["https://a.test/?x=1&y=2"],
        );
    }

    #[test]
    fn a_link_that_says_where_it_leads_is_not_repeated() {
        check(
            "<a\n  data-href='x'\n  href=\"https://a.test\">https://a.test</a>",
            "https://a.test",
            &["https://a.test"],
        );
    }

    #[test]
    fn lists_have_bullets_and_comments_are_not_read() {
        check(
            "<ul><li>a</li><li>b</li></ul><!-- <p>c -->",
            "- a\n\n- b",
            &[],
        );
        check(
            "1 < 2 &lt; &#51; &#x34; &bogus;",
            "1 < 2 < 3 4 &bogus;",
            &[],
        );
    }

    proptest! {
        #[test]
        fn nothing_makes_it_panic(html in "[<>a-z/ =\"'&#;!é-]{0,60}") {
            _ = extract(&html);
        }
    }
}

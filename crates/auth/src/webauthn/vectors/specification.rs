//! Reads the test vectors of the specification's source, `index.bs` of w3c/webauthn.
//!
//! Each has a section `## title ## {#sctn-test-vectors-…}` with two examples: a registration and
//! an authentication, as lines `name = h'…'`.

use std::collections::HashMap;

use data_encoding::HEXLOWER_PERMISSIVE;

/// A registration, and an authentication with the same credential.
#[derive(Debug, PartialEq)]
pub(super) struct Vector {
    pub(super) title: String,
    pub(super) registration: Example,
    pub(super) authentication: Example,
}

/// The byte strings of one example, by name.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Example(HashMap<String, Vec<u8>>);

impl Example {
    pub(super) fn bytes(&self, name: &str) -> Result<&[u8], String> {
        let bytes = self.0.get(name).map(Vec::as_slice);
        bytes.ok_or_else(|| format!("the specification gives no {name}"))
    }

    fn is_ceremony(&self) -> bool {
        self.0.contains_key("challenge")
    }
}

/// Fails if a section has anything but one registration and one authentication, so that vectors of
/// an unknown form are not left out unnoticed.
pub(super) fn parse(text: &str) -> Result<Vec<Vector>, String> {
    let vectors = sections(text).into_iter().filter_map(|(title, examples)| {
        let examples: Vec<_> = examples.into_iter().filter(Example::is_ceremony).collect();
        let count = examples.len();
        match <[Example; 2]>::try_from(examples) {
            Ok([registration, authentication]) => Some(Ok(Vector {
                title,
                registration,
                authentication,
            })),
            // The certificate of the attestations' issuer.
            Err(_) if count == 0 => None,
            Err(_) => Some(Err(format!("{title}: {count} ceremonies instead of 2"))),
        }
    });
    vectors.collect()
}

/// The sections of test vectors with all their examples.
fn sections(text: &str) -> Vec<(String, Vec<Example>)> {
    let mut sections: Vec<(String, Vec<Example>)> = Vec::new();
    let (mut is_vector, mut is_example) = (false, false);
    for line in text.lines() {
        if is_example && line.starts_with("</xmp>") {
            is_example = false;
        } else if is_example {
            let examples = sections.last_mut().map(|(_, examples)| examples);
            let example = examples.and_then(|examples| examples.last_mut());
            if let (Some(example), Some((name, bytes))) = (example, byte_string(line)) {
                example.0.insert(name.to_owned(), bytes);
            }
        } else if line.starts_with('#') {
            let title = vector_title(line);
            is_vector = title.is_some();
            sections.extend(title.map(|title| (title.to_owned(), Vec::new())));
        } else if is_vector && line.starts_with("<xmp") {
            is_example = true;
            if let Some((_, examples)) = sections.last_mut() {
                examples.push(Example::default());
            }
        }
    }
    sections
}

/// The title of a heading such as `## title ## {#sctn-test-vectors-name}`.
fn vector_title(line: &str) -> Option<&str> {
    let (title, _) = line
        .strip_prefix("## ")?
        .split_once(" ## {#sctn-test-vectors-")?;
    Some(title)
}

/// Name and value of a line `name = h'…'`; what follows is a comment.
fn byte_string(line: &str) -> Option<(&str, Vec<u8>)> {
    let (name, value) = line.split_once(" = h'")?;
    let (value, _) = value.split_once('\'')?;
    let bytes = HEXLOWER_PERMISSIVE.decode(value.as_bytes()).ok()?;
    Some((name.trim(), bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
# Vectors # {#sctn-test-vectors}
## Root ## {#sctn-test-vectors-root}
<xmp>
cert = h'01'
</xmp>
## One ## {#sctn-test-vectors-one}
Registration:
<xmp>
# not a heading
challenge = h'00ff'   ; h'22'
name = 'x'
</xmp>
<xmp>
challenge = h'02' = b64'Ag'
</xmp>
## Extensions ## {#extensions}
<xmp>
challenge = h'03'
</xmp>
";

    #[test]
    fn a_pair_of_ceremonies_is_a_vector() {
        let vectors = parse(TEXT).expect("a good text");

        let [vector] = vectors.as_slice() else {
            panic!("{vectors:?}");
        };
        assert_eq!(vector.title, "One");
        assert_eq!(vector.registration.bytes("challenge"), Ok(&[0, 255][..]));
        assert_eq!(vector.authentication.bytes("challenge"), Ok(&[2][..]));
        assert!(vector.registration.bytes("name").is_err());
    }

    #[test]
    fn a_section_of_another_form_is_an_error() {
        let text = TEXT.replace("## Extensions ## {#extensions}\n", "");
        assert_eq!(
            parse(&text),
            Err("One: 3 ceremonies instead of 2".to_owned())
        );
        assert_eq!(parse("no specification"), Ok(Vec::new()));
    }
}

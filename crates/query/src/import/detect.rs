//! Finding out how a file is to be read, from its beginning.

use crate::QueryError;

use super::{
    csv::CsvReader,
    decode::Decoder,
    options::{Encoding, FileFormat, FileOptions, KnownOptions},
    record::Record,
};

/// Separators that are tried, the likelier ones first.
const DELIMITERS: [u8; 4] = *b",;\t|";
/// Records of the sample that are looked at.
const MAX_RECORDS: usize = 200;

/// Completes options by what a file begins with.
pub(super) fn detect(sample: &[u8], options: &FileOptions) -> Result<KnownOptions, QueryError> {
    let encoding = options.encoding.unwrap_or_else(|| encoding(sample));
    let mut decoder = Decoder::new(encoding);
    let text = decoder.push(sample, false).text;
    let format = options.format.unwrap_or_else(|| format(text));
    let quote = match options.quote {
        Some(quote) => FileOptions::mark("quote", quote)?,
        None => quote(text),
    };
    let delimiter = match (options.delimiter, format) {
        (Some(delimiter), _) => FileOptions::mark("delimiter", delimiter)?,
        (None, FileFormat::Tsv) => b'\t',
        (None, _) => delimiter(text, quote),
    };
    if delimiter == quote {
        return Err(QueryError::Invalid(
            "`delimiter` and `quote` are the same character".to_owned(),
        ));
    }
    let is_json = matches!(format, FileFormat::Json | FileFormat::Ndjson);
    let records = if is_json {
        Vec::new()
    } else {
        records(text, delimiter, quote)
    };
    Ok(KnownOptions {
        format,
        delimiter,
        quote,
        encoding,
        has_header: options.header.unwrap_or_else(|| has_header(&records)),
        null: match &options.null {
            Some(null) => null.clone(),
            None => null_text(&records),
        },
    })
}

/// By a byte order mark, by zeros between characters, or by what is no UTF-8.
fn encoding(sample: &[u8]) -> Encoding {
    if sample.starts_with(b"\xff\xfe") {
        return Encoding::Utf16Le;
    }
    if sample.starts_with(b"\xfe\xff") {
        return Encoding::Utf16Be;
    }
    let pairs = sample.chunks_exact(2).take(512);
    let count = pairs.len().max(1);
    let zeros = |place: usize| pairs.clone().filter(|pair| pair[place] == 0).count();
    if zeros(1) * 2 > count {
        return Encoding::Utf16Le;
    }
    if zeros(0) * 2 > count {
        return Encoding::Utf16Be;
    }
    match std::str::from_utf8(sample) {
        Ok(_) => Encoding::Utf8,
        // The sample may end within a character.
        Err(error) if error.error_len().is_none() => Encoding::Utf8,
        Err(_) => Encoding::Windows1252,
    }
}

fn format(text: &[u8]) -> FileFormat {
    let start = text.iter().position(|byte| !byte.is_ascii_whitespace());
    match start.map(|at| text[at]) {
        Some(b'[') => FileFormat::Json,
        Some(b'{') => FileFormat::Ndjson,
        _ => FileFormat::Csv,
    }
}

/// A single quote only where values are surrounded by it and by no double quote.
fn quote(text: &[u8]) -> u8 {
    let starts = |quote: u8| {
        text.windows(2)
            .filter(|two| two[1] == quote && matches!(two[0], b',' | b';' | b'\t' | b'|' | b'\n'))
            .count()
    };
    if starts(b'"') == 0 && starts(b'\'') > 2 {
        b'\''
    } else {
        b'"'
    }
}

/// The one that gives most records the same number of values, and more than one.
fn delimiter(text: &[u8], quote: u8) -> u8 {
    let mut best = (0, b',');
    for candidate in DELIMITERS {
        let widths: Vec<usize> = records(text, candidate, quote)
            .iter()
            .map(Record::len)
            .collect();
        let Some(&width) = widths.first().filter(|width| **width > 1) else {
            continue;
        };
        let same = widths.iter().filter(|other| **other == width).count();
        let score = same * 1000 / widths.len() * 100 + width.min(99);
        if score > best.0 {
            best = (score, candidate);
        }
    }
    best.1
}

/// The whole records of a sample.
pub(super) fn records(text: &[u8], delimiter: u8, quote: u8) -> Vec<Record> {
    let mut found = Vec::new();
    let mut reader = CsvReader::new(delimiter, quote);
    let mut keep = |record: &Record| {
        if !record.is_blank() && found.len() < MAX_RECORDS {
            found.push(record.copy());
        }
        Ok(())
    };
    let is_read = reader.push(text, &mut keep).is_ok();
    if is_read && found.is_empty() {
        let mut keep = |record: &Record| {
            found.push(record.copy());
            Ok(())
        };
        _ = reader.finish(&mut keep);
    }
    found
}

/// Names are texts that differ, where other lines have numbers, dates or nothing.
fn has_header(records: &[Record]) -> bool {
    let Some((first, others)) = records.split_first() else {
        return true;
    };
    let names = values(first);
    if names.iter().any(|name| looks_like_data(name)) || names.iter().all(|name| name.is_empty()) {
        return false;
    }
    let has_data = |record: &Record| values(record).into_iter().any(looks_like_data);
    if others.iter().any(has_data) {
        return true;
    }
    // Texts alone: the first line of a file usually has names.
    let mut sorted = names.clone();
    sorted.sort_unstable();
    sorted.dedup();
    sorted.len() == names.len() && !names.iter().any(|name| name.is_empty())
}

fn values(record: &Record) -> Vec<&[u8]> {
    (0..record.len())
        .filter_map(|index| record.value(index).map(|value| value.0))
        .collect()
}

/// A number, a date, or the like.
fn looks_like_data(value: &[u8]) -> bool {
    let digits = value.iter().filter(|byte| byte.is_ascii_digit()).count();
    let is_number = digits > 0
        && value
            .iter()
            .all(|byte| byte.is_ascii_digit() || b"+-.,:/ eETZ%$".contains(byte));
    is_number || matches!(value, b"true" | b"false" | b"NULL" | b"\\N")
}

/// Nothing at all, unless the file writes NULL in words.
fn null_text(records: &[Record]) -> String {
    for null in ["\\N", "NULL", "null"] {
        let is_used = records.iter().any(|record| {
            (0..record.len()).any(|index| record.value(index) == Some((null.as_bytes(), false)))
        });
        if is_used {
            return null.to_owned();
        }
    }
    String::new()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> KnownOptions {
        detect(text.as_bytes(), &FileOptions::default()).expect("detected")
    }

    #[test]
    fn separators_and_quotes_are_found() {
        for (text, delimiter, quote) in [
            ("a,b\n1,2\n", b',', b'"'),
            ("a;b\n1,5;2\n3,5;4\n", b';', b'"'),
            ("a\tb\n1\t2\n", b'\t', b'"'),
            ("a|b|c\n\"1|2\"|3|4\n", b'|', b'"'),
            ("a,b\n'x','y'\n'z','w'\n", b',', b'\''),
            ("one\ntwo\n", b',', b'"'),
        ] {
            let found = of(text);
            assert_eq!((found.delimiter, found.quote), (delimiter, quote), "{text}");
        }
    }

    #[test]
    fn headers_are_told_from_data() {
        for (text, has_header) in [
            ("id,name\n1,x\n", true),
            ("1,x\n2,y\n", false),
            ("name,city\nAda,London\n", true),
            ("a,a\nb,c\n", false),
            ("", true),
        ] {
            assert_eq!(of(text).has_header, has_header, "{text:?}");
        }
    }

    #[test]
    fn formats_encodings_and_nulls_are_found() {
        assert_eq!(of(" [{}]").format, FileFormat::Json);
        assert_eq!(of("{}\n{}").format, FileFormat::Ndjson);
        assert_eq!(of("a,b\n\\N,1\n").null, "\\N");
        assert_eq!(of("a,b\n,1\n").null, "");
        let utf16: Vec<u8> = "a,b\n1,2\n"
            .encode_utf16()
            .flat_map(u16::to_le_bytes)
            .collect();
        let found = detect(&utf16, &FileOptions::default()).expect("detected");
        assert_eq!((found.encoding, found.delimiter), (Encoding::Utf16Le, b','));
        let found = detect(b"caf\xe9,1\n", &FileOptions::default()).expect("detected");
        assert_eq!(found.encoding, Encoding::Windows1252);
    }

    #[test]
    fn marks_that_cannot_be_are_refused() {
        for mark in ['a', '1', '\n', 'é', '.', '\0'] {
            let options = FileOptions {
                delimiter: Some(mark),
                ..FileOptions::default()
            };
            assert!(detect(b"", &options).is_err(), "{mark:?}");
        }
        let same = FileOptions {
            delimiter: Some('"'),
            quote: Some('"'),
            ..FileOptions::default()
        };
        assert!(detect(b"", &same).is_err());
    }

    proptest::proptest! {
        #[test]
        fn any_bytes_can_be_asked(bytes in proptest::collection::vec(proptest::num::u8::ANY, 0..200)) {
            _ = detect(&bytes, &FileOptions::default());
        }
    }
}

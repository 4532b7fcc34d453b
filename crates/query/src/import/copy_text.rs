//! Rows in COPY's text format.

use bytes::{BufMut as _, BytesMut};

/// A value.
pub(super) fn push_value(out: &mut BytesMut, value: &[u8]) {
    let mut rest = value;
    loop {
        let end = rest
            .iter()
            .position(|byte| matches!(byte, b'\\' | b'\n' | b'\r' | b'\t'));
        let Some(end) = end else {
            out.put_slice(rest);
            return;
        };
        out.put_slice(&rest[..end]);
        out.put_slice(match rest[end] {
            b'\\' => b"\\\\",
            b'\n' => b"\\n",
            b'\r' => b"\\r",
            _ => b"\\t",
        });
        rest = &rest[end + 1..];
    }
}

/// A value that may be NULL.
pub(super) fn push_optional(out: &mut BytesMut, value: Option<&[u8]>) {
    match value {
        Some(value) => push_value(out, value),
        None => out.put_slice(b"\\N"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_means_something_is_escaped() {
        let mut out = BytesMut::new();
        push_optional(&mut out, Some(b"a\tb\\N\r\n"));
        push_optional(&mut out, None);
        assert_eq!(&out[..], b"a\\tb\\\\N\\r\\n\\N");
    }
}

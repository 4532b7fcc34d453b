//! Adds a parameter that `tokio-postgres` does not support to its StartupMessage.
//!
//! A connection begins with an optional SSLRequest, then either the StartupMessage or a TLS handshake,
//! inside which another stream carries the message. The first eight bytes distinguish them.

use bytes::{Buf as _, BufMut as _, BytesMut};

/// Length and code, with which every message of the startup phase begins.
const HEAD: usize = 8;
const SSL_REQUEST: u32 = 80_877_103;
/// Major protocol version.
const PROTOCOL: u32 = 3;

/// Rewrites the message as it passes through.
pub(super) struct StartupParameter {
    name: &'static str,
    value: &'static str,
    /// Written bytes of an incomplete message.
    held_back: BytesMut,
    is_done: bool,
}

impl StartupParameter {
    pub(super) fn new(name: &'static str, value: &'static str) -> Self {
        Self {
            name,
            value,
            held_back: BytesMut::new(),
            is_done: false,
        }
    }

    /// Whether there is nothing left to rewrite.
    pub(super) fn is_done(&self) -> bool {
        self.is_done
    }

    /// Takes written bytes; appends what can be sent to `out`.
    pub(super) fn rewrite(&mut self, bytes: &[u8], out: &mut BytesMut) {
        self.held_back.extend_from_slice(bytes);
        while !self.is_done && self.held_back.len() >= HEAD {
            let mut head = &self.held_back[..HEAD];
            let (length, code) = (head.get_u32() as usize, head.get_u32());
            match code {
                SSL_REQUEST => out.extend_from_slice(&self.held_back.split_to(HEAD)),
                code if code >> 16 != PROTOCOL => self.is_done = true,
                _ if self.held_back.len() < length => return,
                _ => {
                    let message = self.held_back.split_to(length.max(HEAD));
                    self.amend(&message, out);
                    self.is_done = true;
                }
            }
        }
        if self.is_done {
            out.extend_from_slice(&self.held_back.split());
        }
    }

    /// The list of pairs ends with an empty name; the new pair is inserted before it.
    fn amend(&self, message: &[u8], out: &mut BytesMut) {
        let pairs = message[HEAD..].strip_suffix(&[0]).unwrap_or_default();
        let added = self.name.len() + self.value.len() + 2;
        out.put_u32((HEAD + pairs.len() + added + 1) as u32);
        out.extend_from_slice(&message[4..HEAD]);
        out.extend_from_slice(pairs);
        for text in [self.name, self.value, ""] {
            out.extend_from_slice(text.as_bytes());
            out.put_u8(0);
        }
    }
}

#[cfg(test)]
mod tests {
    use postgres_protocol::message::frontend;

    use super::*;

    fn startup(parameters: &[(&str, &str)]) -> BytesMut {
        let mut message = BytesMut::new();
        frontend::startup_message(parameters.iter().copied(), &mut message).expect("a message");
        message
    }

    /// The result must not depend on how the bytes are split.
    fn check(written: &[u8], expected: &[u8]) {
        for piece in [1, 3, 8, 9, written.len()] {
            let mut parameter = StartupParameter::new("replication", "database");
            let mut out = BytesMut::new();
            for bytes in written.chunks(piece) {
                parameter.rewrite(bytes, &mut out);
            }
            assert_eq!(&out[..], expected, "in pieces of {piece}");
        }
    }

    #[test]
    fn the_parameter_joins_the_others() {
        let expected = startup(&[("user", "ada"), ("replication", "database")]);
        check(&startup(&[("user", "ada")]), &expected);
        check(&startup(&[]), &startup(&[("replication", "database")]));
    }

    #[test]
    fn what_follows_the_message_stays_as_it_is() {
        let mut written = startup(&[("user", "ada")]);
        written.extend_from_slice(b"p\0\0\0\x08abc\0");
        let mut expected = startup(&[("user", "ada"), ("replication", "database")]);
        expected.extend_from_slice(b"p\0\0\0\x08abc\0");
        check(&written, &expected);
    }

    #[test]
    fn a_rejected_request_for_encryption_comes_before_the_message() {
        let mut written = BytesMut::new();
        frontend::ssl_request(&mut written);
        let mut expected = written.clone();
        written.extend_from_slice(&startup(&[("user", "ada")]));
        expected.extend_from_slice(&startup(&[("user", "ada"), ("replication", "database")]));
        check(&written, &expected);
    }

    #[test]
    fn encryption_is_not_touched() {
        let mut written = BytesMut::new();
        frontend::ssl_request(&mut written);
        // A ClientHello, whose length here ends in zero.
        written.extend_from_slice(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03more");
        check(&written.clone(), &written);
    }

    #[test]
    fn a_message_that_lies_about_its_length_is_no_panic() {
        for length in 0..12_u32 {
            let mut written = BytesMut::new();
            written.put_u32(length);
            written.put_u32(PROTOCOL << 16);
            let mut parameter = StartupParameter::new("replication", "database");
            parameter.rewrite(&written, &mut BytesMut::new());
        }
    }
}

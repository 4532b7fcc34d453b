//! `ErrorResponse` of the PostgreSQL wire protocol.

/// A fatal error: the connection is closed after it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ErrorResponse {
    pub sqlstate: &'static str,
    pub message: String,
}

impl ErrorResponse {
    /// A SQLSTATE and a sentence.
    pub fn new(sqlstate: &'static str, message: impl Into<String>) -> Self {
        Self {
            sqlstate,
            message: message.into(),
        }
    }

    /// The server is starting, stopping or restarting.
    pub(super) fn cannot_connect_now() -> Self {
        Self::new("57P03", "the database is restarting, try again in a moment")
    }

    pub(super) fn startup_timeout() -> Self {
        Self::new("57014", "the start-up packet did not arrive in time")
    }

    pub(super) fn too_many_connections() -> Self {
        Self::new(
            "53300",
            "too many connections to the database, try again later",
        )
    }

    pub(super) fn tls_required() -> Self {
        Self::new(
            "28000",
            "this port requires TLS from other machines: connect with sslmode=require",
        )
    }

    pub(super) fn too_many_failed_logins() -> Self {
        Self::new(
            "53300",
            "too many failed logins from this address, try again later",
        )
    }

    /// The bytes to send.
    pub fn render(&self) -> Vec<u8> {
        let mut body = Vec::new();
        let fields = [
            (b'S', "FATAL"),
            (b'V', "FATAL"),
            (b'C', self.sqlstate),
            (b'M', &self.message),
        ];
        for (kind, text) in fields {
            body.push(kind);
            // A NUL would end the field early.
            body.extend(text.bytes().filter(|byte| *byte != 0));
            body.push(0);
        }
        body.push(0);

        let length = u32::try_from(body.len() + 4).unwrap_or(u32::MAX);
        let mut message = vec![b'E'];
        message.extend(length.to_be_bytes());
        message.extend(body);
        message
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_is_rendered_as_the_protocol_says() {
        let bytes = ErrorResponse::new("53300", "too\0 many").render();

        assert_eq!(bytes, b"E\0\0\0\x24SFATAL\0VFATAL\0C53300\0Mtoo many\0\0");
        assert_eq!(bytes.len(), 1 + 0x24);
    }
}

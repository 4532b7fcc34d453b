//! `ErrorResponse` of the PostgreSQL wire protocol, and the table of the errors that the proxy sends.

/// A fatal error: the connection is closed after it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ErrorResponse {
    pub sqlstate: Sqlstate,
    pub message: String,
}

impl ErrorResponse {
    /// A SQLSTATE and a sentence.
    pub fn new(sqlstate: Sqlstate, message: impl Into<String>) -> Self {
        Self {
            sqlstate,
            message: message.into(),
        }
    }

    /// The server is starting, stopping or restarting.
    pub(super) fn cannot_connect_now() -> Self {
        Self::new(
            Sqlstate::CannotConnectNow,
            "the database is restarting, try again in a moment",
        )
    }

    pub(super) fn startup_timeout() -> Self {
        Self::new(
            Sqlstate::QueryCanceled,
            "the start-up packet did not arrive in time",
        )
    }

    pub(super) fn too_many_connections() -> Self {
        Self::new(
            Sqlstate::TooManyConnections,
            "too many connections to the database, try again later",
        )
    }

    pub(super) fn tls_required() -> Self {
        Self::new(
            Sqlstate::InvalidAuthorization,
            "this port requires TLS from other machines: connect with sslmode=require",
        )
    }

    pub(super) fn too_many_failed_logins() -> Self {
        Self::new(
            Sqlstate::TooManyConnections,
            "too many failed logins from this address, try again later",
        )
    }

    /// The bytes to send.
    pub fn render(&self) -> Vec<u8> {
        render(self.sqlstate.code(), &self.message)
    }
}

/// A fatal error with any SQLSTATE, as bytes.
pub(super) fn render(sqlstate: &str, message: &str) -> Vec<u8> {
    let mut body = Vec::new();
    let fields = [
        (b'S', "FATAL"),
        (b'V', "FATAL"),
        (b'C', sqlstate),
        (b'M', message),
    ];
    for (kind, text) in fields {
        body.push(kind);
        // A NUL would end the field early.
        body.extend(text.bytes().filter(|byte| *byte != 0));
        body.push(0);
    }
    body.push(0);

    let length = u32::try_from(body.len() + 4).unwrap_or(u32::MAX);
    let mut packet = vec![b'E'];
    packet.extend(length.to_be_bytes());
    packet.extend(body);
    packet
}

/// Defines [`Sqlstate`] by one table, so that a variant without an entry does not compile.
macro_rules! sqlstates {
    ($($variant:ident => $code:literal, $meaning:literal, $next_step:literal;)+) => {
        /// The SQLSTATEs of errors that come from the proxy or its [`Route`](super::Route), named as
        /// PostgreSQL names the conditions.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum Sqlstate {
            $(#[doc = $meaning] $variant,)+
        }

        impl Sqlstate {
            /// All of them.
            pub const ALL: &[Self] = &[$(Self::$variant,)+];

            /// The five characters.
            pub fn code(self) -> &'static str {
                match self {
                    $(Self::$variant => $code,)+
                }
            }

            /// What happened, in one sentence.
            pub fn meaning(self) -> &'static str {
                match self {
                    $(Self::$variant => $meaning,)+
                }
            }

            /// What the reader can do about it, in one sentence.
            pub fn next_step(self) -> &'static str {
                match self {
                    $(Self::$variant => $next_step,)+
                }
            }
        }
    };
}

sqlstates! {
    ProtocolViolation => "08P01",
        "The start-up packet is malformed.",
        "Check that the client speaks PostgreSQL's protocol.";
    FeatureNotSupported => "0A000",
        "The client uses a version of the protocol other than 3.",
        "Use a client of PostgreSQL 7.4 or later.";
    InvalidAuthorization => "28000",
        "The user is missing or has no access through this port, or the port requires TLS.",
        "Use the user and `sslmode` of `plinth db url`.";
    InvalidCatalogName => "3D000",
        "The user's project has no database of this name.",
        "Use the address of `plinth db url`.";
    TooManyConnections => "53300",
        "There are too many connections, or too many failed logins from this network.",
        "Retry later; use a connection pool, and check the password.";
    QueryCanceled => "57014",
        "The client did not send its start-up packet in time.",
        "Check the network, and retry.";
    CannotConnectNow => "57P03",
        "The database is starting or restarting, or cannot be started.",
        "Retry after a moment; operators find the cause in the server's log.";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_is_rendered_as_the_protocol_says() {
        let bytes = ErrorResponse::new(Sqlstate::TooManyConnections, "too\0 many").render();

        assert_eq!(bytes, b"E\0\0\0\x24SFATAL\0VFATAL\0C53300\0Mtoo many\0\0");
        assert_eq!(bytes.len(), 1 + 0x24);
    }
}

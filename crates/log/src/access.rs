//! Entries of the access log. There is one for every request, so each becomes its line directly,
//! without the names and values of a [`Record`]. The line is the record's, byte for byte.

use std::{
    borrow::Cow,
    fmt::Write,
    net::{IpAddr, Ipv4Addr},
    sync::Arc,
    time::Duration,
};

use http::Method;
use serde::Serialize;

use crate::{Level, Record, Source, Timestamp, fit, redact::redact_text};

/// One request, as the edge knows it when the response is sent. It shares nothing with the buffer that
/// the request was read into, which the connection can use again while the entry waits for its writer.
#[derive(Debug, Clone)]
pub struct AccessEntry {
    /// When the response was sent.
    pub time: Timestamp,
    /// The ref of the project.
    pub project: Arc<str>,
    /// The request's id.
    pub request_id: Arc<str>,
    /// The method.
    pub method: Method,
    /// Path and query of the target.
    pub path: Box<str>,
    /// The response's status; it decides about the level.
    pub status: u16,
    /// From the request's arrival to the last byte of the response.
    pub duration: Duration,
    /// Bytes of the response's body.
    pub bytes: u64,
    /// The service that handled it.
    pub service: &'static str,
    /// The client's address.
    pub client: IpAddr,
    /// The host that the client used.
    pub host: String,
    /// The header `User-Agent`.
    pub user_agent: Option<Box<[u8]>>,
    /// Why it failed.
    pub error: Option<String>,
    /// The verified caller's role.
    pub role: Option<Arc<str>>,
    /// The verified caller's user.
    pub user_id: Option<String>,
}

/// What an [`crate::Echo`] shows of an access entry, after redaction.
#[derive(Debug, Clone)]
pub struct AccessLine<'a> {
    /// When the response was sent.
    pub time: Timestamp,
    /// The level.
    pub level: Level,
    /// Method, path and status.
    pub message: &'a str,
    /// The request's id.
    pub request_id: Option<Cow<'a, str>>,
    /// The ref of the project.
    pub project: &'a str,
    /// The client's address.
    pub client: Option<&'a str>,
    /// The duration in milliseconds, as a JSON number.
    pub duration_ms: Option<&'a str>,
}

/// Texts of the last entry that was rendered. The next one reuses their memory, and what they say of the
/// client if it has the same: requests come in numbers from the same clients.
#[derive(Debug, Default)]
pub(crate) struct AccessTexts {
    message: String,
    duration_ms: Vec<u8>,
    client: ClientText,
}

/// The members of a line that tell who sent a request, rendered.
#[derive(Debug)]
struct ClientText {
    ip: IpAddr,
    host: String,
    user_agent: Option<Box<[u8]>>,
    /// The address as text.
    text: String,
    /// `,"client":…,"host":…,"user_agent":…`, redacted.
    members: Vec<u8>,
}

impl Default for ClientText {
    fn default() -> Self {
        let mut text = Self {
            ip: IpAddr::V4(Ipv4Addr::UNSPECIFIED),
            host: String::new(),
            user_agent: None,
            text: String::new(),
            members: Vec::new(),
        };
        text.render();
        text
    }
}

impl ClientText {
    fn of(&mut self, entry: &AccessEntry) -> &Self {
        let is_same = self.ip == entry.client
            && self.host == entry.host
            && self.user_agent == entry.user_agent;
        if !is_same {
            self.ip = entry.client;
            self.host.clone_from(&entry.host);
            self.user_agent.clone_from(&entry.user_agent);
            self.render();
        }
        self
    }

    fn render(&mut self) {
        self.text = self.ip.to_string();
        let members = &mut self.members;
        members.clear();
        members.extend_from_slice(b",\"client\":\"");
        members.extend_from_slice(self.text.as_bytes());
        members.extend_from_slice(b"\",\"host\":");
        write_text(members, &self.host);
        if let Some(agent) = &self.user_agent {
            members.extend_from_slice(b",\"user_agent\":");
            write_text(members, &String::from_utf8_lossy(agent));
        }
    }
}

impl AccessEntry {
    /// The severity of a response.
    pub fn level(&self) -> Level {
        match self.status {
            500.. => Level::Error,
            400.. => Level::Warn,
            _ => Level::Info,
        }
    }

    /// The same as a generic record, for tails.
    pub fn to_record(&self) -> Record {
        let (method, path, status) = (self.method.as_str(), &*self.path, self.status);
        let message = format!("{method} {path} {status}");
        let mut record = Record::new(Source::Api, self.level(), message)
            .at(self.time)
            .project(&*self.project)
            .request_id(&*self.request_id)
            .field("method", method)
            .field("path", path)
            .field("status", status)
            .field("duration_ms", self.milliseconds())
            .field("bytes", self.bytes)
            .field("service", self.service)
            .field("client", self.client.to_string())
            .field("host", self.host.as_str());
        if let Some(agent) = self.user_agent() {
            record = record.field("user_agent", agent);
        }
        if let Some(error) = &self.error {
            record = record.field("error", error.as_str());
        }
        if let Some(role) = &self.role {
            record = record.field("role", &**role);
        }
        if let Some(user) = &self.user_id {
            record = record.field("user.id", user.as_str());
        }
        record
    }

    /// Appends the redacted line, its line feed included. `None` if it might be too long for one, and
    /// has to be cut as a record.
    pub(crate) fn write_line<'a>(
        &'a self,
        out: &mut Vec<u8>,
        texts: &'a mut AccessTexts,
    ) -> Option<AccessLine<'a>> {
        if self.weight() > fit::NEVER_TOO_LARGE_BYTES {
            return None;
        }
        let level = self.level();
        let path = redact_text(&self.path);
        let request_id = redact_text(&self.request_id);
        let is_path_in_message = self.write_message(&path, &mut texts.message);
        let client = texts.client.of(self);
        texts.duration_ms.clear();
        write_json(&mut texts.duration_ms, &self.milliseconds());

        out.extend_from_slice(b"{\"time\":\"");
        out.extend_from_slice(&self.time.text());
        out.extend_from_slice(b"\",\"level\":\"");
        out.extend_from_slice(level.as_str().as_bytes());
        out.extend_from_slice(b"\",\"project\":");
        write_json(out, &*self.project);
        out.extend_from_slice(b",\"source\":\"api\",\"message\":");
        let message = out.len();
        write_json(out, &*texts.message);
        let message = message..out.len();
        out.extend_from_slice(b",\"request_id\":");
        write_json(out, &*request_id);
        out.extend_from_slice(b",\"fields\":{\"method\":");
        write_text(out, self.method.as_str());
        out.extend_from_slice(b",\"path\":");
        if is_path_in_message {
            // As in the message, between `"GET ` and ` 200"`.
            out.push(b'"');
            let method = self.method.as_str().len();
            out.extend_from_within(message.start + method + 2..message.end - 5);
            out.push(b'"');
        } else {
            write_json(out, &*path);
        }
        out.extend_from_slice(b",\"status\":");
        write_json(out, &self.status);
        out.extend_from_slice(b",\"duration_ms\":");
        out.extend_from_slice(&texts.duration_ms);
        out.extend_from_slice(b",\"bytes\":");
        write_json(out, &self.bytes);
        out.extend_from_slice(b",\"service\":");
        write_json(out, self.service);
        out.extend_from_slice(&client.members);
        if let Some(error) = &self.error {
            out.extend_from_slice(b",\"error\":");
            write_text(out, error);
        }
        if let Some(role) = &self.role {
            out.extend_from_slice(b",\"role\":");
            write_text(out, role);
        }
        if let Some(user) = &self.user_id {
            out.extend_from_slice(b",\"user.id\":");
            write_text(out, user);
        }
        out.extend_from_slice(b"}}\n");
        Some(AccessLine {
            time: self.time,
            level,
            message: &texts.message,
            request_id: Some(request_id),
            project: &self.project,
            client: Some(&client.text),
            duration_ms: std::str::from_utf8(&texts.duration_ms).ok(),
        })
    }

    /// Writes the redacted message, and returns whether the redacted path is part of it as it is.
    fn write_message(&self, path: &str, message: &mut String) -> bool {
        let method = self.method.as_str();
        message.clear();
        message.push_str(method);
        message.push(' ');
        message.push_str(&self.path);
        let _ = write!(message, " {}", self.status);
        // A path without secrets has none in the message either: a standard method cannot be part of
        // one, and nor can the status, unless it follows a separator.
        let is_clean = is_standard(&self.method)
            && (100..1000).contains(&self.status)
            && *self.path == *path
            && path.starts_with('/')
            && !path.ends_with(['=', ':', ' ']);
        if !is_clean && let Cow::Owned(masked) = redact_text(message) {
            *message = masked;
        }
        is_clean
    }

    /// Approximate memory use of the texts, and at least a sixth of what the line takes.
    pub(crate) fn weight(&self) -> usize {
        let agent = self.user_agent.as_ref().map_or(0, |agent| agent.len());
        768 + 2 * (self.method.as_str().len() + self.path.len())
            + self.request_id.len()
            + self.host.len()
            + agent
            + self.error.as_ref().map_or(0, String::len)
            + self.role.as_ref().map_or(0, |role| role.len())
            + self.user_id.as_ref().map_or(0, String::len)
    }

    fn milliseconds(&self) -> f64 {
        self.duration.as_micros() as f64 / 1000.0
    }

    fn user_agent(&self) -> Option<Cow<'_, str>> {
        self.user_agent.as_deref().map(String::from_utf8_lossy)
    }
}

fn is_standard(method: &Method) -> bool {
    matches!(
        *method,
        Method::GET
            | Method::HEAD
            | Method::POST
            | Method::PUT
            | Method::PATCH
            | Method::DELETE
            | Method::OPTIONS
    )
}

/// Appends a text that may contain secrets.
fn write_text(out: &mut Vec<u8>, text: &str) {
    write_json(out, &*redact_text(text));
}

fn write_json<T: Serialize + ?Sized>(out: &mut Vec<u8>, value: &T) {
    serde_json::to_writer(out, value)
        .expect("a text or a number is JSON, and writing to memory cannot fail");
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::redact;

    fn entry(method: &str, path: &str) -> AccessEntry {
        AccessEntry {
            time: Timestamp::from_micros(1_785_578_400_000_001),
            project: "abcdefghijklmnopqrst".into(),
            request_id: "0198c1f2-7c1e-7b3a-9d52-0f6f3c5f8a11".into(),
            method: method.parse().unwrap(),
            path: path.into(),
            status: 200,
            duration: Duration::from_micros(1250),
            bytes: 17,
            service: "rest",
            client: [203, 0, 113, 7].into(),
            host: "localhost:54321".to_owned(),
            user_agent: Some(b"supabase-js/2.58.0 (node: 20)"[..].into()),
            error: None,
            role: Some("service_role".into()),
            user_id: None,
        }
    }

    /// Checks the line against the generic record's, and returns it.
    fn check(entry: &AccessEntry) -> String {
        let mut record = entry.to_record();
        redact::redact_record(&mut record);
        let mut expected = Vec::new();
        record.write_line(&mut expected);

        let mut line = Vec::new();
        let mut texts = AccessTexts::default();
        let shown = entry
            .write_line(&mut line, &mut texts)
            .expect("a short one");

        assert_eq!(shown.message, record.message);
        assert_eq!(shown.level, record.level);
        assert_eq!(shown.request_id.as_deref(), record.request_id.as_deref());
        let text = |name| record.fields.get(name).map(ToString::to_string);
        assert_eq!(shown.duration_ms.map(str::to_owned), text("duration_ms"));
        let client = shown.client.map(|client| format!("{client:?}"));
        assert_eq!(client, text("client"));
        let [line, expected] = [line, expected].map(|line| String::from_utf8(line).unwrap());
        assert_eq!(line, expected);
        line
    }

    #[test]
    fn the_line_is_that_of_the_record() {
        let line = check(&entry("GET", "/rest/v1/items?id=eq.7&select=*"));

        assert_eq!(
            line,
            "{\"time\":\"2026-08-01T10:00:00.000001Z\",\"level\":\"info\",\
             \"project\":\"abcdefghijklmnopqrst\",\"source\":\"api\",\
             \"message\":\"GET /rest/v1/items?id=eq.7&select=* 200\",\
             \"request_id\":\"0198c1f2-7c1e-7b3a-9d52-0f6f3c5f8a11\",\"fields\":{\
             \"method\":\"GET\",\"path\":\"/rest/v1/items?id=eq.7&select=*\",\"status\":200,\
             \"duration_ms\":1.25,\"bytes\":17,\"service\":\"rest\",\"client\":\"203.0.113.7\",\
             \"host\":\"localhost:54321\",\"user_agent\":\"supabase-js/2.58.0 (node: 20)\",\
             \"role\":\"service_role\"}}\n"
        );
    }

    #[test]
    fn secrets_are_masked_as_in_a_record() {
        let line = check(&entry("GET", "/rest/v1/items?apikey=hunter2&select=*"));
        assert_eq!(line.matches("apikey=***&select").count(), 2, "{line}");
        assert!(!line.contains("hunter2"), "{line}");

        let line = check(&AccessEntry {
            request_id: "sbp_0123456789".into(),
            host: "password=hunter2".to_owned(),
            user_agent: Some(b"curl, bearer hunter2-hunter2"[..].into()),
            error: Some("postgres://ada:hunter2@db \"failed\"\n".to_owned()),
            role: Some("sb_secret_hunter2".into()),
            user_id: Some("token=hunter2".to_owned()),
            status: 503,
            ..entry("POST", "/auth/v1/verify?token=hunter2")
        });
        assert!(!line.contains("hunter2"), "{line}");
        assert!(!line.contains("0123456789"), "{line}");
    }

    #[test]
    fn unusual_values_are_written_as_in_a_record() {
        let mut unusual = vec![
            entry("GET", "*"),
            entry("CONNECT", ""),
            entry("BREW", "/tea"),
            entry("GET", "/\"quoted\"?{\"a\":1}\u{1}"),
            AccessEntry {
                user_agent: Some(b"caf\xe9 \xc3\xa9 \"x\"\t"[..].into()),
                ..entry("GET", "/")
            },
            AccessEntry {
                user_agent: None,
                role: None,
                ..entry("GET", "/")
            },
            AccessEntry {
                client: "2001:db8::1".parse().unwrap(),
                ..entry("GET", "/")
            },
        ];
        for micros in [0, 1, 999, 1000, 123_456_789, u64::MAX] {
            unusual.push(AccessEntry {
                duration: Duration::from_micros(micros),
                bytes: micros,
                ..entry("GET", "/")
            });
        }
        for status in [0, 99, 101, 304, 404, 499, 500, 999, 1000, u16::MAX] {
            unusual.push(AccessEntry {
                status,
                ..entry("GET", "/")
            });
        }
        for entry in &unusual {
            check(entry);
        }
    }

    #[test]
    fn a_line_has_its_own_client_whatever_came_before() {
        let first = entry("GET", "/");
        let others = [
            first.clone(),
            AccessEntry {
                client: "2001:db8::1".parse().unwrap(),
                ..first.clone()
            },
            AccessEntry {
                host: "shop.example".to_owned(),
                ..first.clone()
            },
            AccessEntry {
                user_agent: None,
                ..first.clone()
            },
            AccessEntry {
                user_agent: Some(b"curl"[..].into()),
                ..first.clone()
            },
        ];
        let mut texts = AccessTexts::default();
        for other in &others {
            for entry in [&first, other] {
                let mut line = Vec::new();
                let shown = entry
                    .write_line(&mut line, &mut texts)
                    .expect("a short one");
                assert_eq!(shown.client, Some(&*entry.client.to_string()));
                assert_eq!(String::from_utf8(line).unwrap(), check(entry));
            }
        }
    }

    #[test]
    fn every_mixture_of_secrets_and_separators_is_masked_as_in_a_record() {
        let fragments = [
            "token", "cookie", "=", ":", "\"", "'", "\\\\", "?", "&", "//", "@", "eyJ.aaaa",
            "sbp_", "bearer", "password", "%6b", "%20", "basic", ";", "1",
        ];
        let unusual_methods = ["BEARER", "BASIC", "TOKEN", "PASSWORD"];
        for a in fragments {
            for b in fragments {
                for method in unusual_methods {
                    check(&entry(method, &["/", a, b].concat()));
                }
                for c in fragments {
                    check(&entry("GET", &["/", a, b, c].concat()));
                }
            }
        }
    }

    #[test]
    fn what_might_be_too_long_is_left_to_the_record() {
        let short = format!("/{}", "\u{e9}".repeat(2_000));
        check(&entry("GET", &short));

        let long = entry("GET", &format!("/{}", "x".repeat(20_000)));
        let mut texts = AccessTexts::default();
        assert!(long.write_line(&mut Vec::new(), &mut texts).is_none());
    }
}

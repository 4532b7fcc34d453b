//! Requests as bytes, and checks of their responses.

use anyhow::{Context as _, ensure};
use serde_json::Value;

use super::{
    database::{AUTHORS, BOOKS_PER_AUTHOR, DOCUMENTS, Database, FIRST_ID},
    load::Request,
    sides::Side,
};
use crate::http_response::HttpResponse;

const INSERTED_ROWS: usize = 10_000;
/// Every row that is inserted differs, as rows do.
const SENSORS: usize = 97;

/// One kind of request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Workload {
    OneRow,
    Page,
    TenMegabytes,
    Insert,
}

impl Workload {
    pub(crate) fn what(self) -> &'static str {
        match self {
            Self::OneRow => "one row by key",
            Self::Page => "1,000 rows, each with 5 embedded",
            Self::TenMegabytes => "10 MB result",
            Self::Insert => "insert of 10,000 rows",
        }
    }

    pub(crate) fn request(self, side: &Side) -> Request {
        let read = |path: &str| request(side, "GET", path, "accept-profile: public\r\n", "");
        match self {
            Self::OneRow => {
                let mut request = read(&format!("/items?id=eq.{FIRST_ID}&select=*"));
                let id = FIRST_ID.to_string();
                let mut places = request.bytes.windows(id.len());
                request.id_at = places.position(|place| place == id.as_bytes());
                request
            }
            Self::Page => read("/authors?select=*,books(*)&order=id&limit=1000"),
            Self::TenMegabytes => read("/documents?select=*"),
            Self::Insert => {
                let headers = "content-profile: public\r\ncontent-type: application/json\r\n\
                               prefer: return=minimal\r\n";
                request(side, "POST", "/readings", headers, &rows_to_insert())
            }
        }
    }

    /// Fails unless it is the right response.
    pub(crate) fn check(self, http_response: HttpResponse, body: &[u8]) -> anyhow::Result<()> {
        let status = match self {
            Self::Insert => 201,
            Self::OneRow | Self::Page | Self::TenMegabytes => 200,
        };
        let shown = || String::from_utf8_lossy(&body[..body.len().min(300)]).into_owned();
        ensure!(
            http_response.status == status,
            "it responds {}: {}",
            http_response.status,
            shown()
        );
        let is_right = match self {
            Self::Insert => body.is_empty(),
            Self::OneRow => has_rows(body, 1, |row| {
                row["id"] == FIRST_ID && row["body"].as_str().is_some_and(|body| body.len() > 100)
            })?,
            Self::Page => has_rows(body, AUTHORS, |row| {
                row["books"].as_array().map(Vec::len) == Some(BOOKS_PER_AUTHOR)
                    && row["books"][0]["author_id"] == row["id"]
            })?,
            Self::TenMegabytes => {
                body.len() > 10 << 20 && has_rows(body, DOCUMENTS, |row| row["body"].is_string())?
            }
        };
        ensure!(is_right, "it responds with something else: {}", shown());
        Ok(())
    }

    /// After each run: checks that nothing was lost, and resets the table.
    pub(crate) fn clean_up(self, database: &Database, requests: u64) -> anyhow::Result<()> {
        if self == Self::Insert {
            let (rows, at_once) = (database.count("public.readings")?, INSERTED_ROWS as u64);
            ensure!(
                rows >= requests * at_once && rows % at_once == 0,
                "{requests} requests had responses, but there are {rows} rows"
            );
            database.execute("truncate public.readings")?;
        }
        Ok(())
    }
}

fn has_rows(body: &[u8], count: usize, is_right: impl Fn(&Value) -> bool) -> anyhow::Result<bool> {
    let rows: Vec<Value> = serde_json::from_slice(body).context("its response is no list")?;
    Ok(rows.len() == count && rows.iter().all(is_right))
}

/// With the headers that supabase-js sends.
fn request(side: &Side, method: &str, path: &str, headers: &str, body: &str) -> Request {
    let Side {
        port, prefix, key, ..
    } = side;
    let length = match body.len() {
        0 => String::new(),
        length => format!("content-length: {length}\r\n"),
    };
    let text = format!(
        "{method} {prefix}{path} HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\nconnection: keep-alive\r\n\
         {headers}apikey: {key}\r\nauthorization: Bearer {key}\r\n\
         x-client-info: supabase-js-node/2.97.0\r\naccept: */*\r\naccept-language: *\r\n\
         sec-fetch-mode: cors\r\nuser-agent: node\r\n{length}\r\n{body}"
    );
    Request {
        bytes: text.into_bytes(),
        id_at: None,
    }
}

fn rows_to_insert() -> String {
    let row = |n: usize| {
        let (sensor, value) = (n % SENSORS, n as f64 / 8.0);
        format!(r#"{{"sensor":{sensor},"value":{value},"note":"reading number {n}"}}"#)
    };
    let rows: Vec<String> = (0..INSERTED_ROWS).map(row).collect();
    format!("[{}]", rows.join(","))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rest::sides::ServerKind;

    fn side() -> Side {
        Side {
            who: ServerKind::Full,
            port: 1,
            prefix: "/rest/v1",
            key: "secret".to_owned(),
            pid: 1,
        }
    }

    #[test]
    fn the_id_can_be_exchanged_in_place() {
        let mut request = Workload::OneRow.request(&side());
        request.choose(123_456);
        let text = String::from_utf8(request.bytes).unwrap();
        let first = "GET /rest/v1/items?id=eq.123456&select=* HTTP/1.1\r\n";
        assert!(text.starts_with(first), "{text}");
        assert!(text.ends_with("\r\n\r\n"), "{text}");
    }

    #[test]
    fn a_body_is_as_long_as_it_says() {
        let text = String::from_utf8(Workload::Insert.request(&side()).bytes).unwrap();
        let (head, body) = text.split_once("\r\n\r\n").unwrap();
        assert!(head.contains(&format!("content-length: {}", body.len())));
        let rows: Vec<Value> = serde_json::from_str(body).unwrap();
        assert_eq!(rows.len(), INSERTED_ROWS);
    }

    #[test]
    fn a_wrong_row_or_status_is_rejected() {
        let check = |status: u16, body: &str| {
            let http_response = HttpResponse {
                status,
                body_length: body.len(),
            };
            Workload::OneRow
                .check(http_response, body.as_bytes())
                .is_ok()
        };
        let row = |id: i32| format!(r#"[{{"id":{id},"body":"{}"}}]"#, "x".repeat(110));
        assert!(check(200, &row(FIRST_ID)));
        assert!(!check(200, &row(FIRST_ID + 1)));
        assert!(!check(206, &row(FIRST_ID)));
        assert!(!check(200, "[]"));
    }
}

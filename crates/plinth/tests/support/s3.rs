//! Requests of an S3 client, signed by hand: the published clients retry, and these must not.

use aws_lc_rs::{digest, hmac};
use time::{OffsetDateTime, macros::format_description};

use super::{Http, Instance, Response};

const PATH: &str = "/storage/v1/s3";

/// A pair of keys and where it is good.
#[derive(Clone)]
pub(crate) struct S3 {
    http: Http,
    host: String,
    access_key: String,
    secret_key: String,
    region: String,
}

impl S3 {
    pub(crate) fn of(server: &Instance<'_>) -> Self {
        let value = |name: &str| server.value(name).to_owned();
        let host = server.api_url().trim_start_matches("http://").to_owned();
        Self {
            http: server.http(),
            host,
            access_key: value("S3_PROTOCOL_ACCESS_KEY_ID"),
            secret_key: value("S3_PROTOCOL_ACCESS_KEY_SECRET"),
            region: value("S3_PROTOCOL_REGION"),
        }
    }

    /// `query` is in the order of its names, as it is signed.
    pub(crate) fn send(
        &self,
        method: &str,
        place: &str,
        query: &str,
        body: &str,
    ) -> std::io::Result<Response> {
        let now = OffsetDateTime::now_utc();
        let time = now
            .format(format_description!(
                "[year][month][day]T[hour][minute][second]Z"
            ))
            .expect("a time");
        let scope = format!("{}/{}/s3/aws4_request", &time[..8], self.region);
        let host = &self.host;
        let canonical = format!(
            "{method}\n{PATH}/{place}\n{query}\nhost:{host}\n\
             x-amz-content-sha256:UNSIGNED-PAYLOAD\nx-amz-date:{time}\n\n\
             host;x-amz-content-sha256;x-amz-date\nUNSIGNED-PAYLOAD"
        );
        let digest = hex(digest::digest(&digest::SHA256, canonical.as_bytes()).as_ref());
        let text = format!("AWS4-HMAC-SHA256\n{time}\n{scope}\n{digest}");
        let mut key = format!("AWS4{}", self.secret_key).into_bytes();
        for part in scope.split('/') {
            key = mac(&key, part);
        }
        let authorization = format!(
            "AWS4-HMAC-SHA256 Credential={}/{scope}, \
             SignedHeaders=host;x-amz-content-sha256;x-amz-date, Signature={}",
            self.access_key,
            hex(&mac(&key, &text))
        );
        self.http
            .clone()
            .header("x-amz-date", &time)
            .header("x-amz-content-sha256", "UNSIGNED-PAYLOAD")
            .header("Authorization", &authorization)
            .send(method, &format!("{PATH}/{place}?{query}"), body)
    }
}

fn mac(key: &[u8], text: &str) -> Vec<u8> {
    let key = hmac::Key::new(hmac::HMAC_SHA256, key);
    hmac::sign(&key, text.as_bytes()).as_ref().to_vec()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

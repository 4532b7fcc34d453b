//! Files of 4 KiB: requests as bytes, and checks of their responses.

use anyhow::ensure;

use super::sides::Side;
use crate::{load::LoadClient, random::Random};

/// The bucket, which any client may read.
pub(crate) const BUCKET: &str = "small";
pub(crate) const SIZE: usize = 4096;
/// How many files there are to download.
pub(crate) const FILES: i32 = 1000;

/// Digits of a file's number, so that one name can be written over another.
const DIGITS: usize = 8;

/// What is done with small files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Work {
    Download,
    Upload,
}

impl Work {
    pub(crate) fn what(self) -> &'static str {
        match self {
            Self::Download => "public GET of 4 KiB",
            Self::Upload => "upload of 4 KiB",
        }
    }
}

/// The name of a file below a folder.
pub(crate) fn name(folder: &str, number: u32) -> String {
    format!("{folder}/{number:0DIGITS$}")
}

/// Its bytes: its number, and then something.
pub(crate) fn content(number: u32) -> Vec<u8> {
    let mut bytes = format!("{number:0DIGITS$}").into_bytes();
    bytes.extend((DIGITS..SIZE).map(|at| u8::try_from(at % 251).unwrap_or_default()));
    bytes
}

/// One client.
pub(crate) struct ScriptedClient {
    work: Work,
    folder: String,
    request: Vec<u8>,
    /// Where the file's number stands in the request.
    number_at: Vec<usize>,
    number: u32,
    random: Random,
}

impl ScriptedClient {
    /// Downloads any of the files in a folder.
    pub(crate) fn download(side: &Side, folder: &str, client: u16) -> Self {
        let name = name(folder, 0);
        let path = format!("/object/public/{BUCKET}/{name}");
        let request = side.request("GET", &path, "", None);
        Self::new(Work::Download, folder, request.into_bytes(), client)
    }

    /// Uploads one file after the other into a folder of its own.
    pub(crate) fn upload(side: &Side, folder: &str, client: u16) -> Self {
        let path = format!("/object/{BUCKET}/{}", name(folder, 0));
        let headers = "content-type: application/octet-stream\r\n\
                       cache-control: max-age=3600\r\nx-upsert: false\r\n";
        let request = side.request("POST", &path, headers, Some(SIZE as u64));
        let mut request = request.into_bytes();
        request.extend(content(0));
        Self::new(Work::Upload, folder, request, client)
    }

    /// The file that was last asked for.
    pub(crate) fn name(&self) -> String {
        name(&self.folder, self.number)
    }

    fn new(work: Work, folder: &str, request: Vec<u8>, client: u16) -> Self {
        let number = format!("{:0DIGITS$}", 0);
        let number_at = places(&request, number.as_bytes());
        Self {
            work,
            folder: folder.to_owned(),
            request,
            number_at,
            number: 0,
            random: Random::new(client.into()),
        }
    }
}

impl LoadClient for ScriptedClient {
    fn next_request(&mut self) -> &[u8] {
        self.number = match self.work {
            Work::Download => self.random.between_one_and(FILES).unsigned_abs(),
            Work::Upload => self.number + 1,
        };
        let digits = format!("{:0DIGITS$}", self.number);
        overwrite(&mut self.request, &self.number_at, digits.as_bytes());
        &self.request
    }

    fn handle_response(&mut self, body: &[u8]) -> anyhow::Result<()> {
        let is_right = match self.work {
            Work::Download => {
                body.len() == SIZE
                    && body.starts_with(format!("{:0DIGITS$}", self.number).as_bytes())
            }
            Work::Upload => !places(body, self.name().as_bytes()).is_empty(),
        };
        let shown = || String::from_utf8_lossy(&body[..body.len().min(300)]).into_owned();
        ensure!(is_right, "it responds with something else: {}", shown());
        Ok(())
    }
}

/// Everywhere that a text stands among the bytes.
pub(crate) fn places(bytes: &[u8], text: &[u8]) -> Vec<usize> {
    let windows = bytes.windows(text.len()).enumerate();
    let found = windows.filter(|(_, window)| *window == text);
    found.map(|(at, _)| at).collect()
}

/// Writes a text of the same length there.
pub(crate) fn overwrite(bytes: &mut [u8], places: &[usize], text: &[u8]) {
    for &at in places {
        bytes[at..at + text.len()].copy_from_slice(text);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn side() -> Side {
        Side::full(1, "key".to_owned())
    }

    #[test]
    fn each_upload_names_another_file_and_brings_its_bytes() {
        let mut scripted_client = ScriptedClient::upload(&side(), "up/07", 7);
        scripted_client.next_request();
        let request = scripted_client.next_request();
        let head = "POST /storage/v1/object/small/up/07/00000002 HTTP/1.1\r\n";
        assert!(request.starts_with(head.as_bytes()));
        assert!(request.ends_with(&content(2)));
        assert!(
            scripted_client
                .handle_response(br#"{"Key":"small/up/07/00000002"}"#)
                .is_ok()
        );
        assert!(
            scripted_client
                .handle_response(br#"{"Key":"small/up/07/00000001"}"#)
                .is_err()
        );
    }

    #[test]
    fn a_download_must_bring_the_right_file() {
        let mut scripted_client = ScriptedClient::download(&side(), "files", 0);
        scripted_client.next_request();
        assert!(
            scripted_client
                .handle_response(&content(scripted_client.number))
                .is_ok()
        );
        assert!(
            scripted_client
                .handle_response(&content(scripted_client.number + 1))
                .is_err()
        );
        assert!(
            scripted_client
                .handle_response(&content(scripted_client.number)[..100])
                .is_err()
        );
    }
}

//! The multipart form of an upload, as the official CLI sends it.

use serde_json::json;
use uuid::Uuid;

use super::sources::Sources;
use crate::cli::client::Payload;

pub(super) fn write(name: &str, sources: &Sources) -> Payload {
    let boundary = format!("plinth-{}", Uuid::new_v4().simple());
    let mut body = Vec::new();
    for (path, content) in &sources.files {
        let quoted = path.replace('"', "%22");
        let head = format!(
            "--{boundary}\r\nContent-Disposition: form-data; name=\"file\"; filename=\"{quoted}\"\
             \r\nContent-Type: application/octet-stream\r\n\r\n"
        );
        body.extend_from_slice(head.as_bytes());
        body.extend_from_slice(content);
        body.extend_from_slice(b"\r\n");
    }
    let mut metadata = json!({
        "name": name,
        "entrypoint_path": sources.entrypoint,
        "import_map_path": sources.import_map,
        "static_patterns": sources.static_patterns,
    });
    if let Some(verify_jwt) = sources.verify_jwt {
        metadata["verify_jwt"] = verify_jwt.into();
    }
    let tail = format!(
        "--{boundary}\r\nContent-Disposition: form-data; name=\"metadata\"\r\n\r\n{metadata}\r\n\
         --{boundary}--\r\n"
    );
    body.extend_from_slice(tail.as_bytes());
    Payload {
        content_type: format!("multipart/form-data; boundary={boundary}"),
        bytes: body.into(),
    }
}

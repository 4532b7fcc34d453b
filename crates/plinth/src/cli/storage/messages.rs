//! Findings and summary of a check as text.

use serde_json::Value;

use crate::cli::projects::text;

/// One finding as a sentence.
pub(super) fn describe_finding(finding: &Value) -> String {
    let (version, size) = (text(finding, "version"), &finding["size"]);
    let what = format!(
        "{} {}/{}",
        text(finding, "of"),
        text(finding, "bucket"),
        text(finding, "name")
    );
    match text(finding, "finding").as_str() {
        "missing" if finding["version"].is_null() => format!("{what}: has no blob"),
        "missing" => format!("{what}: its blob is missing (version {version})"),
        "wrong_size" => format!(
            "{what}: has {} bytes instead of {size} (version {version})",
            finding["stored"]
        ),
        "wrong_digest" => format!("{what}: the digest of its blob differs (version {version})"),
        "unreadable" => format!(
            "{what}: its blob cannot be read (version {version}): {}",
            text(finding, "reason")
        ),
        "unlisted" => format!(
            "a part of the blob store cannot be listed: {}",
            text(finding, "reason")
        ),
        "orphan" => {
            let state = match text(finding, "place").as_str() {
                "growing" => " of a deleted upload",
                "unfinished" => " of an unfinished upload",
                _ => "",
            };
            let repaired = if finding["repaired"] == true {
                "; it will be collected"
            } else {
                ""
            };
            let since = text(finding, "modified");
            format!("orphaned blob of {size} bytes{state}: {version}, since {since}{repaired}")
        }
        "stuck" => format!(
            "garbage collection failed for blob {version}, {} attempts",
            finding["attempts"]
        ),
        // Findings of a newer server.
        other => format!("{other}: {finding}"),
    }
}

/// Counts of a check.
pub(super) fn describe_summary(summary: &Value) -> String {
    let count = |name: &str| summary[name].as_u64().unwrap_or_default();
    let mark = if count("findings") == 0 { "✓" } else { "!" };
    let mut text = format!(
        "  {mark} {} object(s), {} part(s), {} upload(s); {} blob(s) of {} bytes\n",
        count("objects"),
        count("parts"),
        count("uploads"),
        count("files"),
        count("bytes")
    );
    let mut add = |number: u64, what: &str| {
        if number > 0 {
            text.push_str(&format!("    {number} {what}\n"));
        }
    };
    add(count("pending"), "being written");
    add(count("leaving"), "waiting for garbage collection");
    add(count("collected"), "collected now");
    add(
        count("unverified"),
        "not verified: uploaded in parts, without a digest",
    );
    text
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn findings_are_sentences() {
        let check = |finding: Value, text: &str| assert_eq!(describe_finding(&finding), text);
        let row = |finding: &str, more: Value| {
            let mut row = json!({
                "finding": finding, "of": "object", "bucket": "b", "name": "a/c.txt",
                "version": "v", "size": 3,
            });
            for (name, value) in more.as_object().into_iter().flatten() {
                row[name] = value.clone();
            }
            row
        };
        check(
            row("missing", json!({})),
            "object b/a/c.txt: its blob is missing (version v)",
        );
        check(
            row("missing", json!({ "version": null })),
            "object b/a/c.txt: has no blob",
        );
        check(
            row("wrong_size", json!({ "stored": 1 })),
            "object b/a/c.txt: has 1 bytes instead of 3 (version v)",
        );
        check(
            row("unreadable", json!({ "reason": "the disk is broken" })),
            "object b/a/c.txt: its blob cannot be read (version v): the disk is broken",
        );
        check(
            json!({ "finding": "orphan", "version": "v", "place": "growing", "size": 7,
                "modified": "2026-01-02T03:04:05.000Z", "repaired": true }),
            "orphaned blob of 7 bytes of a deleted upload: v, since \
             2026-01-02T03:04:05.000Z; it will be collected",
        );
    }
}

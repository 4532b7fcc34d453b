//! What a check says to people.

use serde_json::Value;

use crate::cli::projects::text;

/// One finding, in a sentence.
pub(super) fn told(finding: &Value) -> String {
    let (version, size) = (text(finding, "version"), &finding["size"]);
    let what = format!(
        "{} {}/{}",
        text(finding, "of"),
        text(finding, "bucket"),
        text(finding, "name")
    );
    match text(finding, "finding").as_str() {
        "missing" if finding["version"].is_null() => format!("{what}: names no bytes"),
        "missing" => format!("{what}: its bytes are missing (version {version})"),
        "wrong_size" => format!(
            "{what}: has {} bytes instead of {size} (version {version})",
            finding["stored"]
        ),
        "wrong_digest" => format!("{what}: its bytes are not those that came (version {version})"),
        "unreadable" => format!(
            "{what}: its bytes cannot be read (version {version}): {}",
            text(finding, "reason")
        ),
        "unlisted" => format!(
            "a part of the store cannot be read: {}",
            text(finding, "reason")
        ),
        "orphan" => {
            let state = match text(finding, "place").as_str() {
                "growing" => ", of an upload that is gone",
                "unfinished" => ", never finished",
                _ => "",
            };
            let repaired = match finding["repaired"] == true {
                true => "; they will be collected",
                false => "",
            };
            let since = text(finding, "modified");
            format!("nothing names these {size} bytes{state}: {version}, since {since}{repaired}")
        }
        "stuck" => format!(
            "bytes that nobody needs cannot be removed: {version}, tried {} times",
            finding["attempts"]
        ),
        // A newer server may find more.
        other => format!("{other}: {finding}"),
    }
}

/// What was looked at.
pub(super) fn summed_up(summary: &Value) -> String {
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
    add(count("leaving"), "about to be collected");
    add(count("collected"), "collected just now");
    add(
        count("unverified"),
        "came in parts: no digest to compare with",
    );
    text
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn findings_are_sentences() {
        let check = |finding: Value, sentence: &str| assert_eq!(told(&finding), sentence);
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
            "object b/a/c.txt: its bytes are missing (version v)",
        );
        check(
            row("missing", json!({ "version": null })),
            "object b/a/c.txt: names no bytes",
        );
        check(
            row("wrong_size", json!({ "stored": 1 })),
            "object b/a/c.txt: has 1 bytes instead of 3 (version v)",
        );
        check(
            row("unreadable", json!({ "reason": "the disk is broken" })),
            "object b/a/c.txt: its bytes cannot be read (version v): the disk is broken",
        );
        check(
            json!({ "finding": "orphan", "version": "v", "place": "growing", "size": 7,
                "modified": "2026-01-02T03:04:05.000Z", "repaired": true }),
            "nothing names these 7 bytes, of an upload that is gone: v, since \
             2026-01-02T03:04:05.000Z; they will be collected",
        );
    }
}

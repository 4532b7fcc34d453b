//! The parts that a client lists to complete an upload.

use std::collections::BTreeMap;

use md5::{Digest, Md5};

use super::upload::byte_count;
use crate::{
    blobs::Version,
    error::{Code, StorageError},
    hex::hex,
    request::RequestContext,
    s3::xml::{Element, malformed},
};

pub(super) struct StoredPart {
    pub(super) version: Option<Version>,
    /// Without its quotes.
    etag: String,
    pub(super) size: u64,
}

/// The numbers and ETags that the client lists, in its order.
pub(super) fn parse_part_list(body: &[u8]) -> Result<Vec<(i32, String)>, StorageError> {
    if body.iter().all(u8::is_ascii_whitespace) {
        return Ok(Vec::new());
    }
    let document = Element::parse(body)?;
    if document.name != "CompleteMultipartUpload" {
        return Err(malformed());
    }
    let part = |part: &Element| {
        let number = part.child_text("PartNumber")?.trim().parse().ok()?;
        let etag = part.child_text("ETag")?.trim().trim_matches('"');
        Some((number, etag.to_owned()))
    };
    let parts: Option<Vec<_>> = document.all("Part").map(part).collect();
    parts.ok_or_else(malformed)
}

pub(super) async fn stored_parts(
    context: &RequestContext,
    id: &str,
) -> Result<BTreeMap<i32, StoredPart>, StorageError> {
    const SQL: &str = "
        select part_number, version, etag, size
        from storage.s3_multipart_uploads_parts
        where upload_id = $1
    ";
    let work = context.as_service_role().read_only();
    let rows = work.query(SQL, &[&id]).await?;
    let part = |row: &plinth_db::Row| {
        let part = StoredPart {
            version: Version::parse(row.get("version")),
            etag: row.get::<_, &str>("etag").trim_matches('"').to_owned(),
            size: byte_count(row.get("size")),
        };
        (row.get("part_number"), part)
    };
    Ok(rows.iter().map(part).collect())
}

/// The listed parts; all if the list is empty.
pub(super) fn select_parts(
    listed: Vec<(i32, String)>,
    mut stored: BTreeMap<i32, StoredPart>,
) -> Result<Vec<StoredPart>, StorageError> {
    let missing = || {
        let message = "A listed part was not uploaded";
        StorageError::new(Code::MissingPart, 400, message)
    };
    if stored.is_empty() {
        return Err(missing());
    }
    if listed.is_empty() {
        return Ok(stored.into_values().collect());
    }
    if !listed.is_sorted_by(|(one, _), (next, _)| one < next) {
        let message = "The parts are not listed in ascending order";
        return Err(StorageError::new(Code::InvalidPartOrder, 400, message));
    }
    let select = |(number, etag): (i32, String)| {
        let part = stored.remove(&number).ok_or_else(missing)?;
        if part.etag == etag {
            Ok(part)
        } else {
            let message = format!("The ETag of part {number} does not match");
            Err(StorageError::new(Code::InvalidChecksum, 400, message))
        }
    };
    listed.into_iter().map(select).collect()
}

/// The digest of the digests of the parts, and their number.
pub(super) fn multipart_etag(parts: &[StoredPart]) -> String {
    let mut md5 = Md5::new();
    for part in parts {
        let digits = part.etag.as_bytes().chunks(2);
        let bytes =
            digits.filter_map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok());
        md5.update(bytes.collect::<Vec<_>>());
    }
    format!("{}-{}", hex(&md5.finalize()), parts.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(etag: &str) -> StoredPart {
        StoredPart {
            version: None,
            etag: etag.to_owned(),
            size: 1,
        }
    }

    fn stored() -> BTreeMap<i32, StoredPart> {
        BTreeMap::from([(1, part("a")), (3, part("b"))])
    }

    #[test]
    fn parts_are_selected_by_number_and_etag() {
        let tags = |named: &[(i32, &str)]| {
            let named = named
                .iter()
                .map(|(number, tag)| (*number, (*tag).to_owned()));
            let chosen = select_parts(named.collect(), stored()).ok()?;
            Some(chosen.into_iter().map(|part| part.etag).collect::<String>())
        };
        assert_eq!(tags(&[]).as_deref(), Some("ab"));
        assert_eq!(tags(&[(1, "a"), (3, "b")]).as_deref(), Some("ab"));
        assert_eq!(tags(&[(3, "b")]).as_deref(), Some("b"));
        assert_eq!(tags(&[(3, "b"), (1, "a")]), None);
        assert_eq!(tags(&[(1, "a"), (1, "a")]), None);
        assert_eq!(tags(&[(1, "x")]), None);
        assert_eq!(tags(&[(2, "a")]), None);
        assert!(select_parts(Vec::new(), BTreeMap::new()).is_err());
    }

    /// Made with Python: `md5(bytes.fromhex(a) + bytes.fromhex(b))`.
    #[test]
    fn the_etag_is_the_digest_of_digests() {
        let parts = [
            part("0cc175b9c0f1b6a831c399e269772661"),
            part("92eb5ffee6ae2fec3ad71c777531578f"),
        ];
        assert_eq!(multipart_etag(&parts), "96e024ba2074fe77e8e965ba43a704be-2");
    }

    #[test]
    fn the_list_of_parts_is_parsed_in_its_order() {
        let xml = "<CompleteMultipartUpload><Part><ETag>&quot;x&quot;</ETag><PartNumber>2</PartNumber></Part></CompleteMultipartUpload>";
        let read = parse_part_list(xml.as_bytes()).expect("well-formed");
        assert_eq!(read, [(2, "x".to_owned())]);
        assert!(parse_part_list(b"").expect("nothing named").is_empty());
        for bad in [
            "<Other/>",
            "<CompleteMultipartUpload><Part/></CompleteMultipartUpload>",
            "<CompleteMultipartUpload>",
        ] {
            assert!(parse_part_list(bad.as_bytes()).is_err(), "{bad}");
        }
    }
}

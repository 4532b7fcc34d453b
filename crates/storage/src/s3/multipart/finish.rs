//! Parts become an object.

use std::collections::BTreeMap;

use axum::response::Response;
use http::StatusCode;
use md5::{Digest, Md5};

use super::upload::{Upload, size_of};
use crate::{
    blobs::{Version, Written, announce, discard},
    buckets::BucketRules,
    error::{Code, StorageError},
    objects::{Arrival, Object, UserMetadata, commit, metadata},
    request::Context,
    s3::{
        Request,
        body::S3Body,
        sigv4::hex,
        xml::{Element, Xml, malformed},
    },
};

/// Ten thousand parts with their checksums.
const MAX_PARTS_XML: usize = 8 * 1024 * 1024;

struct Part {
    version: Option<Version>,
    /// Without its quotes.
    etag: String,
    size: u64,
}

/// `POST /{bucket}/{key}?uploadId=`
pub(in crate::s3) async fn complete(
    request: &Request,
    body: &mut S3Body,
) -> Result<Response, StorageError> {
    let xml = body.read_small(MAX_PARTS_XML).await?;
    let named = read_parts(&xml)?;
    let upload = Upload::of_request(request).await?;
    let context = &request.context;
    let stored = stored_parts(context, &upload.id).await?;
    let parts = choose(named, stored)?;
    let size: u64 = parts.iter().map(|part| part.size).sum();
    let rules = BucketRules::get(context, &upload.place.bucket).await?;
    if size > rules.limit(context.config.file_size_limit) {
        return Err(StorageError::too_large());
    }
    upload.check(context, Some(size)).await?;
    let owned = context.clone();
    let object = context
        .to_the_end(async move { make(&owned, upload, parts, size).await })
        .await?;
    let xml = Xml::document("CompleteMultipartUploadResult", |xml| {
        xml.text("Location", format!("{}/{}", object.bucket_id, object.name));
        xml.text("Bucket", &object.bucket_id);
        xml.text("Key", &object.name);
        xml.maybe("ETag", object.facts().etag());
    });
    Ok(xml.into_response(StatusCode::OK))
}

/// Numbers and tags that the client names, in its order.
fn read_parts(body: &[u8]) -> Result<Vec<(i32, String)>, StorageError> {
    if body.iter().all(u8::is_ascii_whitespace) {
        return Ok(Vec::new());
    }
    let document = Element::read(body)?;
    if document.name != "CompleteMultipartUpload" {
        return Err(malformed());
    }
    let part = |part: &Element| {
        let number = part.text_of("PartNumber")?.trim().parse().ok()?;
        let etag = part.text_of("ETag")?.trim().trim_matches('"');
        Some((number, etag.to_owned()))
    };
    let parts: Option<Vec<_>> = document.all("Part").map(part).collect();
    parts.ok_or_else(malformed)
}

async fn stored_parts(context: &Context, id: &str) -> Result<BTreeMap<i32, Part>, StorageError> {
    const SQL: &str = "
        select part_number, version, etag, size
        from storage.s3_multipart_uploads_parts
        where upload_id = $1
    ";
    let work = context.as_service_role().read_only();
    let rows = work.query(SQL, &[&id]).await?;
    let part = |row: &plinth_db::Row| {
        let part = Part {
            version: Version::parse(row.get("version")),
            etag: row.get::<_, &str>("etag").trim_matches('"').to_owned(),
            size: size_of(row.get("size")),
        };
        (row.get("part_number"), part)
    };
    Ok(rows.iter().map(part).collect())
}

/// The parts that are named; all where none is.
fn choose(
    named: Vec<(i32, String)>,
    mut stored: BTreeMap<i32, Part>,
) -> Result<Vec<Part>, StorageError> {
    let missing = || {
        let message = "A part that is named was not uploaded";
        StorageError::new(Code::MissingPart, 400, message)
    };
    if stored.is_empty() {
        return Err(missing());
    }
    if named.is_empty() {
        return Ok(stored.into_values().collect());
    }
    if !named.is_sorted_by(|(one, _), (next, _)| one < next) {
        let message = "The parts are not named in ascending order";
        return Err(StorageError::new(Code::InvalidPartOrder, 400, message));
    }
    let choose = |(number, etag): (i32, String)| {
        let part = stored.remove(&number).ok_or_else(missing)?;
        match part.etag == etag {
            true => Ok(part),
            false => {
                let message = format!("Part {number} has another ETag");
                Err(StorageError::new(Code::InvalidChecksum, 400, message))
            }
        }
    };
    named.into_iter().map(choose).collect()
}

/// Should the process die between the two, the upload is still there and can be completed again.
async fn make(
    context: &Context,
    upload: Upload,
    parts: Vec<Part>,
    size: u64,
) -> Result<Object, StorageError> {
    let version = join(context, &parts, size).await?;
    let written = Written {
        size,
        md5: etag_of(&parts),
    };
    let arrival = Arrival {
        place: &upload.place,
        version,
        metadata: metadata(
            &written,
            &upload.about.content_type,
            &upload.about.cache_control,
            None,
            context.now,
        ),
        user_metadata: UserMetadata::Given(Some(upload.about.user_metadata)),
        owner: context.owner(),
        may_replace: true,
    };
    let object = commit(context, arrival).await?;
    const DONE: &str = "delete from storage.s3_multipart_uploads where id = $1";
    context.as_service_role().query(DONE, &[&upload.id]).await?;
    Ok(object)
}

async fn join(context: &Context, parts: &[Part], size: u64) -> Result<Version, StorageError> {
    let versions: Option<Vec<_>> = parts.iter().map(|part| part.version).collect();
    let versions = versions.ok_or_else(StorageError::no_such_bytes)?;
    let whole = Version::generate();
    let db = &context.project.db;
    announce(db, &context.blobs, &whole).await?;
    let joined = context.blobs.join(&versions, &whole, size).await;
    match joined {
        Ok(Some(joined)) if joined == size => Ok(whole),
        other => {
            discard(db, &whole).await;
            match other {
                Err(error) => Err(error.into()),
                Ok(_) => Err(StorageError::internal("bytes of a part are missing")),
            }
        }
    }
}

/// The digest of the parts' digests, and how many there are.
fn etag_of(parts: &[Part]) -> String {
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

    fn part(etag: &str) -> Part {
        Part {
            version: None,
            etag: etag.to_owned(),
            size: 1,
        }
    }

    fn stored() -> BTreeMap<i32, Part> {
        BTreeMap::from([(1, part("a")), (3, part("b"))])
    }

    #[test]
    fn parts_are_chosen_by_number_and_tag() {
        let tags = |named: &[(i32, &str)]| {
            let named = named
                .iter()
                .map(|(number, tag)| (*number, (*tag).to_owned()));
            let chosen = choose(named.collect(), stored()).ok()?;
            Some(chosen.into_iter().map(|part| part.etag).collect::<String>())
        };
        assert_eq!(tags(&[]).as_deref(), Some("ab"));
        assert_eq!(tags(&[(1, "a"), (3, "b")]).as_deref(), Some("ab"));
        assert_eq!(tags(&[(3, "b")]).as_deref(), Some("b"));
        assert_eq!(tags(&[(3, "b"), (1, "a")]), None);
        assert_eq!(tags(&[(1, "a"), (1, "a")]), None);
        assert_eq!(tags(&[(1, "x")]), None);
        assert_eq!(tags(&[(2, "a")]), None);
        assert!(choose(Vec::new(), BTreeMap::new()).is_err());
    }

    /// Made with Python: `md5(bytes.fromhex(a) + bytes.fromhex(b))`.
    #[test]
    fn the_tag_is_the_digest_of_digests() {
        let parts = [
            part("0cc175b9c0f1b6a831c399e269772661"),
            part("92eb5ffee6ae2fec3ad71c777531578f"),
        ];
        assert_eq!(etag_of(&parts), "96e024ba2074fe77e8e965ba43a704be-2");
    }

    #[test]
    fn the_list_of_parts_is_read_in_its_order() {
        let xml = "<CompleteMultipartUpload><Part><ETag>&quot;x&quot;</ETag><PartNumber>2</PartNumber></Part></CompleteMultipartUpload>";
        let read = read_parts(xml.as_bytes()).expect("well-formed");
        assert_eq!(read, [(2, "x".to_owned())]);
        assert!(read_parts(b"").expect("nothing named").is_empty());
        for bad in [
            "<Other/>",
            "<CompleteMultipartUpload><Part/></CompleteMultipartUpload>",
            "<CompleteMultipartUpload>",
        ] {
            assert!(read_parts(bad.as_bytes()).is_err(), "{bad}");
        }
    }
}

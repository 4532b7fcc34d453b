//! Multipart forms, parsed part by part.
//!
//! The parser buffers its input until it finds a part, or bytes of one. So it gets one chunk of the
//! body at a time, and no more than [`MAX_UNREAD_BYTES`] while it yields nothing.

use std::{
    io,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
    task::{Context, Poll},
};

use axum::body::{Body, BodyDataStream};
use bytes::Bytes;
use futures_util::{Stream, StreamExt as _};
use multer::{Field, Multipart};

use crate::error::StorageError;

/// Bytes before a part, including the part's headers.
const MAX_UNREAD_BYTES: usize = 64 * 1024;

/// The parts of a form, in their order.
pub(crate) struct Form {
    parts: Multipart<'static>,
    unread: Unread,
}

/// One part. Its unread bytes are skipped with the next part.
pub(crate) struct Part {
    field: Field<'static>,
    unread: Unread,
}

/// How many bytes the parser got since it last yielded something.
#[derive(Clone, Default)]
struct Unread(Arc<AtomicUsize>);

impl Form {
    /// A form whose `Content-Type` is this.
    pub(crate) fn open(content_type: &str, body: Body) -> Result<Self, StorageError> {
        let boundary = multer::parse_boundary(content_type).map_err(form_error)?;
        let unread = Unread::default();
        let input = ParserInput {
            body: body.into_data_stream(),
            unread: unread.clone(),
            has_yielded: false,
        };
        let parts = Multipart::new(input, boundary);
        Ok(Self { parts, unread })
    }

    /// The next part; `None` at the end.
    pub(crate) async fn next(&mut self) -> Result<Option<Part>, StorageError> {
        let field = self.parts.next_field().await.map_err(form_error)?;
        self.unread.reset();
        Ok(field.map(|field| Part {
            field,
            unread: self.unread.clone(),
        }))
    }
}

impl Part {
    pub(crate) fn name(&self) -> &str {
        self.field.name().unwrap_or_default()
    }

    pub(crate) fn file_name(&self) -> Option<&str> {
        self.field.file_name()
    }

    pub(crate) fn content_type(&self) -> Option<String> {
        self.field.content_type().map(ToString::to_string)
    }

    /// The next bytes; `None` at the end.
    pub(crate) async fn chunk(&mut self) -> Result<Option<Bytes>, StorageError> {
        let bytes = self.field.chunk().await.map_err(form_error)?;
        self.unread.reset();
        Ok(bytes)
    }
}

impl Unread {
    fn reset(&self) {
        self.0.store(0, Relaxed);
    }
}

/// The body, as the parser gets it. The parser polls until its input is pending before it looks at
/// any of it, so after each chunk the input is pending once.
struct ParserInput {
    body: BodyDataStream,
    unread: Unread,
    has_yielded: bool,
}

impl Stream for ParserInput {
    type Item = io::Result<Bytes>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if std::mem::take(&mut self.has_yielded) {
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        if self.unread.0.load(Relaxed) > MAX_UNREAD_BYTES {
            let error = io::Error::other("no part found within the limit");
            return Poll::Ready(Some(Err(error)));
        }
        let chunk = std::task::ready!(self.body.poll_next_unpin(cx));
        if let Some(Ok(bytes)) = &chunk {
            self.unread.0.fetch_add(bytes.len(), Relaxed);
            self.has_yielded = true;
        }
        Poll::Ready(chunk.map(|chunk| chunk.map_err(io::Error::other)))
    }
}

fn form_error(error: multer::Error) -> StorageError {
    StorageError::invalid_request(format!("The form cannot be parsed: {error}"))
}

#[cfg(test)]
mod tests {
    use futures_util::stream;

    use super::*;

    const TYPE: &str = "multipart/form-data; boundary=b";
    const HEAD: &str = "--b\r\nContent-Disposition: form-data; name=\"a\"; filename=\"f\"\r\n\r\n";

    /// A body that counts the bytes that were read.
    fn counted(begin: &'static str, chunk: Bytes, count: usize) -> (Body, Arc<AtomicUsize>) {
        let consumed = Arc::new(AtomicUsize::new(0));
        let counter = consumed.clone();
        let chunks = stream::iter((0..count).map(move |_| chunk.clone()));
        let all = stream::once(async move { Bytes::from(begin) }).chain(chunks);
        let all = all.map(move |chunk| {
            counter.fetch_add(chunk.len(), Relaxed);
            Ok::<_, io::Error>(chunk)
        });
        (Body::from_stream(all), consumed)
    }

    #[tokio::test]
    async fn a_body_without_a_part_is_not_read_to_its_end() {
        let chunk = Bytes::from(vec![b'x'; 16 * 1024]);
        for begin in ["", "--b\r\nContent-Disposition: form-data; name=\""] {
            let (body, consumed) = counted(begin, chunk.clone(), 1000);
            let mut form = Form::open(TYPE, body).expect("a form");

            assert!(form.next().await.is_err(), "{begin}");

            let consumed = consumed.load(Relaxed);
            assert!(consumed <= 2 * MAX_UNREAD_BYTES, "{begin}: {consumed}");
        }
    }

    #[tokio::test]
    async fn a_file_is_buffered_no_faster_than_it_is_read() {
        let chunk = Bytes::from(vec![b'x'; 16 * 1024]);
        let (body, consumed) = counted(HEAD, chunk, 1000);
        let mut form = Form::open(TYPE, body).expect("a form");
        let mut file = form.next().await.expect("readable").expect("a part");

        let mut read = 0;
        for _ in 0..500 {
            let bytes = file.chunk().await.expect("readable").expect("bytes");
            read += bytes.len();
            let ahead = consumed.load(Relaxed) - read;
            assert!(ahead <= 64 * 1024, "{ahead}");
        }
    }
}

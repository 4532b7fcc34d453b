//! Forms, read part by part.
//!
//! The parser keeps what it reads in memory until it comes upon a part, or upon bytes of one. So it
//! is given one piece of the body at a time, and no more than a few while nothing comes of them.

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

/// What may stand before a part, and the part's headers with it.
const MAX_UNREAD_BYTES: usize = 64 * 1024;

/// The parts of a form, in their order.
pub(crate) struct Form {
    parts: Multipart<'static>,
    unread: Unread,
}

/// One part. What is not read of it is lost with the next one.
pub(crate) struct Part {
    field: Field<'static>,
    unread: Unread,
}

/// How many bytes the parser was given of which nothing came yet.
#[derive(Clone, Default)]
struct Unread(Arc<AtomicUsize>);

impl Form {
    /// A form whose `Content-Type` is this.
    pub(crate) fn open(content_type: &str, body: Body) -> Result<Self, StorageError> {
        let boundary = multer::parse_boundary(content_type).map_err(unreadable)?;
        let unread = Unread::default();
        let pieces = Pieces {
            body: body.into_data_stream(),
            unread: unread.clone(),
            has_given: false,
        };
        let parts = Multipart::new(pieces, boundary);
        Ok(Self { parts, unread })
    }

    /// The next part; `None` at the end.
    pub(crate) async fn next(&mut self) -> Result<Option<Part>, StorageError> {
        let field = self.parts.next_field().await.map_err(unreadable)?;
        self.unread.is_over();
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
        let bytes = self.field.chunk().await.map_err(unreadable)?;
        self.unread.is_over();
        Ok(bytes)
    }
}

impl Unread {
    fn is_over(&self) {
        self.0.store(0, Relaxed);
    }
}

/// The body, as the parser gets it. The parser takes whatever is there before it looks at any of it,
/// so after each piece it is told that there is nothing for the moment.
struct Pieces {
    body: BodyDataStream,
    unread: Unread,
    has_given: bool,
}

impl Stream for Pieces {
    type Item = io::Result<Bytes>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if std::mem::take(&mut self.has_given) {
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        if self.unread.0.load(Relaxed) > MAX_UNREAD_BYTES {
            let error = io::Error::other("no part begins where one should");
            return Poll::Ready(Some(Err(error)));
        }
        let piece = std::task::ready!(self.body.poll_next_unpin(cx));
        if let Some(Ok(bytes)) = &piece {
            self.unread.0.fetch_add(bytes.len(), Relaxed);
            self.has_given = true;
        }
        Poll::Ready(piece.map(|piece| piece.map_err(io::Error::other)))
    }
}

fn unreadable(error: multer::Error) -> StorageError {
    StorageError::invalid_request(format!("The form cannot be read: {error}"))
}

#[cfg(test)]
mod tests {
    use futures_util::stream;

    use super::*;

    const TYPE: &str = "multipart/form-data; boundary=b";
    const HEAD: &str = "--b\r\nContent-Disposition: form-data; name=\"a\"; filename=\"f\"\r\n\r\n";

    /// A body that says how much of it was taken.
    fn counted(begin: &'static str, piece: Bytes, count: usize) -> (Body, Arc<AtomicUsize>) {
        let taken = Arc::new(AtomicUsize::new(0));
        let counter = taken.clone();
        let pieces = stream::iter((0..count).map(move |_| piece.clone()));
        let all = stream::once(async move { Bytes::from(begin) }).chain(pieces);
        let all = all.map(move |piece| {
            counter.fetch_add(piece.len(), Relaxed);
            Ok::<_, io::Error>(piece)
        });
        (Body::from_stream(all), taken)
    }

    #[tokio::test]
    async fn what_never_becomes_a_part_is_not_read_to_its_end() {
        let piece = Bytes::from(vec![b'x'; 16 * 1024]);
        for begin in ["", "--b\r\nContent-Disposition: form-data; name=\""] {
            let (body, taken) = counted(begin, piece.clone(), 1000);
            let mut form = Form::open(TYPE, body).expect("a form");

            assert!(form.next().await.is_err(), "{begin}");

            let taken = taken.load(Relaxed);
            assert!(taken <= 2 * MAX_UNREAD_BYTES, "{begin}: {taken}");
        }
    }

    #[tokio::test]
    async fn a_file_is_taken_no_faster_than_it_is_read() {
        let piece = Bytes::from(vec![b'x'; 16 * 1024]);
        let (body, taken) = counted(HEAD, piece, 1000);
        let mut form = Form::open(TYPE, body).expect("a form");
        let mut file = form.next().await.expect("readable").expect("a part");

        let mut read = 0;
        for _ in 0..500 {
            let bytes = file.chunk().await.expect("readable").expect("bytes");
            read += bytes.len();
            let ahead = taken.load(Relaxed) - read;
            assert!(ahead <= 64 * 1024, "{ahead}");
        }
    }
}

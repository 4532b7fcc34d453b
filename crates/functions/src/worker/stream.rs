//! The unix stream below a connection to a worker.

use std::{
    io::{self, IoSlice, Write as _},
    net::Shutdown,
    os::unix::net::UnixStream,
    path::Path,
    pin::Pin,
    task::{Context, Poll, ready},
    time::Duration,
};

use rustix::io::Errno;
use tokio::{
    io::{AsyncRead, AsyncWrite, Interest, ReadBuf, unix::AsyncFd},
    time::{Sleep, sleep},
};

/// How long to wait before a retry where descriptors are short, or the worker is busy.
pub(super) const RETRY_INTERVAL: Duration = Duration::from_millis(10);

/// Registered for readability, and for writability only once a write would have blocked.
///
/// A unix socket that is registered for both wakes the task each time that the other end has read: with
/// every request, for nothing.
pub(super) struct WorkerStream {
    stream: AsyncFd<UnixStream>,
    /// The same socket, registered for writability after the first write that would have blocked.
    writable: Option<AsyncFd<UnixStream>>,
    /// Until registering is tried again.
    retry: Option<Pin<Box<Sleep>>>,
}

impl WorkerStream {
    pub(super) async fn connect(path: &Path) -> io::Result<Self> {
        let stream = tokio::net::UnixStream::connect(path).await?.into_std()?;
        let stream = register(stream, Interest::READABLE)?;
        Ok(Self {
            stream,
            writable: None,
            retry: None,
        })
    }

    /// Writes as soon as the socket is writable.
    fn poll_write_with(
        &mut self,
        context: &mut Context<'_>,
        mut write: impl FnMut(&UnixStream) -> io::Result<usize>,
    ) -> Poll<io::Result<usize>> {
        loop {
            match write(self.stream.get_ref()) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                written => return Poll::Ready(written),
            }
            ready!(self.poll_writable(context))?;
        }
    }

    fn poll_writable(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        if let Ok(writable) = self.writable() {
            ready!(writable.poll_write_ready(context))?.clear_ready();
        } else {
            // No descriptor is left for now, which is not the request's fault.
            let new_retry = || Box::pin(sleep(RETRY_INTERVAL));
            let retry = self.retry.get_or_insert_with(new_retry);
            ready!(retry.as_mut().poll(context));
            self.retry = None;
        }
        Poll::Ready(Ok(()))
    }

    fn writable(&mut self) -> io::Result<&AsyncFd<UnixStream>> {
        let writable = match self.writable.take() {
            Some(writable) => writable,
            None => register(self.stream.get_ref().try_clone()?, Interest::WRITABLE)?,
        };
        Ok(self.writable.insert(writable))
    }
}

fn register(stream: UnixStream, interest: Interest) -> io::Result<AsyncFd<UnixStream>> {
    // SAFETY: a stream of the standard library owns its descriptor until it is dropped.
    Ok(unsafe { AsyncFd::register_with_interest(stream, interest) }?)
}

impl AsyncRead for WorkerStream {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        loop {
            let mut ready = ready!(self.stream.poll_read_ready(context))?;
            // SAFETY: only the kernel writes into it, and nothing is read from it.
            let unfilled = unsafe { buffer.unfilled_mut() };
            match rustix::io::read(ready.get_inner(), unfilled) {
                Ok((read, untouched)) => {
                    // A short read has emptied the socket: the next data makes it readable again.
                    if !read.is_empty() && !untouched.is_empty() {
                        ready.clear_ready();
                    }
                    let count = read.len();
                    // SAFETY: the kernel wrote so many bytes.
                    unsafe { buffer.assume_init(count) };
                    buffer.advance(count);
                    return Poll::Ready(Ok(()));
                }
                Err(Errno::AGAIN) => ready.clear_ready(),
                Err(Errno::INTR) => {}
                Err(error) => return Poll::Ready(Err(error.into())),
            }
        }
    }
}

impl AsyncWrite for WorkerStream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.poll_write_with(context, |mut stream| stream.write(bytes))
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffers: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.poll_write_with(context, |mut stream| stream.write_vectored(buffers))
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(self: Pin<&mut Self>, _context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(self.stream.get_ref().shutdown(Shutdown::Write))
    }
}

#[cfg(test)]
mod tests {
    use tokio::{
        io::{AsyncReadExt as _, AsyncWriteExt as _},
        net::UnixListener,
    };

    use super::*;

    async fn pair() -> (WorkerStream, tokio::net::UnixStream) {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("s.sock");
        let listener = UnixListener::bind(&path).expect("a socket");
        let stream = WorkerStream::connect(&path).await.expect("a connection");
        let (other, _) = listener.accept().await.expect("the other end");
        (stream, other)
    }

    #[tokio::test]
    async fn what_is_written_in_turns_arrives() {
        let (mut stream, mut other) = pair().await;
        let echo = tokio::spawn(async move {
            let mut word = [0; 4];
            while other.read_exact(&mut word).await.is_ok() {
                other.write_all(&word).await.expect("written");
            }
        });
        for number in 0..1000_u32 {
            stream.write_u32(number).await.expect("written");
            assert_eq!(stream.read_u32().await.expect("an echo"), number);
        }
        assert!(stream.writable.is_none(), "no write would have blocked");
        stream.shutdown().await.expect("closed");
        assert_eq!(stream.read(&mut [0; 1]).await.expect("the end"), 0);
        echo.await.expect("no panic");
    }

    /// More than the socket holds, both ways, against an end that takes its time.
    #[tokio::test]
    async fn a_full_socket_delays_writes() {
        const BYTES: usize = 8 << 20;
        let (stream, mut other) = pair().await;
        let slow = tokio::spawn(async move {
            let mut chunk = vec![0; 100_000];
            let mut read = 0;
            while read < BYTES {
                tokio::task::yield_now().await;
                read += other.read(&mut chunk).await.expect("read");
            }
            other.write_all(&vec![7; BYTES]).await.expect("written");
        });
        let (mut reader, mut writer) = tokio::io::split(stream);
        let writing = async {
            writer.write_all(&vec![5; BYTES]).await.expect("written");
        };
        let reading = async {
            let mut received = Vec::new();
            reader.read_to_end(&mut received).await.expect("read");
            received
        };
        let ((), received) = tokio::join!(writing, reading);
        assert!(received.len() == BYTES && received.iter().all(|byte| *byte == 7));
        slow.await.expect("no panic");
    }

    #[tokio::test]
    async fn a_delayed_write_fails_when_the_other_end_closes() {
        let (mut stream, other) = pair().await;
        let closing = tokio::spawn(async move {
            // By then the buffers are full and the write waits for its next try.
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
            drop(other);
        });
        let error = stream
            .write_all(&vec![5; 8 << 20])
            .await
            .expect_err("closed");
        assert_eq!(error.kind(), io::ErrorKind::BrokenPipe);
        closing.await.expect("no panic");
    }
}

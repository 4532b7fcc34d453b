//! The stream below a connection to a worker.

use std::{
    io::{self, IoSlice, Write as _},
    net::Shutdown,
    os::unix::net::UnixStream,
    path::Path,
    pin::Pin,
    task::{Context, Poll, ready},
};

use rustix::io::Errno;
use tokio::{
    io::{AsyncRead, AsyncWrite, Interest, ReadBuf, unix::AsyncFd},
    time::{Sleep, sleep},
};

use super::line::PAUSE;

/// Hears of what can be read, but of room to write only after there was none.
///
/// Whoever asks a unix socket about room is told of it each time that the other end has read: with
/// every request, for nothing.
pub(super) struct Wire {
    stream: AsyncFd<UnixStream>,
    /// The same socket once more, since there was no room for the first time.
    room: Option<AsyncFd<UnixStream>>,
    /// Until it is tried again to listen for room.
    pause: Option<Pin<Box<Sleep>>>,
}

impl Wire {
    pub(super) async fn connect(path: &Path) -> io::Result<Self> {
        let stream = tokio::net::UnixStream::connect(path).await?.into_std()?;
        let stream = watch(stream, Interest::READABLE)?;
        Ok(Self {
            stream,
            room: None,
            pause: None,
        })
    }

    /// Writes, as soon as there is room.
    fn poll_write_by(
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
            ready!(self.poll_room(context))?;
        }
    }

    fn poll_room(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        if let Ok(room) = self.room() {
            ready!(room.poll_write_ready(context))?.clear_ready();
        } else {
            // There is no descriptor left for now, which is not the request's fault.
            let pause = self.pause.get_or_insert_with(|| Box::pin(sleep(PAUSE)));
            ready!(pause.as_mut().poll(context));
            self.pause = None;
        }
        Poll::Ready(Ok(()))
    }

    fn room(&mut self) -> io::Result<&AsyncFd<UnixStream>> {
        let room = match self.room.take() {
            Some(room) => room,
            None => watch(self.stream.get_ref().try_clone()?, Interest::WRITABLE)?,
        };
        Ok(self.room.insert(room))
    }
}

fn watch(stream: UnixStream, interest: Interest) -> io::Result<AsyncFd<UnixStream>> {
    // SAFETY: a stream of the standard library owns its descriptor, which stays the same and open
    // until the stream is dropped.
    Ok(unsafe { AsyncFd::register_with_interest(stream, interest) }?)
}

impl AsyncRead for Wire {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        loop {
            let mut ready = ready!(self.stream.poll_read_ready(context))?;
            // SAFETY: the system writes into it, and nothing else is done with it.
            let unfilled = unsafe { buffer.unfilled_mut() };
            match rustix::io::read(ready.get_inner(), unfilled) {
                Ok((read, untouched)) => {
                    // Whoever gets less than asked for has got everything, and is told of more.
                    if !read.is_empty() && !untouched.is_empty() {
                        ready.clear_ready();
                    }
                    let count = read.len();
                    // SAFETY: so many bytes were written.
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

impl AsyncWrite for Wire {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.poll_write_by(context, |mut stream| stream.write(bytes))
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        pieces: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.poll_write_by(context, |mut stream| stream.write_vectored(pieces))
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

    async fn pair() -> (Wire, tokio::net::UnixStream) {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("s.sock");
        let listener = UnixListener::bind(&path).expect("a socket");
        let wire = Wire::connect(&path).await.expect("a connection");
        let (other, _) = listener.accept().await.expect("the other end");
        (wire, other)
    }

    #[tokio::test]
    async fn what_is_said_in_turns_arrives() {
        let (mut wire, mut other) = pair().await;
        let echo = tokio::spawn(async move {
            let mut said = [0; 4];
            while other.read_exact(&mut said).await.is_ok() {
                other.write_all(&said).await.expect("written");
            }
        });
        for number in 0..1000_u32 {
            wire.write_u32(number).await.expect("written");
            assert_eq!(wire.read_u32().await.expect("an echo"), number);
        }
        assert!(wire.room.is_none(), "nobody asked for room");
        wire.shutdown().await.expect("closed");
        assert_eq!(wire.read(&mut [0; 1]).await.expect("the end"), 0);
        echo.await.expect("no panic");
    }

    /// More than the socket holds, both ways, against an end that takes its time.
    #[tokio::test]
    async fn what_does_not_fit_waits_for_room() {
        const BYTES: usize = 8 << 20;
        let (wire, mut other) = pair().await;
        let slow = tokio::spawn(async move {
            let mut piece = vec![0; 100_000];
            let mut read = 0;
            while read < BYTES {
                tokio::task::yield_now().await;
                read += other.read(&mut piece).await.expect("read");
            }
            other.write_all(&vec![7; BYTES]).await.expect("written");
        });
        let (mut reader, mut writer) = tokio::io::split(wire);
        let writing = async {
            writer.write_all(&vec![5; BYTES]).await.expect("written");
        };
        let reading = async {
            let mut answer = Vec::new();
            reader.read_to_end(&mut answer).await.expect("read");
            answer
        };
        let ((), answer) = tokio::join!(writing, reading);
        assert!(answer.len() == BYTES && answer.iter().all(|byte| *byte == 7));
        slow.await.expect("no panic");
    }

    #[tokio::test]
    async fn whoever_waits_for_room_hears_of_the_other_end_going() {
        let (mut wire, other) = pair().await;
        let going = tokio::spawn(async move {
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
            drop(other);
        });
        let error = wire.write_all(&vec![5; 8 << 20]).await.expect_err("gone");
        assert_eq!(error.kind(), io::ErrorKind::BrokenPipe);
        going.await.expect("no panic");
    }
}

//! Rereadable sources of resumable uploads.

use std::io;

use bytes::Bytes;

use crate::runtime::{BoxFuture, MaybeSend, MaybeSync};

/// Bytes that can be read at any offset: bytes in memory, or a file by its path. Implement it for anything else.
pub trait ReadAt: MaybeSend + MaybeSync + 'static {
    /// How many bytes there are. It must not change while they are uploaded.
    fn length(&self) -> BoxFuture<'_, io::Result<u64>>;

    /// Bytes from this offset: this many, or fewer at the end.
    fn read_at(&self, offset: u64, bytes: usize) -> BoxFuture<'_, io::Result<Bytes>>;

    /// The content type, if known.
    fn content_type(&self) -> Option<&'static str> {
        None
    }
}

impl ReadAt for Bytes {
    fn length(&self) -> BoxFuture<'_, io::Result<u64>> {
        Box::pin(async { Ok(self.len() as u64) })
    }

    fn read_at(&self, offset: u64, bytes: usize) -> BoxFuture<'_, io::Result<Bytes>> {
        let start = usize::try_from(offset)
            .unwrap_or(usize::MAX)
            .min(self.len());
        let end = start.saturating_add(bytes).min(self.len());
        Box::pin(async move { Ok(self.slice(start..end)) })
    }
}

#[cfg(not(target_arch = "wasm32"))]
mod file {
    use std::path::PathBuf;

    use tokio::io::{AsyncReadExt as _, AsyncSeekExt as _};

    use super::*;
    use crate::storage::upload_body::type_by_name;

    impl ReadAt for PathBuf {
        fn length(&self) -> BoxFuture<'_, io::Result<u64>> {
            Box::pin(async move { Ok(tokio::fs::metadata(self).await?.len()) })
        }

        fn read_at(&self, offset: u64, bytes: usize) -> BoxFuture<'_, io::Result<Bytes>> {
            Box::pin(async move {
                let mut file = tokio::fs::File::open(self).await?;
                file.seek(io::SeekFrom::Start(offset)).await?;
                let mut read = Vec::new();
                file.take(bytes as u64).read_to_end(&mut read).await?;
                Ok(read.into())
            })
        }

        fn content_type(&self) -> Option<&'static str> {
            Some(type_by_name(&self.to_string_lossy()))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn check(source: &impl ReadAt) {
        assert_eq!(source.length().await.unwrap(), 10);
        assert_eq!(source.read_at(0, 4).await.unwrap(), "0123");
        assert_eq!(source.read_at(8, 4).await.unwrap(), "89");
        assert_eq!(source.read_at(10, 4).await.unwrap(), "");
        assert_eq!(source.read_at(u64::from(u32::MAX), 4).await.unwrap(), "");
    }

    #[tokio::test]
    async fn bytes_and_files_are_read_from_anywhere() {
        let file = tempfile::NamedTempFile::with_suffix(".png").unwrap();
        std::fs::write(file.path(), "0123456789").unwrap();

        check(&Bytes::from("0123456789")).await;
        check(&file.path().to_path_buf()).await;
        assert_eq!(file.path().to_path_buf().content_type(), Some("image/png"));
    }
}

//! What stands beside the projects of a store.

use std::io;

use object_store::{Error, ObjectStoreExt as _, path::Path};

use super::{S3Store, failure};

impl S3Store {
    pub(crate) async fn note(&self, name: &str) -> io::Result<Option<Vec<u8>>> {
        let found = match self.client().get(&self.note_path(name)).await {
            Ok(found) => found,
            Err(Error::NotFound { .. }) => return Ok(None),
            Err(error) => return Err(failure(error)),
        };
        let bytes = found.bytes().await.map_err(failure)?;
        Ok(Some(bytes.into()))
    }

    pub(crate) async fn leave_note(&self, name: &str, note: Vec<u8>) -> io::Result<()> {
        let left = self.client().put(&self.note_path(name), note.into()).await;
        left.map(drop).map_err(failure)
    }

    fn note_path(&self, name: &str) -> Path {
        Path::from(self.prefix()).join(name)
    }
}

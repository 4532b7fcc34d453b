//! Small files beside the projects of a store, such as the marker of the owner.

use std::io;

use object_store::{Error, ObjectStoreExt as _, path::Path};

use super::{connect::S3Store, error::to_io_error};

impl S3Store {
    pub(crate) async fn read_marker(&self, name: &str) -> io::Result<Option<Vec<u8>>> {
        let found = match self.client().get(&self.marker_path(name)).await {
            Ok(found) => found,
            Err(Error::NotFound { .. }) => return Ok(None),
            Err(error) => return Err(to_io_error(error)),
        };
        let bytes = found.bytes().await.map_err(to_io_error)?;
        Ok(Some(bytes.into()))
    }

    pub(crate) async fn write_marker(&self, name: &str, marker: Vec<u8>) -> io::Result<()> {
        let put = self
            .client()
            .put(&self.marker_path(name), marker.into())
            .await;
        put.map(drop).map_err(to_io_error)
    }

    fn marker_path(&self, name: &str) -> Path {
        Path::from(self.prefix()).join(name)
    }
}

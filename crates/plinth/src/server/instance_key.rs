//! The instance key, which encrypts secrets at rest: `PLINTH_INSTANCE_KEY`, else a file in the state
//! folder.

use std::fs;

use plinth_token::InstanceKey;

use crate::{
    failure::Outcome,
    folder::{Folder, plain, write_private},
};

pub(super) fn load_or_create(folder: &Folder) -> Outcome<InstanceKey> {
    if let Ok(text) = std::env::var("PLINTH_INSTANCE_KEY") {
        return InstanceKey::from_text(text.trim())
            .map_err(|error| anyhow::anyhow!("PLINTH_INSTANCE_KEY: {error}").into());
    }
    let path = folder.instance_key();
    match fs::read_to_string(&path) {
        Ok(text) => InstanceKey::from_text(text.trim())
            .map_err(|error| anyhow::anyhow!("{}: {error}", path.display()).into()),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            let key = InstanceKey::generate();
            write_private(&path, key.to_text().expose()).map_err(|error| {
                anyhow::anyhow!("cannot write {}: {}", path.display(), plain(&error))
            })?;
            Ok(key)
        }
        Err(error) => {
            Err(anyhow::anyhow!("cannot read {}: {}", path.display(), plain(&error)).into())
        }
    }
}

//! `plinth functions download`.

use std::{
    fs,
    path::{Path, PathBuf},
};

use futures_util::stream;
use serde_json::Value;

use super::{base, check_name, resolve, sources::normalized};
use crate::{
    cli::{
        Client, Global,
        client::{Payload, segment},
        output::{confirm, print},
    },
    failure::{Failure, Kind, Outcome},
    folder::Folder,
};

/// Downloaded sources of a function.
struct Downloaded {
    entrypoint: String,
    files: Vec<(String, Vec<u8>)>,
}

pub(super) async fn run(global: &Global, name: &str) -> Outcome {
    check_name(name)?;
    let root = Folder::find(global.workdir.as_deref(), global.data_dir.as_deref())?.root;
    let client = Client::connect(global)?;
    let reference = resolve(&client, &global.reference).await?;
    let path = format!("{}/{}/body", base(&reference), segment(name));
    let downloaded = read(client.download(&path, "multipart/form-data").await?).await?;

    let functions = root.join("supabase/functions");
    let mut files = Vec::new();
    for (path, content) in downloaded.files {
        let target = local_path(&functions, name, &downloaded.entrypoint, &path)?;
        files.push((target, content));
    }
    let changed = files.iter().filter(|(target, content)| {
        target.exists() && fs::read(target).is_ok_and(|existing| existing != *content)
    });
    let changed: Vec<String> = changed.map(|(target, _)| relative(&root, target)).collect();
    if !changed.is_empty() {
        let question = format!("Overwrite {}?", changed.join(", "));
        if !confirm(&question, global.yes)? {
            eprintln!("Nothing was written.");
            return Ok(());
        }
    }
    for (target, content) in files {
        if let Some(folder) = target.parent() {
            fs::create_dir_all(folder)?;
        }
        fs::write(&target, content)?;
        print(&format!("{}\n", relative(&root, &target)))?;
    }
    Ok(())
}

async fn read(payload: Payload) -> Outcome<Downloaded> {
    let boundary = multer::parse_boundary(&payload.content_type)?;
    let body = stream::iter([Ok::<_, std::io::Error>(payload.bytes)]);
    let mut form = multer::Multipart::new(body, boundary);
    let mut downloaded = Downloaded {
        entrypoint: "index.ts".to_owned(),
        files: Vec::new(),
    };
    while let Some(part) = form.next_field().await? {
        match part.file_name() {
            Some(path) => {
                let path = path.replace("%22", "\"");
                downloaded.files.push((path, part.bytes().await?.to_vec()));
            }
            None => {
                let metadata: Value = serde_json::from_slice(&part.bytes().await?)?;
                if let Some(path) = metadata["deno2_entrypoint_path"].as_str() {
                    downloaded.entrypoint = path.to_owned();
                }
            }
        }
    }
    Ok(downloaded)
}

/// The local path of a file, with the same relation to the entry point as where it was deployed
/// from. It must be inside of `supabase/functions/`.
fn local_path(functions: &Path, name: &str, entrypoint: &str, path: &str) -> Outcome<PathBuf> {
    let folder = entrypoint.rsplit_once('/').map_or("", |(folder, _)| folder);
    let mut up: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    let mut down: Vec<&str> = path.split('/').collect();
    // Both are relative to the same folder, so the common prefix is irrelevant.
    let shared = up.iter().zip(&down).take_while(|(a, b)| a == b).count();
    up.drain(..shared);
    down.drain(..shared);
    let mut target = functions.join(name);
    target.extend(up.iter().map(|_| ".."));
    target.extend(down.iter().filter(|part| !part.is_empty()));
    let target = normalized(&target);
    if target.starts_with(functions) && target != functions {
        Ok(target)
    } else {
        Err(Failure::new(
            Kind::Failure,
            format!("{path} does not fit into supabase/functions/, so nothing was written"),
        ))
    }
}

fn relative(root: &Path, path: &Path) -> String {
    path.strip_prefix(root)
        .unwrap_or(path)
        .display()
        .to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_keep_their_relation_to_the_entrypoint() {
        let functions = Path::new("/p/supabase/functions");
        let check = |entrypoint: &str, path: &str, expected: Option<&str>| {
            let target = local_path(functions, "hello", entrypoint, path).ok();
            let expected = expected.map(|path| functions.join(path));
            assert_eq!(target, expected, "{path}");
        };
        let usual = "supabase/functions/hello/index.ts";
        check(usual, usual, Some("hello/index.ts"));
        let shared = "supabase/functions/_shared/cors.ts";
        check(usual, shared, Some("_shared/cors.ts"));
        check(usual, "supabase/import_map.json", None);
        check(usual, "/etc/passwd", None);
        check("index.ts", "index.ts", Some("hello/index.ts"));
        check("index.ts", "lib/a.ts", Some("hello/lib/a.ts"));
        check("index.ts", "../../../x.ts", None);
    }
}

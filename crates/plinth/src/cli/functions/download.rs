//! `plinth functions download`.

use std::{
    fs,
    path::{Path, PathBuf},
};

use futures_util::stream;
use serde_json::Value;

use super::{base, check_name, resolve, sources::normal};
use crate::{
    cli::{
        Client, Global,
        client::{Payload, segment},
        output::{confirm, print},
    },
    failure::{Failure, Kind, Outcome},
    folder::Folder,
};

/// The sources of a function, as the server has them.
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
        let place = place(&functions, name, &downloaded.entrypoint, &path)?;
        files.push((place, content));
    }
    let changed = files.iter().filter(|(place, content)| {
        place.exists() && fs::read(place).is_ok_and(|there| there != *content)
    });
    let changed: Vec<String> = changed.map(|(place, _)| shown(&root, place)).collect();
    if !changed.is_empty() {
        let question = format!("Overwrite {}?", changed.join(", "));
        if !confirm(&question, global.yes)? {
            eprintln!("Nothing was written.");
            return Ok(());
        }
    }
    for (place, content) in files {
        if let Some(folder) = place.parent() {
            fs::create_dir_all(folder)?;
        }
        fs::write(&place, content)?;
        print(&format!("{}\n", shown(&root, &place)))?;
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

/// Files stand around the module as they did where it was deployed from; none leaves
/// `supabase/functions/`.
fn place(functions: &Path, name: &str, entrypoint: &str, path: &str) -> Outcome<PathBuf> {
    let folder = entrypoint.rsplit_once('/').map_or("", |(folder, _)| folder);
    let mut up: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    let mut down: Vec<&str> = path.split('/').collect();
    // Both begin at the same place, so what they share says nothing.
    let shared = up.iter().zip(&down).take_while(|(a, b)| a == b).count();
    up.drain(..shared);
    down.drain(..shared);
    let mut place = functions.join(name);
    place.extend(up.iter().map(|_| ".."));
    place.extend(down.iter().filter(|part| !part.is_empty()));
    let place = normal(&place);
    match place.starts_with(functions) && place != functions {
        true => Ok(place),
        false => Err(Failure::new(
            Kind::Failure,
            format!("{path} does not fit into supabase/functions/, so nothing was written"),
        )),
    }
}

fn shown(root: &Path, place: &Path) -> String {
    place
        .strip_prefix(root)
        .unwrap_or(place)
        .display()
        .to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_stand_around_their_module_and_nowhere_else() {
        let functions = Path::new("/p/supabase/functions");
        let check = |entrypoint: &str, path: &str, expected: Option<&str>| {
            let place = place(functions, "hello", entrypoint, path).ok();
            let expected = expected.map(|path| functions.join(path));
            assert_eq!(place, expected, "{path}");
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

//! The module graph of a function.

use std::path::Path;

use serde::Deserialize;
use url::Url;

/// All modules of a function, as `deno info` lists them.
#[derive(Deserialize)]
pub(super) struct Graph {
    modules: Vec<Module>,
}

#[derive(Deserialize)]
struct Module {
    specifier: String,
}

impl Graph {
    /// The first module that is a file outside of the folder.
    pub(super) fn find_outside(&self, folder: &Path) -> Option<&str> {
        let mut names = self.modules.iter().map(|module| module.specifier.as_str());
        names.find(|name| match Url::parse(name) {
            Ok(url) if url.scheme() == "file" => !url
                .to_file_path()
                .is_ok_and(|path| path.starts_with(folder)),
            _ => false,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outside(modules: &[&str]) -> Option<String> {
        let modules = modules.iter().map(|name| Module {
            specifier: (*name).to_owned(),
        });
        let graph = Graph {
            modules: modules.collect(),
        };
        graph
            .find_outside(Path::new("/a b/source"))
            .map(str::to_owned)
    }

    #[test]
    fn files_outside_of_the_folder_are_found() {
        let inside = "file:///a%20b/source/hello/index.ts";
        for fine in [
            inside,
            "npm:/hono@4",
            "node:fs",
            "https://a.example/x.ts",
            "data:,",
        ] {
            assert_eq!(outside(&[inside, fine]), None, "{fine}");
        }
        for odd in [
            "file:///a%20b/other/secret.json",
            "file:///a%20b/source/../secret.json",
            "file:///a%20b/source2/x.ts",
            "file://host/a%20b/source/x.ts",
        ] {
            assert_eq!(outside(&[inside, odd]).as_deref(), Some(odd));
        }
    }
}

//! Puts the built web pages (`web/dist`) into the program.
//!
//! Cargo never runs npm: `cargo xtask up` and `cargo xtask test` build the pages first. A program
//! that was built without them says so when a page is asked for.

use std::{env, fmt::Write, fs, io, path::Path};

fn main() -> io::Result<()> {
    let here = env::var("CARGO_MANIFEST_DIR").expect("cargo sets it");
    let dist = Path::new(&here).join("../../web/dist");
    println!("cargo::rerun-if-changed={}", dist.display());
    println!("cargo::rerun-if-changed=build.rs");

    let mut code = String::new();
    let page = dist.join("index.html");
    if page.is_file() {
        let _ = writeln!(
            code,
            "pub(super) const PAGE: Option<&str> = Some(include_str!({page:?}));"
        );
    } else {
        code.push_str("pub(super) const PAGE: Option<&str> = None;\n");
    }
    code.push_str("pub(super) const ASSETS: &[(&str, &[u8])] = &[\n");
    for name in names(&dist.join("assets"))? {
        let file = dist.join("assets").join(&name);
        let _ = writeln!(code, "    ({name:?}, include_bytes!({file:?})),");
    }
    code.push_str("];\n");
    let out = env::var("OUT_DIR").expect("cargo sets it");
    fs::write(Path::new(&out).join("web_pages.rs"), code)
}

/// In order, so that equal folders give equal programs.
fn names(folder: &Path) -> io::Result<Vec<String>> {
    if !folder.is_dir() {
        return Ok(Vec::new());
    }
    let entries = fs::read_dir(folder)?;
    let mut names = entries
        .map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()))
        .collect::<io::Result<Vec<_>>>()?;
    names.sort();
    Ok(names)
}

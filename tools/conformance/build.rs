//! Compresses the scripts into one file, which the program contains.

use std::{
    env,
    error::Error,
    fs::{self, File},
    io::Write,
    path::{Path, PathBuf},
};

use flate2::{Compression, write::GzEncoder};

#[expect(
    clippy::disallowed_methods,
    reason = "cargo passes its folders to build scripts in the environment"
)]
fn main() -> Result<(), Box<dyn Error>> {
    let folder = Path::new(&env::var("CARGO_MANIFEST_DIR")?).join("scripts");
    let entries: Result<Vec<_>, _> = fs::read_dir(folder)?.collect();
    let mut paths: Vec<PathBuf> = entries?.into_iter().map(|entry| entry.path()).collect();
    paths.retain(|path| path.extension().is_some_and(|it| it == "jsonl"));
    paths.sort();
    let out = File::create(Path::new(&env::var("OUT_DIR")?).join("scripts.gz"))?;
    let mut out = GzEncoder::new(out, Compression::best());
    for path in paths {
        // An empty line ends a script.
        writeln!(out, "{}", fs::read_to_string(path)?)?;
    }
    out.finish()?;
    Ok(())
}

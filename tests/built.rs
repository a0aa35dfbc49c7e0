//! fake-claude and fake-model. They are programs of another package, which Cargo doesn't build for this package's tests:
//! the first test that needs them builds them, which takes no time if they are up to date.

use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;

/// The path of `program`, one of the two.
pub(crate) fn built(program: &str) -> io::Result<String> {
    static FOLDER: LazyLock<io::Result<PathBuf>> = LazyLock::new(build);
    let folder = FOLDER.as_ref().map_err(|error| io::Error::new(error.kind(), error.to_string()))?;
    Ok(folder.join(program).display().to_string())
}

/// Builds both next to murmur and returns their folder.
fn build() -> io::Result<PathBuf> {
    let murmur = Path::new(env!("CARGO_BIN_EXE_murmur"));
    let folders: Vec<&Path> = murmur.ancestors().skip(1).take(2).collect();
    let [folder, target] = folders[..] else { return Err(io::Error::other("murmur is in no target folder")) };
    // Without Cargo, whoever runs the tests has built them.
    if let Some(cargo) = std::env::var_os("CARGO") {
        let mut build = Command::new(cargo);
        build.args(["build", "--quiet", "--locked", "--offline", "--package", "fake-claude", "--bins"]);
        if folder.ends_with("release") {
            build.arg("--release");
        }
        let status =
            build.arg("--target-dir").arg(target).current_dir(env!("CARGO_MANIFEST_DIR")).status()?;
        if !status.success() {
            return Err(io::Error::other(format!("cargo cannot build fake-claude: {status}")));
        }
    }
    Ok(folder.to_path_buf())
}

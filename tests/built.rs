//! fake-claude and fake-model. They are programs of another package, which Cargo doesn't build for this package's
//! tests: the first test that needs them builds them, which takes no time if they are up to date.

use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
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
    // Without Cargo, or in tests/hermetic.sh, they are already built.
    let cargo = std::env::var_os("CARGO").filter(|_| std::env::var_os("MURMUR_TEST_BUILT").is_none());
    if let Some(cargo) = cargo {
        // For fake-claude's own test Cargo builds them from the same dependencies as whatever is tested; `cargo build`
        // would resolve fewer features, and recompile everything.
        let mut build = Command::new(cargo);
        build.args(["test", "--no-run", "--quiet", "--locked", "--offline", "--test", "programs"]);
        if folder.ends_with("release") {
            build.arg("--release");
        }
        build.arg("--target-dir").arg(target).current_dir(env!("CARGO_MANIFEST_DIR"));
        let ran = build.stdin(Stdio::null()).output()?;
        if !ran.status.success() {
            let said = String::from_utf8_lossy(&ran.stderr);
            return Err(io::Error::other(format!("cargo cannot build fake-claude: {} {said}", ran.status)));
        }
    }
    Ok(folder.to_path_buf())
}

//! A fixture as a folder: `run.json`, `stdin`, `stdout`, `stderr`, `times`.
//!
//! Input: a path. Output: a fixture, or the five files. Other files, such as a scenario, are kept. A folder with
//! unrelated contents is never written to.

use std::path::Path;

use super::fixture::{Fixture, FixtureError, Parts};

const OWN: [&str; 5] = ["run.json", "stdin", "stdout", "stderr", "times"];
/// A file that may exist before the fixture is recorded.
const BESIDE: &str = "scenario.json";

impl Fixture {
    /// Reads the fixture in `folder`.
    pub fn load(folder: &Path) -> Result<Self, FixtureError> {
        let read = |name: &str| {
            let path = folder.join(name);
            std::fs::read(&path).map_err(|source| FixtureError::Read { path, source })
        };
        let [run, stdin, stdout, stderr, times] = OWN.map(read);
        let (run, stdin, stdout, stderr, times) = (run?, stdin?, stdout?, stderr?, times?);
        let parts = Parts { run: &run, stdin: &stdin, stdout: &stdout, stderr: &stderr, times: &times };
        Self::from_parts(folder, &parts)
    }

    /// Writes the fixture to `folder`, replacing an existing fixture.
    ///
    /// `run.json` is written last, so a folder without it is incomplete.
    ///
    /// # Errors
    /// Fails if the folder contains something that is not a fixture.
    pub fn save(&self, folder: &Path) -> Result<(), FixtureError> {
        Self::may_save(folder)?;
        let failed = |path: &Path| {
            let path = path.to_path_buf();
            |source| FixtureError::Write { path, source }
        };
        std::fs::create_dir_all(folder).map_err(failed(folder))?;
        let times: String = self.times.iter().map(|time| format!("{time}\n")).collect();
        let path = folder.join("run.json");
        let mut run = serde_json::to_vec_pretty(&self.run)
            .map_err(|source| FixtureError::Run { path: path.clone(), source })?;
        run.push(b'\n');
        let files: [(&str, &[u8]); 5] = [
            ("stdin", &self.stdin),
            ("stdout", &self.stdout),
            ("stderr", &self.stderr),
            ("times", times.as_bytes()),
            ("run.json", &run),
        ];
        for (name, bytes) in files {
            let path = folder.join(name);
            std::fs::write(&path, bytes).map_err(failed(&path))?;
        }
        Ok(())
    }

    /// Checks in advance whether [`Fixture::save`] can write to `folder`.
    ///
    /// # Errors
    /// Fails if the folder contains something that is not a fixture.
    pub fn may_save(folder: &Path) -> Result<(), FixtureError> {
        let entries = match std::fs::read_dir(folder) {
            Ok(entries) => entries,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
            Err(source) => return Err(FixtureError::Read { path: folder.into(), source }),
        };
        if is_fixture(folder) {
            return Ok(());
        }
        for entry in entries {
            let entry = entry.map_err(|source| FixtureError::Read { path: folder.into(), source })?;
            let name = entry.file_name();
            if !OWN[1..].iter().chain([&BESIDE]).any(|known| name == *known) {
                return Err(FixtureError::NotAFixture { path: folder.into(), found: name.into() });
            }
        }
        Ok(())
    }
}

/// Whether `run.json` has a format of any version: a new fixture may replace an old one.
fn is_fixture(folder: &Path) -> bool {
    let Ok(bytes) = std::fs::read(folder.join("run.json")) else { return false };
    serde_json::from_slice::<serde_json::Value>(&bytes).is_ok_and(|run| run["format"].is_u64())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::replay::{End, FORMAT, Run};

    fn fixture() -> Fixture {
        let run = Run {
            format: FORMAT,
            program: "claude".into(),
            version: "2.1.329 (Claude Code)".into(),
            argv: vec!["--print".into()],
            cwd: "/workspace".into(),
            env: [("IS_SANDBOX".to_owned(), "1".to_owned())].into(),
            end: End::Signal(9),
            duration_ms: 12,
        };
        let stdout = b"{\"a\":\"\xff\"}\n\nhalf".to_vec();
        Fixture { run, stdin: b"hi".to_vec(), stdout, stderr: vec![], times: vec![1, 2, 3] }
    }

    #[test]
    fn a_fixture_is_read_back_as_it_was_written() {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join("deep/ok");
        fixture().save(&folder).unwrap();
        assert_eq!(Fixture::load(&folder).unwrap(), fixture());
        let run = std::fs::read_to_string(folder.join("run.json")).unwrap();
        assert!(run.contains("\"end\": {\n    \"signal\": 9\n  },\n  \"durationMs\": 12\n"), "{run}");
    }

    #[test]
    fn replacing_a_fixture_keeps_the_files_it_does_not_own() {
        let root = tempfile::tempdir().unwrap();
        std::fs::write(root.path().join("scenario.json"), "{}").unwrap();
        fixture().save(root.path()).unwrap();
        std::fs::write(root.path().join("notes.md"), "mine").unwrap();
        fixture().save(root.path()).unwrap();
        assert_eq!(std::fs::read_to_string(root.path().join("notes.md")).unwrap(), "mine");
        assert_eq!(std::fs::read_to_string(root.path().join("scenario.json")).unwrap(), "{}");
    }

    #[test]
    fn a_folder_of_something_else_is_not_overwritten() {
        let root = tempfile::tempdir().unwrap();
        std::fs::write(root.path().join("main.rs"), "").unwrap();
        let error = fixture().save(root.path()).unwrap_err();
        assert!(error.to_string().ends_with("(it contains main.rs)"), "{error}");
        assert_eq!(std::fs::read_dir(root.path()).unwrap().count(), 1);
        std::fs::write(root.path().join("run.json"), "[]").unwrap();
        fixture().save(root.path()).unwrap_err();
    }

    #[test]
    fn an_unknown_format_is_named_with_its_file() {
        let root = tempfile::tempdir().unwrap();
        fixture().save(root.path()).unwrap();
        let path = root.path().join("run.json");
        std::fs::write(&path, r#"{"format":7,"new":true}"#).unwrap();
        let said = Fixture::load(root.path()).unwrap_err().to_string();
        assert_eq!(said, format!("unknown fixture format 7 (this program reads 1): {}", path.display()));
    }

    #[test]
    fn times_must_fit_the_lines_of_stdout() {
        let root = tempfile::tempdir().unwrap();
        fixture().save(root.path()).unwrap();
        for (times, said) in [("1\n2\n", "2 times for 3 lines"), ("1\nx\n3\n", "in line 2")] {
            std::fs::write(root.path().join("times"), times).unwrap();
            let error = Fixture::load(root.path()).unwrap_err().to_string();
            assert!(error.contains(said), "{error}");
        }
    }
}

//! Room on the disk that is taken in good time: journal lines that have no record and find no room are kept here, so
//! that a daemon that ends on a full disk takes none of them along.

use super::entry::Entry;
use super::unfinished;
use crate::sys::atomic;
use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// How much room, in bytes: some hundred lines.
const SIZE: usize = 64 << 10;

/// The room.
#[derive(Debug)]
pub struct Reserve {
    path: PathBuf,
    used: bool,
}

impl Reserve {
    /// Room in the file at `path`, which is made by [`Self::take`].
    #[must_use]
    pub fn new(path: PathBuf) -> Self {
        Self { path, used: false }
    }

    /// Makes sure of the room and returns the lines that an earlier daemon left there, without those that are known
    /// by `beats` and `journal`. They stay until [`Self::keep`] is told of others, or of none.
    ///
    /// # Errors
    /// What the system says; there is no room then.
    pub fn take(&mut self, beats: &Path, journal: &Path) -> io::Result<Vec<String>> {
        let mut text = String::new();
        match File::open(&self.path) {
            Ok(file) => file.take(SIZE as u64).read_to_string(&mut text)?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => 0,
            Err(error) => return Err(error),
        };
        if text.len() < SIZE {
            atomic::write(&self.path, padded(&[]).as_bytes())?;
        }
        let mut lines = Vec::new();
        for line in text.split_inclusive('\n') {
            let Ok(entry) = serde_json::from_str::<Entry>(line) else { continue };
            if !unfinished::is_known(beats, journal, &entry)? {
                lines.push(line.to_owned());
            }
        }
        self.used = !text.trim().is_empty();
        Ok(lines)
    }

    /// Keeps `lines`, in the place of those kept before, without asking the disk for room. Those that do not fit are
    /// left out.
    ///
    /// # Errors
    /// What the system says.
    pub fn keep(&mut self, lines: &[String]) -> io::Result<()> {
        if lines.is_empty() && !self.used {
            return Ok(());
        }
        OpenOptions::new().write(true).open(&self.path)?.write_all_at(padded(lines).as_bytes(), 0)?;
        self.used = !lines.is_empty();
        Ok(())
    }
}

fn padded(lines: &[String]) -> String {
    let mut text = String::with_capacity(SIZE);
    for line in lines {
        if text.len() + line.len() >= SIZE {
            break;
        }
        text.push_str(line);
    }
    text.extend(std::iter::repeat_n(' ', SIZE - text.len() - 1));
    text.push('\n');
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(beat: &str) -> String {
        format!(
            r#"{{"ts":"2026-02-03T10:00:00Z","workspace":"/w","outcome":"ok","durationMs":1,"beat":"{beat}"}}"#
        ) + "\n"
    }

    #[test]
    fn lines_outlive_their_daemon_and_known_ones_do_not_come_again() {
        let folder = tempfile::tempdir().unwrap();
        let [path, beats, journal] = ["reserve", "beats", "journal"].map(|name| folder.path().join(name));
        let mut reserve = Reserve::new(path.clone());
        assert!(reserve.take(&beats, &journal).unwrap().is_empty());
        let before = path.metadata().unwrap().len();
        reserve.keep(&[line("one"), line("two")]).unwrap();
        assert_eq!(path.metadata().unwrap().len(), before, "nothing was asked of the disk");
        std::fs::write(&journal, line("one")).unwrap();
        let mut next = Reserve::new(path.clone());
        assert_eq!(next.take(&beats, &journal).unwrap(), [line("two")]);
        next.keep(&[]).unwrap();
        assert!(Reserve::new(path).take(&beats, &journal).unwrap().is_empty());
    }

    #[test]
    fn what_does_not_fit_is_left_out_and_the_rest_is_whole() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("reserve");
        let mut reserve = Reserve::new(path.clone());
        reserve.take(folder.path(), &path).unwrap();
        let many: Vec<String> = (0..2000).map(|n| line(&n.to_string())).collect();
        reserve.keep(&many).unwrap();
        let kept = reserve.take(folder.path(), Path::new("/nonexistent/journal")).unwrap();
        assert_eq!(kept, many[..kept.len()]);
        assert!(kept.len() > 500);
    }
}

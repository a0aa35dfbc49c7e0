//! An agent's recent actions, `agents/<agent>/activity.jsonl`: one pulse per line, newest last.

use murmur_store::pulse::Pulse;
use std::fs::File;
use std::io;
use sys::file::read_at;
use sys::paths::DataDir;

/// How much is read from the end, in bytes: several times what the writer keeps.
const MAX_READ: u64 = 1 << 20;

/// Returns the last `count` pulses, newest last, skipping invalid or torn lines. A missing file counts as empty.
pub fn last(dir: &DataDir, agent: &str, count: usize) -> io::Result<Vec<Pulse>> {
    let path = dir.agent(agent).join("activity.jsonl");
    let file = match path.metadata() {
        Ok(found) if found.is_file() => File::open(&path)?,
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => return Ok(Vec::new()),
    };
    let end = file.metadata()?.len();
    let mut text = vec![0; usize::try_from(end.min(MAX_READ)).unwrap_or_default()];
    let read = read_at(&file, &mut text, end.saturating_sub(MAX_READ))?;
    text.truncate(read);
    let lines = text.split_inclusive(|byte| *byte == b'\n').filter(|line| line.ends_with(b"\n"));
    let mut pulses: Vec<Pulse> = lines.rev().filter_map(Pulse::parse).take(count).collect();
    pulses.reverse();
    Ok(pulses)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_actions_are_the_newest_whole_lines() {
        let folder = tempfile::tempdir().unwrap();
        let dir = DataDir::find(Some(folder.path()), None, None).unwrap();
        let last = |count| -> Vec<String> {
            last(&dir, "a", count).unwrap().into_iter().map(|pulse| pulse.last_action).collect()
        };
        assert_eq!(last(3), Vec::<String>::new());
        std::fs::create_dir_all(dir.agent("a")).unwrap();
        let line = |action: &str| {
            format!("{{\"timestamp\":\"2026-01-21T10:30:45Z\",\"last_action\":\"{action}\"}}\n")
        };
        let many = "x".repeat(1 << 20);
        let text =
            [line(&many), line("1"), "nothing\n".to_owned(), line("2"), line("3"), "{\"time".to_owned()];
        std::fs::write(dir.agent("a").join("activity.jsonl"), text.concat()).unwrap();
        assert_eq!(last(2), ["2", "3"]);
        assert_eq!(last(100), ["1", "2", "3"]);
    }
}

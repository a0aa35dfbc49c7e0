//! The input of a waiting call. A long one is kept in an unnamed file, so that waiting calls take little memory and
//! leave nothing behind.

use serde_json::Value;
use sha2::{Digest, Sha256};
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// Inputs that take more memory than this go to disk, in bytes.
const SHORT: usize = 16 << 10;

/// SHA-256 of the input's JSON text.
type Hash = [u8; 32];

/// The input of a call.
#[derive(Debug)]
pub struct Body {
    hash: Hash,
    at: At,
}

#[derive(Debug)]
enum At {
    /// With its approximate size in bytes.
    Memory(Value, usize),
    /// With its length.
    Disk(File, usize),
}

impl Body {
    /// Keeps `input` in memory.
    #[must_use]
    pub fn new(input: Value) -> Self {
        let bytes = memory(&input);
        Self { hash: hash(&input), at: At::Memory(input, bytes) }
    }

    /// Keeps a long `input` in a file in `folder`, or in memory if that fails.
    #[must_use]
    pub fn on_disk(input: &Value, folder: &Path) -> Self {
        let file = if memory(input) > SHORT { write(folder, input).ok() } else { None };
        match file {
            Some(at) => Self { hash: hash(input), at },
            None => Self::new(input.clone()),
        }
    }

    /// The input.
    ///
    /// # Errors
    /// Fails if the file was changed: the user's other processes can reach it through `/proc`.
    pub fn read(&self) -> io::Result<Value> {
        match &self.at {
            At::Memory(input, _) => Ok(input.clone()),
            At::Disk(file, length) => {
                let mut text = vec![0; *length];
                file.read_exact_at(&mut text, 0)?;
                if <Hash>::from(Sha256::digest(&text)) != self.hash {
                    return Err(io::Error::new(io::ErrorKind::InvalidData, "it was changed on disk"));
                }
                Ok(serde_json::from_slice(&text)?)
            }
        }
    }

    /// The approximate memory use, in bytes.
    #[must_use]
    pub fn memory(&self) -> usize {
        match self.at {
            At::Memory(_, bytes) => bytes,
            At::Disk(..) => 0,
        }
    }

    /// Its hash.
    #[must_use]
    pub fn hash(&self) -> Hash {
        self.hash
    }

    /// Whether it is `input`.
    #[must_use]
    pub fn is(&self, input: &Value) -> bool {
        self.hash == hash(input)
    }
}

fn write(folder: &Path, input: &Value) -> io::Result<At> {
    let text = serde_json::to_vec(input)?;
    let file = tempfile::tempfile_in(folder)?;
    file.write_all_at(&text, 0)?;
    Ok(At::Disk(file, text.len()))
}

fn hash(input: &Value) -> Hash {
    Sha256::digest(input.to_string().as_bytes()).into()
}

/// The approximate memory use of `value`, in bytes: more than its text if it has many small parts.
fn memory(value: &Value) -> usize {
    let own = size_of::<Value>();
    own + match value {
        Value::String(text) => text.len(),
        Value::Array(values) => values.iter().map(memory).sum(),
        // An entry is a tree node, and nodes are half empty.
        Value::Object(entries) => {
            let entry =
                |(key, value): (&String, &Value)| 2 * size_of::<String>() + key.len() + own + memory(value);
            entries.iter().map(entry).sum()
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn long() -> Value {
        json!({ "content": "x".repeat(100_000), "list": vec![0; 100], "text": "ü\u{0}\n" })
    }

    #[test]
    fn a_long_input_goes_to_disk_and_comes_back_as_it_was() {
        let folder = tempfile::tempdir().unwrap();
        assert!(Body::new(long()).memory() > 100_000);
        let body = Body::on_disk(&long(), folder.path());
        assert_eq!((body.memory(), body.read().unwrap()), (0, long()));
        assert!(body.is(&long()) && !body.is(&json!({})));
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "the file has no name");
    }

    #[test]
    fn short_inputs_and_those_without_disk_space_stay_in_memory() {
        let folder = tempfile::tempdir().unwrap();
        let short = Body::on_disk(&json!({ "command": "git push" }), folder.path());
        assert!(short.memory() > 0);
        let body = Body::on_disk(&long(), &folder.path().join("none"));
        assert!(body.memory() > 0);
        assert_eq!(body.read().unwrap(), long());
    }

    #[test]
    fn a_file_that_another_process_changes_is_not_shown() {
        let folder = tempfile::tempdir().unwrap();
        let body = Body::on_disk(&long(), folder.path());
        let At::Disk(file, _) = &body.at else { panic!("it is not on disk") };
        file.write_all_at(b"y", 20).unwrap();
        assert!(body.read().is_err());
        file.set_len(3).unwrap();
        assert!(body.read().is_err());
    }

    #[test]
    fn many_small_parts_take_more_memory_than_their_text() {
        assert!(memory(&json!("x".repeat(1000))) < 1100);
        assert!(memory(&json!(vec![0; 1000])) >= 1000 * size_of::<Value>());
        assert!(memory(&json!({ "key": [1, { "a": "b" }] })) > 5 * size_of::<Value>());
    }
}

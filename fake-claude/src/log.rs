//! The log for tests: one JSON line for each run, in a single write.

use std::fs::OpenOptions;
use std::io::Write;

use serde_json::{Map, Value, json};
use sys::error::Failure;
use sys::failure;

use crate::instructions::Instructions;

pub(crate) fn append(
    instructions: &Instructions,
    argv: &[String],
    stdin: &[u8],
    children: &[u32],
) -> Result<(), Failure> {
    let Some(path) = &instructions.log else { return Ok(()) };
    let wrong = |error: std::io::Error| failure!("cannot write log {}", path.display()).because(&error);
    let env: Map<String, Value> = std::env::vars_os()
        .map(|(name, value)| (name.to_string_lossy().into(), value.to_string_lossy().into()))
        .collect();
    let cwd = std::env::current_dir().map_err(wrong)?;
    let line = json!({
        "argv": argv,
        "cwd": cwd.to_string_lossy(),
        "env": env,
        "stdin": String::from_utf8_lossy(stdin),
        "pid": std::process::id(),
        "children": children,
    });
    let mut file = OpenOptions::new().append(true).create(true).open(path).map_err(wrong)?;
    file.write_all(format!("{line}\n").as_bytes()).map_err(wrong)
}

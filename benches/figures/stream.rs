//! The stream-json of a long run, made from recorded lines: small lines, text with escapes and Unicode, tool results
//! from 2 KB to 1 MB. The recorded lines are repeated with other ids.

use super::home::fixture;
use std::fs;

/// The sizes of tool results in one round, in bytes of text.
const RESULTS: [usize; 8] = [2 << 10, 2 << 10, 4 << 10, 8 << 10, 8 << 10, 16 << 10, 32 << 10, 128 << 10];
/// One in so many rounds contains the recorded tool result of 1 MB.
const HUGE_EVERY: usize = 4;

/// At least `size` bytes of it, in complete lines.
pub(crate) fn make(size: usize) -> anyhow::Result<Vec<u8>> {
    let (small, huge) = recorded()?;
    let mut stream = Vec::with_capacity(size + (2 << 20));
    let mut round = 0_usize;
    while stream.len() < size {
        for (number, line) in small.iter().enumerate() {
            // Ids in fixtures are zeros and a small number.
            let id = format!("{:08x}-{number:04x}-4", round ^ 0x5eed);
            stream.extend_from_slice(line.replace("00000000-0000-4", &id).as_bytes());
        }
        for (number, size) in RESULTS.iter().enumerate() {
            stream.extend_from_slice(tool_result(round * RESULTS.len() + number, *size)?.as_bytes());
        }
        if round.is_multiple_of(HUGE_EVERY) {
            stream.extend_from_slice(huge.as_bytes());
        }
        round += 1;
    }
    Ok(stream)
}

/// The recorded lines, small ones and the huge one, each with its newline.
fn recorded() -> anyhow::Result<(Vec<String>, String)> {
    let mut folders: Vec<_> = fs::read_dir(fixture("."))?.collect::<Result<_, _>>()?;
    folders.sort_by_key(fs::DirEntry::file_name);
    let (mut small, mut huge) = (Vec::new(), String::new());
    for folder in folders {
        let stdout = fs::read_to_string(folder.path().join("stdout"))?;
        for line in stdout.split_inclusive('\n') {
            if line.len() > 1 << 20 {
                huge = line.to_owned();
            } else {
                small.push(line.to_owned());
            }
        }
    }
    Ok((small, huge))
}

/// The result of a tool that prints source code or a log, as Claude Code writes it: the text, and again next to it.
fn tool_result(number: usize, size: usize) -> anyhow::Result<String> {
    let mut text = String::with_capacity(size + 100);
    let mut line = number;
    while text.len() < size {
        line += 1;
        text.push_str(match line % 7 {
            0 => "    let name = \"murmur\";\n",
            1 => "\tif count > limit { return Err(Error::TooMany { count, limit }); }\n",
            2 => "    // Größe in Bytes, ohne den Zeilenumbruch – siehe §4.\n",
            3 => "2026-02-03T10:00:00Z INFO request finished method=GET path=/api/v1/items status=200\n",
            4 => "\n",
            5 => "    for entry in entries.iter().filter(|entry| entry.is_file()) {\n",
            _ => "C:\\Users\\build\\out \u{1b}[32mok\u{1b}[0m\n",
        });
    }
    let id = format!("toolu_{number:08}");
    let mut line = serde_json::to_string(&serde_json::json!({
        "type": "user",
        "message": { "role": "user", "content": [
            { "tool_use_id": id, "type": "tool_result", "content": text, "is_error": false },
        ]},
        "parent_tool_use_id": null,
        "session_id": "00000000-0000-4000-8000-000000000001",
        "uuid": format!("00000000-0000-4000-8000-{number:012}"),
        "timestamp": "2026-01-01T00:00:00.000Z",
        "tool_use_result": { "stdout": text, "stderr": "", "interrupted": false },
    }))?;
    line.push('\n');
    Ok(line)
}

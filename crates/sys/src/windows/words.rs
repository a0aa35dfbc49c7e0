//! Strings for Win32: NUL-terminated UTF-16, and command lines as one string.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::windows::ffi::OsStrExt;
use std::path::Path;

/// Converts `text` to NUL-terminated UTF-16.
pub(super) fn wide(text: &OsStr) -> Vec<u16> {
    text.encode_wide().chain([0]).collect()
}

/// Returns the application and the command line of a process. A program splits its command line as the C runtime
/// does; a batch file is run by cmd.exe, which has its own rules.
///
/// # Errors
/// Fails if an argument cannot be passed to cmd.exe.
pub(super) fn program(file: &Path, arguments: &[OsString]) -> io::Result<(Vec<u16>, Vec<u16>)> {
    let is_batch = file
        .extension()
        .is_some_and(|ending| ending.eq_ignore_ascii_case("bat") || ending.eq_ignore_ascii_case("cmd"));
    if is_batch {
        let shell = std::env::var_os("COMSPEC").unwrap_or_else(|| r"C:\Windows\System32\cmd.exe".into());
        return Ok((wide(&shell), batch_line(file, arguments)?));
    }
    Ok((wide(file.as_os_str()), command_line(file, arguments)))
}

fn command_line(file: &Path, arguments: &[OsString]) -> Vec<u16> {
    let mut line = Vec::new();
    quote(&mut line, file.as_os_str(), true);
    for argument in arguments {
        line.push(u16::from(b' '));
        quote(&mut line, argument, false);
    }
    line.push(0);
    line
}

/// Uses the same rules as Rust's std for batch files: quotes are doubled, and each percent sign is followed by an
/// empty variable, so that no name between two of them is expanded.
fn batch_line(file: &Path, arguments: &[OsString]) -> io::Result<Vec<u16>> {
    let [quote, percent, backslash] = [b'"', b'%', b'\\'].map(u16::from);
    let mut line: Vec<u16> = "cmd.exe /e:ON /v:OFF /d /c \"".encode_utf16().collect();
    if file.as_os_str().encode_wide().any(|unit| unit == quote || unit == percent) {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "cmd.exe cannot run a file with this name"));
    }
    line.push(quote);
    line.extend(file.as_os_str().encode_wide());
    line.push(quote);
    for argument in arguments {
        let units: Vec<u16> = argument.encode_wide().collect();
        let is_plain = |unit: &u16| {
            u8::try_from(*unit)
                .is_ok_and(|byte| byte.is_ascii_alphanumeric() || br"#$*+-./:?@\_".contains(&byte))
        };
        if units.iter().any(|unit| [b'\r', b'\n', 0].map(u16::from).contains(unit)) {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                "cmd.exe arguments cannot contain line breaks",
            ));
        }
        line.push(u16::from(b' '));
        let is_quoted = units.is_empty() || units.last() == Some(&backslash) || !units.iter().all(is_plain);
        line.extend(is_quoted.then_some(quote));
        let mut backslashes = 0;
        for unit in units {
            if unit == quote {
                line.extend(std::iter::repeat_n(backslash, backslashes));
                line.push(quote);
            } else if unit == percent {
                line.extend("%%cd:~,".encode_utf16());
            }
            backslashes = if unit == backslash { backslashes + 1 } else { 0 };
            line.push(unit);
        }
        if is_quoted {
            line.extend(std::iter::repeat_n(backslash, backslashes));
            line.push(quote);
        }
    }
    line.extend([quote, 0]);
    Ok(line)
}

/// Backslashes are doubled only before a quote.
fn quote(line: &mut Vec<u16>, word: &OsStr, always: bool) {
    let word: Vec<u16> = word.encode_wide().collect();
    let [quote, backslash] = [b'"', b'\\'].map(u16::from);
    let is_apart = |unit: &u16| [b' ', b'\t', b'\n', b'\x0b', b'"'].map(u16::from).contains(unit);
    if !always && !word.is_empty() && !word.iter().any(is_apart) {
        return line.extend(word);
    }
    line.push(quote);
    let mut backslashes = 0;
    for unit in word {
        if unit == quote {
            line.extend(std::iter::repeat_n(backslash, backslashes + 1));
        }
        backslashes = if unit == backslash { backslashes + 1 } else { 0 };
        line.push(unit);
    }
    line.extend(std::iter::repeat_n(backslash, backslashes));
    line.push(quote);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn batch_file_arguments_are_not_run_as_commands() {
        let words: Vec<OsString> = ["plain", "a&b", "%PATH%", r#"x" & y"#].map(OsString::from).to_vec();
        let (_, line) = program(Path::new(r"C:\a b\x.cmd"), &words).unwrap();
        assert_eq!(
            String::from_utf16(&line[..line.len() - 1]).unwrap(),
            r#"cmd.exe /e:ON /v:OFF /d /c ""C:\a b\x.cmd" plain "a&b" "%%cd:~,%PATH%%cd:~,%" "x"" & y"""#
        );
        assert!(program(Path::new("x.bat"), &["a\nb".into()]).is_err());
    }

    #[test]
    fn a_command_line_splits_back_into_its_arguments() {
        let line = |words: &[&str]| {
            let words: Vec<OsString> = words.iter().map(OsString::from).collect();
            let line = command_line(Path::new(r"C:\a b\x.exe"), &words);
            String::from_utf16(&line[..line.len() - 1]).unwrap()
        };
        assert_eq!(line(&["plain", r"c:\dir\", ""]), r#""C:\a b\x.exe" plain c:\dir\ """#);
        assert_eq!(line(&[r#"say "hi""#, r"a b\"]), r#""C:\a b\x.exe" "say \"hi\"" "a b\\""#);
    }
}

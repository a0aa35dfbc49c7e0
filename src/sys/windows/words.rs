//! Text as Windows takes it: UTF-16 that ends with a zero, and a command line as one text.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::windows::ffi::OsStrExt;
use std::path::Path;

/// `text` with a zero at its end.
pub(super) fn wide(text: &OsStr) -> Vec<u16> {
    text.encode_wide().chain([0]).collect()
}

/// What a process is started from: its file, and its command line. A program splits that as the C runtime does; a batch
/// file is run by cmd.exe, which has rules of its own.
///
/// # Errors
/// That cmd.exe cannot be told one of the arguments.
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

/// The rules are those by which Rust's std starts a batch file: quotes are doubled, and a percent sign is followed by
/// a variable of no length, so that no name between two of them is replaced.
fn batch_line(file: &Path, arguments: &[OsString]) -> io::Result<Vec<u16>> {
    let [quote, percent, backslash] = [b'"', b'%', b'\\'].map(u16::from);
    let mut line: Vec<u16> = "cmd.exe /e:ON /v:OFF /d /c \"".encode_utf16().collect();
    if file.as_os_str().encode_wide().any(|unit| unit == quote || unit == percent) {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "cmd.exe cannot be told that file's name"));
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
                "cmd.exe takes no argument of two lines",
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

/// Backslashes are doubled where a quote follows them, and only there.
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
    fn a_batch_file_gets_its_arguments_and_cmd_no_commands() {
        let words: Vec<OsString> = ["plain", "a&b", "%PATH%", r#"x" & y"#].map(OsString::from).to_vec();
        let (_, line) = program(Path::new(r"C:\a b\x.cmd"), &words).unwrap();
        assert_eq!(
            String::from_utf16(&line[..line.len() - 1]).unwrap(),
            r#"cmd.exe /e:ON /v:OFF /d /c ""C:\a b\x.cmd" plain "a&b" "%%cd:~,%PATH%%cd:~,%" "x"" & y"""#
        );
        assert!(program(Path::new("x.bat"), &["a\nb".into()]).is_err());
    }

    #[test]
    fn a_command_line_is_split_into_what_it_was_made_of() {
        let line = |words: &[&str]| {
            let words: Vec<OsString> = words.iter().map(OsString::from).collect();
            let line = command_line(Path::new(r"C:\a b\x.exe"), &words);
            String::from_utf16(&line[..line.len() - 1]).unwrap()
        };
        assert_eq!(line(&["plain", r"c:\dir\", ""]), r#""C:\a b\x.exe" plain c:\dir\ """#);
        assert_eq!(line(&[r#"say "hi""#, r"a b\"]), r#""C:\a b\x.exe" "say \"hi\"" "a b\\""#);
    }
}

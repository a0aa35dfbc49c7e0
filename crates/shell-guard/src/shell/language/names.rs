//! Names of calls and constants, and what they do.

use super::Value;
use super::lex::Token;
use crate::shell::field::Field;

/// Calls that run a command, on any object.
const RUN: [&str; 40] = [
    "posix_spawnp",
    "pcntl_exec",
    "spawnlpe",
    "launchedProcess",
    "system2",
    "callCommand",
    "Sys.command",
    "system",
    "popen",
    "popen2",
    "popen3",
    "popen4",
    "Popen",
    "check_output",
    "check_call",
    "getoutput",
    "execSync",
    "getstatusoutput",
    "shell_exec",
    "passthru",
    "proc_open",
    "execute",
    "execFile",
    "execFileSync",
    "spawnSync",
    "create_subprocess_shell",
    "create_subprocess_exec",
    "capture2",
    "capture2e",
    "capture3",
    "execvp",
    "execv",
    "execve",
    "execl",
    "execlp",
    "execle",
    "execvpe",
    "spawnvp",
    "spawnlp",
    "posix_spawn",
];
/// Calls that may run a command or do something else. Only literal arguments count.
const MAY_RUN: [&str; 12] = [
    "run",
    "call",
    "exec",
    "spawn",
    "eval",
    "breakpoint",
    "command",
    "shell",
    "sh",
    "Command",
    "cmd",
    "process",
];
/// Calls that evaluate code of the same language.
const EVAL: [&str; 8] = [
    "eval",
    "instance_eval",
    "class_eval",
    "module_eval",
    "Function",
    "runInNewContext",
    "runInThisContext",
    "evalScript",
];
/// Calls that remove files.
const REMOVE: [&str; 32] = [
    "file.remove",
    "deleteDir",
    "rmtree_p",
    "deltree",
    "remove_dir",
    "remove_entry",
    "remove_entry_secure",
    "emptyDir",
    "emptyDirSync",
    "RemoveAll",
    "rm_f",
    "File.delete",
    "FileUtils.rm",
    "Deno.remove",
    "Deno.removeSync",
    "fse.remove",
    "rmdir",
    "rmtree",
    "rm_rf",
    "rm_r",
    "remove_tree",
    "rmSync",
    "rmdirSync",
    "rimraf",
    "removedirs",
    "unlinkSync",
    "removeSync",
    "os.remove",
    "unlink",
    "os.unlink",
    "fs.rm",
    "remove_dir_all",
];
/// Calls that write a file.
const WRITE: [&str; 31] = [
    "writeTextFile",
    "writeTextFileSync",
    "appendFile",
    "outputFile",
    "outputFileSync",
    "outputJsonSync",
    "writeJsonSync",
    "createFileSync",
    "ftruncateSync",
    "write_bytes",
    "File.touch",
    "FileUtils.touch",
    "Files.write",
    "Files.writeString",
    "FileWriter",
    "FileOutputStream",
    "PrintWriter",
    "sink",
    "os.truncate",
    "truncateSync",
    "binwrite",
    "Deno.writeFile",
    "Bun.write",
    "writeFileSync",
    "writeFile",
    "appendFileSync",
    "createWriteStream",
    "file_put_contents",
    "File.write",
    "IO.write",
    "write_text",
];
/// Calls that decode text.
const DECODE: [&str; 19] = [
    "requests.get",
    "httpx.get",
    "URI.open",
    "requests.post",
    "LWP",
    "Net::HTTP.get",
    "pack",
    "unpack",
    "unpack1",
    "Buffer.from",
    "fromCharCode",
    "b64decode",
    "fromhex",
    "unhexlify",
    "decompress",
    "decode64",
    "atob",
    "base64_decode",
    "urlopen",
];

/// Whether a call of that name runs something.
pub(super) fn runs(name: &str) -> bool {
    let last = name.rsplit(['.', ':', '>']).next().unwrap_or(name);
    RUN.contains(&last)
}

/// Whether a call of that name changes a file.
pub(super) fn touches(name: &str) -> bool {
    let last = last(name);
    removes(name, last)
        || writes(name, last)
        || moves(name, last).is_some()
        || last == "Path"
        || last == "open"
}

/// The last part of a qualified name.
pub(super) fn last(name: &str) -> &str {
    name.rsplit(['.', ':', '>']).next().unwrap_or(name)
}

fn is_one_of(names: &[&str], name: &str, last: &str) -> bool {
    names.iter().any(|known| *known == last || *known == name)
}

/// Whether the call certainly runs a command.
pub(super) fn always_runs(name: &str, last: &str) -> bool {
    is_one_of(&RUN, name, last)
}

/// Whether the call may run a command.
pub(super) fn may_run(name: &str, last: &str) -> bool {
    is_one_of(&MAY_RUN, name, last)
}

/// Whether the call removes files.
pub(super) fn removes(name: &str, last: &str) -> bool {
    is_one_of(&REMOVE, name, last)
}

/// Whether the call writes its first argument.
pub(super) fn writes(name: &str, last: &str) -> bool {
    is_one_of(&WRITE, name, last)
}

/// Whether the call evaluates code of the same language.
pub(super) fn evaluates(name: &str, last: &str) -> bool {
    is_one_of(&EVAL, name, last)
}

/// Whether the call writes its last argument.
pub(super) fn writes_last(name: &str, last: &str) -> bool {
    const NAMES: [&str; 10] = [
        "writeLines",
        "write.csv",
        "write.table",
        "saveRDS",
        "download.file",
        "urlretrieve",
        "writefile",
        "getstore",
        "download_file",
        "writeJSON",
    ];
    is_one_of(&NAMES, name, last)
}

/// Whether the token decodes text or fetches it from elsewhere.
pub(super) fn decodes(token: &Token) -> bool {
    matches!(token, Token::Name(word) if DECODE.iter().any(|name| word.ends_with(name)))
}

/// The command equivalent to a call on two paths.
pub(super) fn moves(name: &str, last: &str) -> Option<&'static [&'static str]> {
    match last {
        "copyfile" | "copyFile" | "copyFileSync" | "copy" | "copy2" | "copySync" | "copy_file" | "cp"
        | "file.copy" => Some(&["cp"]),
        "copytree" | "cpSync" | "cp_r" | "copy_entry" | "copy_tree" | "copyDirectory" => Some(&["cp", "-r"]),
        "move" | "rename" | "renameSync" | "moveSync" | "mv" | "renames" => Some(&["mv"]),
        "replace" if name == "os.replace" => Some(&["mv"]),
        "symlink" | "symlinkSync" | "ln_s" | "ln_sf" | "symlink_file" | "createSymbolicLink" => {
            Some(&["ln", "-s"])
        }
        "link" | "linkSync" | "hardlink" => Some(&["ln"]),
        "unpack_archive" => Some(&["unzip", "-d"]),
        _ => None,
    }
}

/// The value of a well-known constant.
pub(super) fn constant(name: &str, next: &[Token]) -> Option<Value> {
    let home = || Some(Value::Text("~".to_owned()));
    let known = |variable: &str| match variable {
        "HOME" => home(),
        _ if variable.starts_with("MURMUR_") => Some(Value::Text(Field::unknown(&format!("${variable}")).0)),
        _ => None,
    };
    match name {
        "sys.executable" => Some(Value::Text("python3".to_owned())),
        "process.execPath" => Some(Value::Text("node".to_owned())),
        "process.env.HOME" | "os.homedir" | "homedir" | "Path.home" | "pathlib.Path.home" | "Dir.home"
        | "homeDirectory" => home(),
        _ if name.starts_with("process.env.") => known(name.trim_start_matches("process.env.")),
        _ if name.ends_with("environ") || name.ends_with("getenv") || name == "ENV" || name == "ENVIRON" => {
            match next {
                [Token::Symbol(_), Token::Str(variable) | Token::Name(variable), ..] => known(variable),
                [
                    Token::Symbol(_),
                    Token::Symbol('{' | '('),
                    Token::Str(variable) | Token::Name(variable),
                    ..,
                ] => known(variable),
                _ => None,
            }
        }
        "PROCINFO" => match next {
            [Token::Symbol('['), Token::Str(field), ..] if field == "ppid" => {
                Some(Value::Text(Field::unknown("$PPID").0))
            }
            _ => None,
        },
        _ if name.ends_with("glob") => match next {
            [Token::Symbol('('), Token::Str(path), ..] => Some(Value::Text(path.clone())),
            _ => None,
        },
        _ => None,
    }
}

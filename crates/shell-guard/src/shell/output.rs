//! Predicts the output of simple programs: `echo`, `printf`, `cat`, and filters.

use super::escape;
use super::field::{CLOSE, Field, OPEN};
use super::scope::{Scope, Written};
use super::walk::{Stream, plain};
use base64::Engine as _;

/// The longest text that is processed, in bytes.
const MAX_TEXT: usize = 1 << 16;

/// Returns the output of `name` called with `words` and reading `input`.
pub(super) fn predict(name: &str, words: &[Field], input: &Stream, scope: &Scope) -> Stream {
    let operands: Vec<&Field> = words.iter().filter(|word| !word.marked().starts_with('-')).collect();
    let joined = |words: &[Field]| words.iter().map(Field::marked).collect::<Vec<_>>().join(" ");
    let has = |option: &str| words.iter().any(|word| word.marked() == option);
    match name {
        "true" | "false" | ":" | "test" | "[" | "sleep" | "wait" | "mkdir" | "touch" | "chmod" => {
            Stream::text("")
        }
        "echo" => {
            let start = words.iter().position(|word| !is_echo_option(word.marked())).unwrap_or(words.len());
            let text = joined(&words[start..]);
            let is_escaped = words[..start].iter().any(|word| word.marked().contains('e'));
            Stream::text((if is_escaped { escape::decode(&text) } else { text }) + "\n")
        }
        "printf" if !has("-v") => printf(words),
        "pwd" => match scope.folders() {
            [folder] => Stream::text(folder.marked()),
            _ => Stream::Unknown,
        },
        "which" | "type" | "command" => match operands.as_slice() {
            [program] => found_program(program),
            _ => Stream::Unknown,
        },
        "dirname" => match operands.first().and_then(|path| path.literal()) {
            Some(path) => Stream::text(match path.trim_end_matches('/').rsplit_once('/') {
                Some(("", _)) => "/",
                Some((parent, _)) => parent,
                None => ".",
            }),
            None => Stream::Unknown,
        },
        "realpath" | "readlink" => {
            operands.first().map_or(Stream::Unknown, |path| Stream::text(path.marked()))
        }
        "ls" => ls(words, &operands),
        "du" => match operands.as_slice() {
            [folder] => Stream::text(format!("4\t{}\n", folder.marked())),
            _ => Stream::Unknown,
        },
        "locate" | "plocate" | "mlocate" => match operands.as_slice() {
            [name] if ["/", "", "*"].contains(&name.marked()) => Stream::text("/\n"),
            _ => Stream::Unknown,
        },
        "basename" => operands.first().map_or(Stream::Unknown, |path| Stream::text(path.base().marked())),
        "cat" | "tee" if operands.is_empty() || name == "tee" => input.clone(),
        "cat" => {
            let mut all = Written { text: String::new(), is_decoded: false };
            for file in &operands {
                let Some(written) = scope.files.get(&plain(file.marked())) else {
                    let is_file = |file: &&Field| {
                        file.literal()
                            .is_some_and(|name| !name.starts_with("/dev/") && !name.starts_with("/proc/"))
                    };
                    return if operands.iter().all(is_file) { Stream::External } else { Stream::Unknown };
                };
                all.text.push_str(&written.text);
                all.is_decoded |= written.is_decoded;
            }
            Stream::Known(all)
        }
        "seq" | "date" | "whoami" | "hostname" => Stream::Unknown,
        // The process ids are unknown, but the search that finds them is enough.
        "pgrep" | "pidof" | "ps" | "lsof" => Stream::text(process_search(name, words)),
        _ if is_search(input) && !has("-v") => {
            let before =
                input.known().unwrap_or_default().trim_end().trim_end_matches(CLOSE).trim_end_matches(')');
            let before = before.trim_start_matches(OPEN).trim_start_matches("$(");
            Stream::text(process_search(&format!("{before} | {name}"), words))
        }
        _ => match filter_text(name, words, &operands, input, scope) {
            Some((text, is_decoded)) => Stream::Known(Written { text, is_decoded }),
            None => Stream::Unknown,
        },
    }
}

/// Process ids, represented by the search that finds them.
fn process_search(name: &str, words: &[Field]) -> String {
    let words: Vec<String> = words.iter().map(ToString::to_string).collect();
    Field::unknown(&format!("$({name} {})", words.join(" "))).0 + "\n"
}

/// Whether the input is the result of a process search.
fn is_search(input: &Stream) -> bool {
    let text =
        input.known().and_then(|text| text.strip_prefix(OPEN)).and_then(|text| text.strip_prefix("$("));
    text.is_some_and(|text| ["pgrep ", "pidof ", "ps ", "lsof "].iter().any(|name| text.starts_with(name)))
}

/// The output of `which` and `command -v`: the program in an assumed folder.
pub(super) fn found_program(program: &Field) -> Stream {
    let name = program.marked();
    Stream::text(if name.contains('/') { name.to_owned() } else { format!("/usr/local/bin/{name}") })
}

/// Whether the program prints settings for the shell, as in `eval "$(ssh-agent -s)"`.
pub(super) fn prints_settings(name: &str, words: &[Field]) -> bool {
    const TOOLS: [(&str, &[&str]); 25] = [
        ("dircolors", &[]),
        ("lesspipe", &[]),
        ("resize", &[]),
        ("keychain", &[]),
        ("direnv", &["hook", "export"]),
        ("pyenv", &["init", "virtualenv-init"]),
        ("rbenv", &["init"]),
        ("nodenv", &["init"]),
        ("goenv", &["init"]),
        ("jenv", &["init"]),
        ("plenv", &["init"]),
        ("brew", &["shellenv"]),
        ("fnm", &["env", "completions"]),
        ("mise", &["activate", "env", "hook-env", "completion"]),
        ("opam", &["env"]),
        ("conda", &["shell.bash", "shell.zsh", "shell.posix"]),
        ("micromamba", &["shell"]),
        ("zoxide", &["init"]),
        ("starship", &["init"]),
        ("atuin", &["init"]),
        ("minikube", &["docker-env", "completion"]),
        ("docker-machine", &["env"]),
        ("kubectl", &["completion"]),
        ("gh", &["completion"]),
        ("aws", &["configure"]),
    ];
    let says = |known: &[&str]| match words.first() {
        Some(word) => known.contains(&word.marked()),
        None => false,
    };
    TOOLS.iter().any(|(tool, known)| *tool == name && (known.is_empty() || says(known)))
}

fn is_echo_option(word: &str) -> bool {
    word.len() > 1 && word.starts_with('-') && word[1..].chars().all(|c| "neE".contains(c))
}

/// Applies a filter to known text. The flag is true if the filter decodes.
fn filter_text(
    name: &str,
    words: &[Field],
    operands: &[&Field],
    input: &Stream,
    scope: &Scope,
) -> Option<(String, bool)> {
    let file = operands.first().and_then(|file| scope.files.get(&plain(file.marked())));
    let text = file.map(|written| written.text.as_str()).or(input.known())?;
    if text.len() > MAX_TEXT {
        return None;
    }
    let has = |options: &[&str]| words.iter().any(|word| options.contains(&word.marked()));
    let is_decoded = matches!(input, Stream::Known(written) if written.is_decoded);
    Some(match name {
        "base64" if has(&["-d", "-D", "--decode", "-di"]) => {
            let text: String = text.chars().filter(|c| !c.is_whitespace()).collect();
            let bytes = base64::engine::general_purpose::STANDARD.decode(text).ok()?;
            (String::from_utf8_lossy(&bytes).into_owned(), true)
        }
        "openssl" if has(&["base64", "enc"]) && has(&["-d"]) => {
            let text: String = text.chars().filter(|c| !c.is_whitespace()).collect();
            let bytes = base64::engine::general_purpose::STANDARD.decode(text).ok()?;
            (String::from_utf8_lossy(&bytes).into_owned(), true)
        }
        "xxd" if has(&["-r", "-rp", "-pr"]) => (hexadecimal(text)?, true),
        "rev" => (text.lines().map(|line| line.chars().rev().collect::<String>() + "\n").collect(), true),
        "tac" => (text.lines().rev().map(|line| line.to_owned() + "\n").collect(), is_decoded),
        "tr" => (translate(text, words)?, true),
        "cut" | "awk" | "gawk" | "mawk" => (column(text, name, words)?, is_decoded),
        "head" | "tail" | "sort" | "uniq" if text.trim_end().lines().count() == 1 && !has(&["-c"]) => {
            (text.to_owned(), is_decoded)
        }
        _ => return None,
    })
}

/// One column of each line: `cut -f 2`, `awk '{print $2}'`
fn column(text: &str, name: &str, words: &[Field]) -> Option<String> {
    let words: Vec<&str> = words.iter().map(Field::marked).collect();
    let (number, mark) = match (name, words.as_slice()) {
        ("cut", ["-f", number]) => (*number, '\t'),
        ("cut", [number]) => (number.strip_prefix("-f")?, '\t'),
        ("cut", ["-d", mark, number] | ["-d", mark, "-f", number]) => {
            (number.strip_prefix("-f").unwrap_or(number), mark.chars().next()?)
        }
        ("cut", [mark, number]) => (number.strip_prefix("-f")?, mark.strip_prefix("-d")?.chars().next()?),
        (_, [code]) => {
            let inner = code.trim().strip_prefix('{')?.strip_suffix('}')?.trim().trim_end_matches(';');
            (inner.strip_prefix("print $")?.trim(), ' ')
        }
        _ => return None,
    };
    let at = number.parse::<usize>().ok()?.checked_sub(1)?;
    let field = |line: &str| match mark {
        ' ' => line.split_whitespace().nth(at).map(str::to_owned),
        mark => line.split(mark).nth(at).map(str::to_owned),
    };
    Some(text.lines().filter_map(field).map(|field| field + "\n").collect())
}

fn hexadecimal(text: &str) -> Option<String> {
    let digits: Vec<u32> =
        text.chars().filter(|c| !c.is_whitespace()).map(|c| c.to_digit(16)).collect::<Option<_>>()?;
    let bytes = digits.chunks(2).filter_map(|pair| u8::try_from(pair[0] * 16 + pair.get(1)?).ok());
    Some(String::from_utf8_lossy(&bytes.collect::<Vec<u8>>()).into_owned())
}

/// Applies `tr` with sets of characters and ranges.
fn translate(text: &str, words: &[Field]) -> Option<String> {
    let set = |word: &Field| -> Option<Vec<char>> {
        let ranges = escape::decode(word.literal()?).replace("[:upper:]", "A-Z").replace("[:lower:]", "a-z");
        let characters: Vec<char> = ranges.chars().collect();
        let mut all = Vec::new();
        let mut at = 0;
        while at < characters.len() {
            if characters.get(at + 1) == Some(&'-') && at + 2 < characters.len() {
                all.extend(characters[at]..=characters[at + 2]);
                at += 3;
            } else {
                all.push(characters[at]);
                at += 1;
            }
            if all.len() > 512 {
                return None;
            }
        }
        Some(all)
    };
    match words {
        [option, from] if option.marked() == "-d" => {
            let from = set(from)?;
            Some(text.chars().filter(|c| !from.contains(c)).collect())
        }
        [from, to] if !from.marked().starts_with('-') => {
            let (from, to) = (set(from)?, set(to)?);
            let change = |c: char| match from.iter().position(|known| *known == c) {
                Some(at) => to.get(at).or(to.last()).copied().unwrap_or(c),
                None => c,
            };
            Some(text.chars().map(change).collect())
        }
        _ => None,
    }
}

/// The output of `printf`, if its format is known.
fn printf(words: &[Field]) -> Stream {
    let words = if words.first().is_some_and(|word| word.marked() == "--") { &words[1..] } else { words };
    let Some((format, arguments)) = words.split_first() else { return Stream::text("") };
    let format = escape::decode(format.marked());
    let (mut text, mut arguments) = (String::new(), arguments.iter());
    loop {
        let before = arguments.len();
        let mut characters = format.chars().peekable();
        while let Some(character) = characters.next() {
            if character != '%' {
                text.push(character);
                continue;
            }
            while characters.next_if(|c| "-+ #0123456789.".contains(*c)).is_some() {}
            match characters.next() {
                Some('%') => text.push('%'),
                Some('s') => text.push_str(arguments.next().map_or("", Field::marked)),
                Some('b') => text.push_str(&escape::decode(arguments.next().map_or("", Field::marked))),
                Some('q') => {
                    text.push_str(&super::command::quote(arguments.next().map_or("", Field::marked)))
                }
                Some('d' | 'i' | 'u') => text.push_str(arguments.next().map_or("0", Field::marked)),
                Some('c') => text.extend(arguments.next().and_then(|word| word.marked().chars().next())),
                _ => return Stream::Unknown,
            }
        }
        if arguments.len() == 0 || arguments.len() == before || text.len() > MAX_TEXT {
            return Stream::text(text);
        }
    }
}

/// The output of `find`: its starting point, or unknown if it has tests.
pub(super) fn of_find(words: &[Field]) -> Stream {
    const TESTS: [&str; 16] = [
        "-name",
        "-iname",
        "-path",
        "-ipath",
        "-wholename",
        "-regex",
        "-mtime",
        "-mmin",
        "-atime",
        "-ctime",
        "-size",
        "-user",
        "-newer",
        "-empty",
        "-perm",
        "-inum",
    ];
    if words.iter().any(|word| TESTS.contains(&word.marked())) {
        return Stream::Unknown;
    }
    let starts = words.iter().take_while(|word| !word.marked().starts_with(['-', '(', '!']));
    Stream::text(starts.map(|word| word.marked().to_owned() + "\n").collect::<String>())
}

/// The output of `ls`: a glob for all names; with `-d`, its operands.
fn ls(words: &[Field], operands: &[&Field]) -> Stream {
    let has = |letter: char| {
        words.iter().any(|word| word.marked().starts_with('-') && word.marked().contains(letter))
    };
    if has('l') || operands.len() > 1 {
        return Stream::Unknown;
    }
    match operands.first() {
        Some(operand) if has('d') => Stream::text(operand.marked()),
        _ => Stream::text(super::field::STAR),
    }
}

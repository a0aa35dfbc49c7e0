//! PowerShell commands, walked as the equivalent Unix commands.

use crate::shell::field::Field;
use crate::shell::walk::{Stream, Walk};

/// The arguments that are neither options nor values of the options that take something other than a path.
fn operands(words: &[Field]) -> Vec<Field> {
    const VALUED: [&str; 8] =
        ["-value", "-encoding", "-itemtype", "-type", "-filter", "-include", "-exclude", "-erroraction"];
    let (mut operands, mut skips) = (Vec::new(), false);
    for word in words {
        let text = word.marked();
        if !std::mem::replace(&mut skips, VALUED.contains(&text.to_lowercase().as_str()))
            && !text.starts_with('-')
        {
            operands.push(word.clone());
        }
    }
    operands
}

fn run(walk: &mut Walk<'_>, program: &[&str], words: &[Field], input: &Stream) -> Stream {
    let program = program.iter().map(|word| Field::from(*word));
    let words: Vec<Field> = program.chain(words.iter().cloned()).collect();
    walk.run(&words, &[], input)
}

/// `Remove-Item -Recurse path`
pub(in super::super) fn remove_item(walk: &mut Walk<'_>, words: &[Field], input: &Stream) -> Stream {
    run(walk, &["rm", "-rf"], &operands(words), input)
}

/// `Copy-Item path path`
pub(in super::super) fn copy_item(walk: &mut Walk<'_>, words: &[Field], input: &Stream) -> Stream {
    run(walk, &["cp", "-r"], &operands(words), input)
}

/// `Move-Item path path`
pub(in super::super) fn move_item(walk: &mut Walk<'_>, words: &[Field], input: &Stream) -> Stream {
    run(walk, &["mv"], &operands(words), input)
}

/// `Stop-Process -Name name`, `Stop-Process -Id number`
pub(in super::super) fn stop_process(walk: &mut Walk<'_>, words: &[Field], input: &Stream) -> Stream {
    let is_name = |word: &Field| ["-name", "-processname"].contains(&word.marked().to_lowercase().as_str());
    let program = if words.iter().any(is_name) { "pkill" } else { "kill" };
    run(walk, &[program], &operands(words), input)
}

/// `Set-Content path value`, `Out-File path`
pub(in super::super) fn set_content(walk: &mut Walk<'_>, words: &[Field], input: &Stream) -> Stream {
    match operands(words).first() {
        Some(file) => walk.run(&[], std::slice::from_ref(file), input),
        None => Stream::Unknown,
    }
}

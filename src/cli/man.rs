//! `murmur man`: a manual page for every command, generated from the commands themselves. Packages install them.
//!
//! clap_mangen renders the sections, except for the synopsis and the examples. `man/texts.rs` has the text about files,
//! variables and exit codes.

mod texts;

use super::args;
use anyhow::Context;
use clap::{Arg, Command, CommandFactory};
use clap_mangen::Man;
use clap_mangen::roff::{Roff, bold, roman};
use derun::cli::args::Derun;
use std::io;
use std::path::Path;
use std::process::ExitCode;

/// Writes the pages of murmur, derun and `murmur-hook` into `folder`, with `mm.1` as an alias.
pub(super) fn run(folder: &Path) -> anyhow::Result<ExitCode> {
    std::fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))?;
    write(&args::full(), folder)?;
    for command in [Derun::command(), texts::hook()] {
        let mut command = command.disable_help_subcommand(true);
        command.build();
        write(&command, folder)?;
    }
    save(&folder.join("mm.1"), b".so man1/murmur.1\n")?;
    Ok(ExitCode::SUCCESS)
}

fn write(command: &Command, folder: &Path) -> anyhow::Result<()> {
    for command in command.get_subcommands().filter(|command| !command.is_hide_set()) {
        write(command, folder)?;
    }
    let man = Man::new(command.clone().override_usage(usage(command)))
        .source(concat!("murmur ", env!("CARGO_PKG_VERSION")));
    let file = folder.join(man.get_filename());
    let mut page = Vec::new();
    render(&man, command, &mut page).with_context(|| format!("cannot render {}", file.display()))?;
    save(&file, &page)
}

fn save(file: &Path, page: &[u8]) -> anyhow::Result<()> {
    std::fs::write(file, page).with_context(|| format!("cannot write {}", file.display()))
}

fn render(man: &Man, command: &Command, page: &mut Vec<u8>) -> io::Result<()> {
    let (remarks, examples) = remarks_and_examples(command);
    man.render_title(page)?;
    man.render_name_section(page)?;
    man.render_synopsis_section(page)?;
    man.render_description_section(page)?;
    let mut roff = Roff::new();
    for remark in remarks.iter().map(String::as_str).chain(texts::remark(command)) {
        roff.control("PP", []);
        roff.text([roman(remark)]);
    }
    roff.to_writer(page)?;
    if command.get_arguments().any(|argument| !argument.is_hide_set()) {
        man.render_options_section(page)?;
    }
    if command.get_subcommands().any(|command| !command.is_hide_set()) {
        man.render_subcommands_section(page)?;
    }
    let mut roff = Roff::new();
    for (heading, entries) in texts::sections(command) {
        roff.control("SH", [*heading]);
        for (term, text) in *entries {
            roff.control("TP", []);
            roff.text([bold(*term)]);
            roff.text([roman(*text)]);
        }
    }
    if !examples.is_empty() {
        roff.control("SH", ["EXAMPLES"]);
        roff.control("nf", []);
        for line in examples {
            roff.text([roman(line)]);
        }
        roff.control("fi", []);
    }
    roff.to_writer(page)?;
    if command.get_version().is_some() {
        man.render_version_section(page)?;
    }
    Ok(())
}

/// The sentences and the example lines below a command's help.
fn remarks_and_examples(command: &Command) -> (Vec<String>, Vec<String>) {
    let text = command.get_after_help().map(ToString::to_string).unwrap_or_default();
    let (remarks, examples) = text.split_once("Examples:\n").unwrap_or((&text, ""));
    let remarks = remarks.lines().filter(|line| !line.is_empty()).map(str::to_owned).collect();
    let examples = examples.lines().map(|line| line.strip_prefix("  ").unwrap_or(line).to_owned()).collect();
    (remarks, examples)
}

/// The synopsis of a command: its options with their values, except `--help` and `--version`, and its arguments.
fn usage(command: &Command) -> String {
    let mut words = vec![command.get_bin_name().unwrap_or(command.get_name()).to_owned()];
    let asks = |argument: &&Arg| {
        !argument.is_hide_set() && !["help", "version"].contains(&argument.get_id().as_str())
    };
    let mut options: Vec<&Arg> =
        command.get_arguments().filter(|argument| !argument.is_positional()).filter(asks).collect();
    // Last, as in help.
    options.sort_by_key(|option| option.is_global_set());
    for option in options {
        words.push(if option.is_required_set() { option.to_string() } else { format!("[{option}]") });
    }
    for argument in command.get_positionals().filter(asks) {
        words.push(match (argument.is_last_set(), argument.is_required_set()) {
            (true, true) => format!("-- {argument}"),
            (true, false) => format!("[-- {argument}]"),
            (false, _) => argument.to_string(),
        });
    }
    if command.get_subcommands().any(|command| !command.is_hide_set()) {
        words.push("<COMMAND>".to_owned());
    }
    words.join(" ")
}

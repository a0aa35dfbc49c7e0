//! git settings that make git run programs.

/// Settings whose value is a program or a shell command.
const COMMANDS: [&str; 15] = [
    "core.pager",
    "core.editor",
    "core.sshcommand",
    "core.fsmonitor",
    "core.askpass",
    "core.gitproxy",
    "core.alternaterefscommand",
    "sequence.editor",
    "gpg.program",
    "diff.external",
    "interactive.difffilter",
    "uploadpack.packobjectshook",
    "credential.helper",
    "imap.tunnel",
    "sendemail.sendmailcmd",
];

/// The same for settings with a name in the middle: their prefixes and suffixes.
const NAMED: [(&str, &[&str]); 18] = [
    ("filter.", &[".clean", ".smudge", ".process"]),
    ("diff.", &[".command", ".textconv"]),
    ("difftool.", &[".cmd", ".path"]),
    ("mergetool.", &[".cmd", ".path"]),
    ("merge.", &[".driver"]),
    ("credential.", &[".helper"]),
    ("gpg.", &[".program", ".defaultkeycommand"]),
    ("remote.", &[".uploadpack", ".receivepack"]),
    ("sendemail.", &["cmd", "smtpserver"]),
    ("trailer.", &[".cmd", ".command"]),
    ("browser.", &[".cmd", ".path"]),
    ("man.", &[".cmd", ".path"]),
    ("tar.", &[".command"]),
    ("guitool.", &[".cmd"]),
    ("hook.", &[".command"]),
    ("pager.", &[""]),
    ("difftool", &[".cmd"]),
    ("instaweb.", &["httpd", "browser"]),
];

/// Settings that name a folder or file with programs, or permit running them. What these run isn't in the command line.
const PLACES: [&str; 5] =
    ["core.hookspath", "core.attributesfile", "init.templatedir", "include.path", "protocol.ext.allow"];

/// Whether `value` of the setting `name` is a program or a shell command.
pub(crate) fn runs(name: &str, value: &str) -> bool {
    // The middle part is case-sensitive, which doesn't matter here.
    let name = name.to_lowercase();
    let pattern_names_entry = |(start, ends): &(&str, &[&str])| {
        name.strip_prefix(start).is_some_and(|rest| ends.iter().any(|end| rest.ends_with(end)))
    };
    let may_be_text =
        name.starts_with("alias.") || name.starts_with("submodule.") && name.ends_with(".update");
    COMMANDS.contains(&name.as_str())
        || NAMED.iter().any(pattern_names_entry) && !["true", "false", ""].contains(&value)
        || may_be_text && value.starts_with('!')
}

/// Whether the setting decides what git runs, now or later.
pub(crate) fn decides(name: &str, value: &str) -> bool {
    let lower = name.to_lowercase();
    let is_url = lower.starts_with("remote.") && (lower.ends_with("url"));
    runs(name, value)
        || PLACES.contains(&lower.as_str())
        || lower.starts_with("includeif.") && lower.ends_with(".path")
        || lower.starts_with("url.ext::")
        || is_url && value.starts_with("ext::")
}

/// Whether settings in that section may decide what git runs.
pub(crate) fn is_section(section: &str) -> bool {
    const SECTIONS: [&str; 6] = ["core", "alias", "include", "includeif", "init", "uploadpack"];
    let section = section.to_lowercase();
    let starts = |(start, _): &(&str, &[&str])| start.trim_end_matches('.') == section;
    SECTIONS.contains(&section.as_str()) || NAMED.iter().any(starts)
}

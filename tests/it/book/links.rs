//! The links of documents: files, headings, recipes; and that command lines are only in blocks that are run.

use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};
use std::sync::LazyLock;

use regex::Regex;

use super::page::{Page, code, documents, root};

const PROGRAMS: [&str; 9] =
    ["murmur", "mm", "derun", "murmur-host", "murmur-hook", "fake-claude", "fake-model", "just", "claude"];

/// The table of contents.
const SUMMARY: &str = "docs/SUMMARY.md";

fn pages() -> Vec<Page> {
    documents().iter().map(|name| Page::read(name)).collect()
}

/// The targets that a page links to, each with its line.
fn links(page: &Page) -> Vec<(usize, String)> {
    static LINK: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"\]\(([^)\s]+)\)").unwrap());
    let mut links = Vec::new();
    for (first, prose) in page.prose() {
        let mut prose = prose.to_owned();
        for (_, code) in code(first, &prose.clone()) {
            prose = prose.replace(&format!("`{code}`"), "");
        }
        for (line, number) in prose.lines().zip(first..) {
            links.extend(LINK.captures_iter(line).map(|found| (number, found[1].to_owned())));
        }
    }
    links
}

/// The anchor that GitHub gives a heading.
fn anchor(heading: &str) -> String {
    let kept = heading.trim().to_lowercase();
    let kept = kept.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    kept.map(|c| if c == ' ' { '-' } else { c }).collect()
}

fn anchors(page: &Page) -> BTreeSet<String> {
    let lines = page.prose().flat_map(|(_, prose)| prose.lines());
    let headings = lines.filter(|line| line.starts_with('#')).map(|line| line.trim_start_matches('#'));
    headings.map(anchor).collect()
}

/// The path without `..`, by its text alone.
fn tidy(path: &Path) -> PathBuf {
    let mut tidy = PathBuf::new();
    for part in path.components() {
        if part != Component::ParentDir || !tidy.pop() {
            tidy.push(part);
        }
    }
    tidy
}

/// The target of a page's link in the repository, and the heading; `None` if it leads elsewhere.
fn target(page: &Page, link: &str) -> Option<(PathBuf, Option<String>)> {
    if link.contains("://") || link.starts_with("mailto:") {
        return None;
    }
    let (file, heading) = link.split_once('#').map_or((link, None), |(file, heading)| (file, Some(heading)));
    let here = Path::new(&page.name);
    let file = if file.is_empty() { here.to_owned() } else { here.parent().unwrap().join(file) };
    Some((tidy(&file), heading.map(str::to_owned)))
}

#[test]
fn every_link_has_a_target() {
    let mut pages = pages();
    pages.extend(["CHANGELOG.md", SUMMARY].map(Page::read));
    let mut wrong = Vec::new();
    for page in &pages {
        for (line, link) in links(page) {
            let Some((file, heading)) = target(page, &link) else { continue };
            let there = root().join(&file).exists();
            let found = heading.is_none_or(|heading| {
                pages.iter().any(|page| Path::new(&page.name) == file && anchors(page).contains(&heading))
            });
            if !there || !found {
                wrong.push(format!("{}:{line}: {link}", page.name));
            }
        }
    }
    assert!(wrong.is_empty(), "dead links:\n{}", wrong.join("\n"));
}

#[test]
fn the_readme_links_to_every_page() {
    let linked = |name: &str| -> BTreeSet<PathBuf> {
        let page = Page::read(name);
        links(&page).iter().filter_map(|(_, link)| Some(target(&page, link)?.0)).collect()
    };
    let (readme, summary) = (linked("README.md"), linked(SUMMARY));
    let missing: Vec<String> = documents()
        .into_iter()
        .filter(|page| {
            let contents = if page.starts_with("docs/") { &summary } else { &readme };
            page != "README.md" && !contents.contains(Path::new(page))
        })
        .collect();
    assert!(
        missing.is_empty(),
        "{SUMMARY}, or README.md for pages beside the code, does not link to {missing:?}"
    );
    assert!(readme.contains(Path::new(SUMMARY)), "README.md does not link to {SUMMARY}");
}

#[test]
fn the_readme_is_short() {
    let lines = std::fs::read_to_string(root().join("README.md")).unwrap().lines().count();
    assert!(lines <= 80, "README.md has {lines} lines; put some of it into docs/");
}

/// Words as `wc -w` counts them.
#[test]
fn the_book_is_short() {
    let names = documents().into_iter().filter(|name| name.starts_with("docs/")).chain([SUMMARY.to_owned()]);
    let texts: Vec<(String, String)> =
        names.map(|name| (name.clone(), std::fs::read_to_string(root().join(name)).unwrap())).collect();
    let long: Vec<&String> =
        texts.iter().filter(|(_, text)| text.lines().count() > 250).map(|(name, _)| name).collect();
    assert!(long.is_empty(), "more than 250 lines: {long:?}");
    let words: usize = texts.iter().map(|(_, text)| text.split_whitespace().count()).sum();
    assert!(words <= 25_000, "docs/ has {words} words, more than 25,000; cut what is said twice");
}

#[test]
fn command_lines_are_only_in_blocks_that_are_run() {
    let mut wrong = Vec::new();
    for page in pages() {
        for block in page.blocks() {
            let shell = matches!(
                block.language.as_str(),
                "sh" | "bash" | "shell" | "zsh" | "shell-session" | "terminal" | "shellsession"
            );
            let is_command = |line: &str| {
                let first = line.split_whitespace().next().unwrap_or_default();
                first == "$" || PROGRAMS.contains(&first)
            };
            let plain = matches!(block.language.as_str(), "" | "text");
            if shell || (plain && block.text.lines().any(is_command)) {
                wrong.push(format!("{}:{}", page.name, block.line));
            }
        }
    }
    assert!(wrong.is_empty(), "command lines stand in ```console blocks:\n{}", wrong.join("\n"));
}

#[test]
fn every_recipe_named_in_prose_exists() {
    let justfile = std::fs::read_to_string(root().join("justfile")).unwrap();
    let heads = justfile.lines().filter(|line| line.starts_with(|c: char| c.is_ascii_alphabetic()));
    let recipes: BTreeSet<&str> = heads
        .filter(|line| line.contains(':') && !line.contains(":="))
        .filter_map(|line| line.split([' ', ':']).next())
        .collect();
    let mut wrong = Vec::new();
    for page in pages() {
        let spans = page.prose().flat_map(|(first, prose)| code(first, prose));
        let commands = page.blocks().filter(|block| block.language == "console").flat_map(|block| {
            let commands = block.commands().unwrap_or_default();
            commands.into_iter().map(|command| (command.line, command.script)).collect::<Vec<_>>()
        });
        for (line, text) in spans.chain(commands) {
            let mut words = text.split_whitespace();
            let recipe = (words.next() == Some("just")).then(|| words.next()).flatten();
            if recipe.is_some_and(|recipe| !recipe.starts_with('-') && !recipes.contains(recipe)) {
                wrong.push(format!("{}:{line}: {text}", page.name));
            }
        }
    }
    assert!(wrong.is_empty(), "no such recipe:\n{}", wrong.join("\n"));
}

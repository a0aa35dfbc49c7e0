//! Sessions that end abruptly: after a crash, a power failure, or because of somebody.

use std::io::Read;

use derun::record::{Channel, Stretch};
use derun::store::StoreError;
use sys::clock;

use super::{Vault, of_channel};
use crate::env::show;

/// Everything that holds for a page, whatever the files contain.
pub(crate) fn check(vault: &Vault, output: &[u8], cursor: u64, most: usize) {
    let session = vault.session("s");
    let end = session.end().unwrap();
    assert!(end == 0 || end == output.len() as u64, "all of it, or nothing that is known");
    let page = match session.read(cursor, most, clock::now()) {
        Ok(page) => page,
        Err(StoreError::PastTheEnd { cursor: said, end: at }) => {
            assert!(said == cursor && at == end && cursor > end);
            return;
        }
        Err(error) => panic!("{error}"),
    };
    let from = usize::try_from(cursor).unwrap();
    let to = usize::try_from(end).unwrap().min(from.saturating_add(most));
    assert_eq!(page.cursor, cursor);
    assert_eq!(page.next(), to as u64);
    assert!(page.bytes == output[from..to], "these bytes and no others");
    // The stretches cover the page exactly once, without a gap, and each has its bytes.
    let mut at = cursor;
    for stretch in &page.stretches {
        assert_eq!(stretch.offset, at);
        assert!(stretch.length > 0);
        at = stretch.end();
    }
    assert_eq!(at, page.next());
    let joined: Vec<u8> = page.chunks().flat_map(|(_, bytes)| bytes.iter().copied()).collect();
    assert!(joined == page.bytes);
    let channels: Vec<Channel> = page.chunks().map(|(stretch, _)| stretch.channel).collect();
    assert!(channels.windows(2).all(|pair| pair[0] != pair[1]), "joined");
    let (count, last) = session.stretches().unwrap();
    assert!(last.is_none() || count > 0);
}

/// A session `s` with these two files, without a writer.
pub(crate) fn plant(vault: &Vault, index: &[u8], output: &[u8]) {
    std::fs::write(vault.path("s/index.jsonl"), index).unwrap();
    std::fs::write(vault.path("s/output.bin"), output).unwrap();
}

pub(crate) fn line(offset: u64, length: u64, channel: Channel) -> String {
    let timestamp = "2026-02-03T10:00:00Z".parse().unwrap();
    serde_json::to_string(&Stretch { offset, length, channel, timestamp }).unwrap() + "\n"
}

/// A session of 40 stretches of 5 bytes; its index and its output.
fn forty(vault: &Vault) -> (Vec<u8>, Vec<u8>) {
    let mut writer = vault.begin("s");
    for n in 0..40 {
        let channel = if n % 2 == 0 { Channel::Stdout } else { Channel::Stderr };
        writer.append(channel, format!("{}{n:03}\n", n % 2).as_bytes(), clock::now()).unwrap();
    }
    drop(writer);
    let read = |name: &str| std::fs::read(vault.path("s").join(name)).unwrap();
    (read("index.jsonl"), read("output.bin"))
}

#[test]
fn an_index_may_be_torn_anywhere() {
    let vault = Vault::new();
    let (index, output) = forty(&vault);
    let breaks: Vec<usize> = (0..index.len()).filter(|at| index[*at] == b'\n').collect();
    for end in breaks[37]..=index.len() {
        plant(&vault, &index[..end], &output);
        check(&vault, &output, 0, usize::MAX);
        check(&vault, &output, 188, 7);
        // Bytes that no complete line covers belong to the last line's channel; all before belong to their own.
        let page = vault.session("s").read(0, usize::MAX, clock::now()).unwrap();
        let known = breaks.iter().filter(|at| **at < end).count() * 5;
        for (channel, first) in [(Channel::Stdout, b'0'), (Channel::Stderr, b'1')] {
            let wanted: Vec<u8> =
                output[..known].chunks(5).filter(|c| c[0] == first).flatten().copied().collect();
            assert!(of_channel(&page, channel).starts_with(&wanted), "{end}");
        }
    }
}

#[test]
fn output_may_be_torn_anywhere() {
    let vault = Vault::new();
    let (index, output) = forty(&vault);
    for end in 0..=output.len() {
        plant(&vault, &index, &output[..end]);
        check(&vault, &output[..end], 0, usize::MAX);
        let page = vault.session("s").read(0, usize::MAX, clock::now()).unwrap();
        let wanted: Vec<u8> = output[..end].chunks(5).filter(|c| c[0] == b'1').flatten().copied().collect();
        assert_eq!(of_channel(&page, Channel::Stderr), wanted);
    }
}

#[test]
fn an_index_may_contain_anything() {
    let vault = Vault::new();
    let (index, output) = forty(&vault);
    let (out, err) = (Channel::Stdout, Channel::Stderr);
    let max = u64::MAX;
    let claims = [
        String::new(),
        "\n\n\n".to_owned(),
        "\0".repeat(10_000),
        "{}\n[]\nnull\n\"\"\n".to_owned(),
        line(0, max, out),
        line(max, 1, out),
        line(max - 1, 1, out) + &line(0, 10, err),
        line(0, 10, out) + &line(5, 10, err) + &line(0, 200, out),
        line(50, 10, out) + &line(90, 1, err),
        line(0, 0, out),
        line(7, 0, out) + &line(7, 3, err),
        line(0, 5, out).repeat(500),
        line(190, 10, out) + &line(0, 10, err),
        line(0, 5, out).trim_end().to_owned(),
        line(0, 5, out).replace("\"length\":5", "\"length\":-5"),
        line(0, 5, out).replace("\"length\":5", "\"length\":1e300"),
        line(0, 5, out).replace("stdout", "elsewhere") + &line(5, 5, err),
        format!("{}{}", "x".repeat(200_000), line(0, 5, out)),
    ];
    let mut claims: Vec<Vec<u8>> = claims.into_iter().map(String::into_bytes).collect();
    claims.push([&index[..], &vec![0; 100_000]].concat());
    claims.push([&vec![0; 100_000], &index[..]].concat());
    claims.push(index.iter().map(|byte| byte ^ 0x80).collect());
    for (n, claim) in claims.iter().enumerate() {
        plant(&vault, claim, &output);
        for (cursor, most) in [(0, usize::MAX), (0, 1), (99, 3), (195, 100), (200, 1), (201, 1), (max, 1)] {
            println!("claim {n}, {most} from {cursor}");
            check(&vault, &output, cursor, most);
        }
    }
}

#[test]
fn a_follower_is_notified_when_its_session_is_removed() {
    let vault = Vault::new();
    let mut writer = vault.begin("s");
    writer.append(Channel::Stdout, b"bytes", clock::now()).unwrap();
    let mut child = vault.murmur(["show", "s", "--follow"]).spawn().unwrap();
    let mut shown = [0; 5];
    child.stdout.as_mut().unwrap().read_exact(&mut shown).unwrap();
    std::fs::remove_dir_all(vault.path("s")).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    // Which of its files are gone by then differs.
    let said = show(&output);
    assert!(said.starts_with("| error: session"), "{said}");
}

#[test]
fn consecutive_pages_are_complete_whatever_their_size() {
    let vault = Vault::new();
    let (_, output) = forty(&vault);
    for most in [1, 3, 5, 64, 199, 200, 201] {
        let (mut at, mut read) = (0, Vec::new());
        loop {
            let page = vault.session("s").read(at, most, clock::now()).unwrap();
            if page.bytes.is_empty() {
                break;
            }
            check(&vault, &output, at, most);
            at = page.next();
            read.extend(page.bytes);
        }
        assert_eq!(read, output);
    }
}

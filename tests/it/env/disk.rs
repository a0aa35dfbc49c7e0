//! A small disk for a test, with the data folder: a tmpfs in a mount namespace that a process holds open.

use std::fs::File;
use std::io::{BufRead, BufReader, ErrorKind, Write};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::{Child, ChildStdin};

use super::{Env, MURMUR, Run, Socket};

/// The disk, until this is dropped.
pub(crate) struct Disk {
    holder: Child,
    _open: ChildStdin,
    /// The data folder, as seen from outside.
    view: PathBuf,
}

impl Disk {
    /// Mounts one of `size`, in mount(8)'s form. `None`, with a note, if mounting is not possible.
    pub(crate) fn new(env: &Env, size: &str) -> Option<Self> {
        let data = env.create_data();
        let script =
            format!("mount -t tmpfs -o size={size},mode=700 none \"$1\" && echo mounted && read -r _");
        let words = ["-rm", "sh", "-c", &script, "sh", data.to_str().unwrap()];
        let mut holder = env.program("unshare", words).stdin(std::process::Stdio::piped()).start();
        let mut said = String::new();
        BufReader::new(holder.stdout.take().unwrap()).read_line(&mut said).unwrap();
        if said != "mounted\n" {
            eprintln!("not tested with a real file system: mounting is not possible here");
            holder.wait().unwrap();
            return None;
        }
        let view = PathBuf::from(format!("/proc/{}/root{}", holder.id(), data.display()));
        let open = holder.stdin.take().unwrap();
        Some(Self { holder, _open: open, view })
    }

    /// `murmur` with this disk. It runs in `/`.
    pub(crate) fn murmur(&self, env: &Env, args: &[&str]) -> Run {
        let holder = self.holder.id().to_string();
        let head = ["--target", &holder, "--user", "--mount", "--preserve-credentials", "--", MURMUR];
        env.program("nsenter", head.into_iter().chain(args.iter().copied()))
    }

    /// The file `name` of the data folder.
    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.view.join(name)
    }

    /// Connects to the daemon.
    pub(crate) fn connect(&self) -> Socket {
        Socket::new(UnixStream::connect(self.file("murmur.sock")).unwrap())
    }

    /// Takes all the free space, including the rest of the journal's last block.
    pub(crate) fn fill(&self) {
        if let Ok(mut journal) = File::options().append(true).open(self.file("heartbeats.jsonl")) {
            let rest = journal.metadata().unwrap().len().next_multiple_of(4096);
            let rest = rest - journal.metadata().unwrap().len();
            journal.write_all(&vec![b'\n'; usize::try_from(rest).unwrap()]).unwrap();
        }
        let mut file = File::options().append(true).create(true).open(self.file("fill")).unwrap();
        loop {
            match file.write_all(&[0; 4096]) {
                Ok(()) => {}
                Err(error) if error.kind() == ErrorKind::StorageFull => return,
                Err(error) => panic!("{error}"),
            }
        }
    }

    /// Frees it again.
    pub(crate) fn free(&self) {
        std::fs::remove_file(self.file("fill")).unwrap();
    }

    /// The number of lines in the journal.
    pub(crate) fn lines(&self) -> usize {
        std::fs::read_to_string(self.file("heartbeats.jsonl"))
            .unwrap_or_default()
            .lines()
            .filter(|line| !line.is_empty())
            .count()
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let _ended = self.holder.kill();
        let _reaped = self.holder.wait();
    }
}

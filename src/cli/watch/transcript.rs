//! The run that the view shows, read in a thread of its own, so that a long one doesn't delay keys.

use super::super::show::live::{Piece, Wanted, stream};
use super::super::user_env::UserEnv;
use super::feed::note;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use sys::paths::DataDir;
use tokio::sync::Notify;
use watch::rows::{LineKind, TranscriptLine};
use watch::{Text, Update};

/// How many pieces may wait to be shown. Beyond that, the reader waits.
const WAITING: usize = 256;

/// A run that is being read; reading ends when this is dropped.
#[derive(Debug)]
pub(super) struct Transcript {
    updates: Receiver<Update>,
    ready: Arc<Notify>,
    closed: Arc<Notify>,
}

impl Transcript {
    /// Begins to read.
    pub(super) fn open(wanted: Wanted, dir: DataDir, data_dir: Option<PathBuf>) -> Self {
        let (to, updates) = sync_channel(WAITING);
        let (ready, closed) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
        let (is_ready, until) = (Arc::clone(&ready), Arc::clone(&closed));
        std::thread::spawn(move || {
            let sender = Sender { to, ready: is_ready };
            let read = super::super::runtime().map_err(Into::into).and_then(|runtime| {
                runtime.block_on(async {
                    let env = UserEnv::new(data_dir);
                    tokio::select! {
                        read = stream(&wanted, &dir, &env, |piece| sender.piece(&wanted, piece)) => read,
                        () = until.notified() => Ok(()),
                    }
                })
            });
            if let Err(error) = read {
                let title = Text::new(name(&wanted));
                let _gone =
                    sender.send(Update::TranscriptFailed(title)).and_then(|()| sender.send(note(&error)));
            }
            let _gone = sender.send(Update::TranscriptEnded);
        });
        Self { updates, ready, closed }
    }

    /// Waits for more. Cancel safe.
    pub(super) async fn ready(&self) {
        self.ready.notified().await;
    }

    /// What there is now.
    pub(super) fn updates(&self) -> impl Iterator<Item = Update> + '_ {
        self.updates.try_iter()
    }
}

impl Drop for Transcript {
    fn drop(&mut self) {
        self.closed.notify_one();
    }
}

struct Sender {
    to: SyncSender<Update>,
    ready: Arc<Notify>,
}

impl Sender {
    fn send(&self, update: Update) -> io::Result<()> {
        self.ready.notify_one();
        self.to.send(update).map_err(|_| io::ErrorKind::BrokenPipe)?;
        self.ready.notify_one();
        Ok(())
    }

    fn piece(&self, wanted: &Wanted, piece: Piece) -> io::Result<()> {
        let (kind, text) = match piece {
            Piece::Header(text) => {
                let mut lines = Text::lines(&text).into_iter();
                let title = lines.next().unwrap_or_else(|| Text::new(name(wanted)));
                return self.send(Update::Transcript(title, lines.collect()));
            }
            Piece::Text(text) => (LineKind::Plain, text),
            Piece::Call(text) => (LineKind::Call, text),
            Piece::Failed(text) => (LineKind::Failed, text),
            Piece::Note(text) => (LineKind::Note, text),
        };
        let line = |text| TranscriptLine { kind, text };
        self.send(Update::Lines(Text::lines(&text).into_iter().map(line).collect()))
    }
}

fn name(wanted: &Wanted) -> &str {
    match wanted {
        Wanted::Beat(name) | Wanted::Agent(name) => name,
    }
}

//! File change notifications.

use std::borrow::Borrow;
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

/// A folder to watch, and the names in it to report.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WatchedFolder {
    folder: PathBuf,
    names: Names,
    writes: bool,
    /// Only watch for the removal of the folder itself.
    only_itself: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Names {
    All,
    Of(&'static [&'static str]),
    Each(BTreeSet<OsString>),
}

impl WatchedFolder {
    /// Watches `names` in `folder`, or everything if `names` is empty. Removal of the folder itself is reported as
    /// well.
    #[must_use]
    pub fn new(folder: &Path, names: &'static [&'static str]) -> Self {
        let names = if names.is_empty() { Names::All } else { Names::Of(names) };
        Self { folder: folder.to_path_buf(), names, writes: false, only_itself: false }
    }

    /// Watches only for the removal of `folder`, not for changes in it.
    #[must_use]
    pub fn itself(folder: &Path) -> Self {
        Self { folder: folder.to_path_buf(), names: Names::Of(&[]), writes: false, only_itself: true }
    }

    /// Watches the file `path`; `None` if it has no parent folder.
    #[must_use]
    pub fn of(path: &Path) -> Option<Self> {
        let (folder, name) = (path.parent()?, path.file_name()?);
        let names = Names::Each(BTreeSet::from([name.to_owned()]));
        Some(Self { folder: folder.to_path_buf(), names, writes: false, only_itself: false })
    }

    /// The folder.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Also reports every single write, not only the close after it.
    #[must_use]
    pub fn and_writes(self) -> Self {
        Self { writes: true, ..self }
    }

    /// Watches `names` in `folder`, or else for the creation of the folder.
    #[must_use]
    pub fn existing_or_coming(folder: &Path, names: &'static [&'static str]) -> Option<Self> {
        if folder.is_dir() { Some(Self::new(folder, names)) } else { Self::coming(folder) }
    }

    /// Watches for the creation of `path`, which doesn't exist: for its next missing component in the nearest
    /// existing folder.
    #[must_use]
    pub fn coming(path: &Path) -> Option<Self> {
        let steps = path.ancestors().zip(path.ancestors().skip(1));
        let (step, folder) = steps.into_iter().find(|(_, above)| above.is_dir())?;
        let names =
            step.file_name().map_or(Names::All, |name| Names::Each(BTreeSet::from([name.to_owned()])));
        Some(Self { folder: folder.to_path_buf(), names, writes: false, only_itself: false })
    }
}

/// Reported changes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Changes {
    /// The paths that were created, written, renamed or removed. They start with the folder as given in
    /// [`WatchedFolder`].
    pub paths: BTreeSet<PathBuf>,
    /// Whether there are changes without a path: the queue overflowed, or a watched folder was removed.
    pub more: bool,
    /// The watched folders that were removed or moved.
    pub gone: BTreeSet<PathBuf>,
    /// Whether the queue overflowed, so that any path may have changed.
    pub overflowed: bool,
}

impl Names {
    /// Whether `name` is reported.
    #[cfg_attr(not(target_os = "linux"), expect(dead_code, reason = "watching is not implemented here"))]
    fn hold(&self, name: &[u8]) -> bool {
        match self {
            Self::All => true,
            Self::Of(names) => names.iter().any(|wanted| wanted.as_bytes() == name),
            Self::Each(names) => names.iter().any(|wanted| wanted.as_encoded_bytes() == name),
        }
    }

    /// Also reports `more`.
    #[cfg_attr(not(target_os = "linux"), expect(dead_code, reason = "watching is not implemented here"))]
    fn add(&mut self, more: &Self) {
        let each = |names: &Self| match names {
            Self::All => None,
            Self::Of(names) => Some(names.iter().map(OsString::from).collect::<BTreeSet<_>>()),
            Self::Each(names) => Some(names.clone()),
        };
        *self = match (each(self), each(more)) {
            (Some(names), Some(more)) => Self::Each(names.into_iter().chain(more).collect()),
            _ => Self::All,
        };
    }
}

#[cfg(target_os = "linux")]
mod system {
    use super::{BTreeSet, Borrow, Changes, Names, WatchedFolder, io};
    use rustix::fs::inotify::{self, CreateFlags, ReadFlags, Reader, WatchFlags};
    use rustix::io::Errno;
    use std::collections::HashMap;
    use std::collections::hash_map::Entry;
    use std::ffi::OsStr;
    use std::mem::MaybeUninit;
    use std::os::fd::OwnedFd;
    use std::os::unix::ffi::OsStrExt;
    use std::path::PathBuf;
    use std::sync::Arc;
    use tokio::io::unix::AsyncFd;

    /// A watch on folders.
    #[derive(Debug)]
    pub struct Watch {
        inotify: Arc<OwnedFd>,
        /// Wakes this process; `None` while it rests.
        waking: Option<AsyncFd<Arc<OwnedFd>>>,
        places: HashMap<i32, (PathBuf, Names)>,
    }

    impl Watch {
        /// Watches `places`. Missing folders are skipped.
        ///
        /// # Errors
        /// Fails if the limit of watches is reached.
        pub fn new(places: impl IntoIterator<Item = impl Borrow<WatchedFolder>>) -> io::Result<Self> {
            let inotify = Arc::new(inotify::init(CreateFlags::NONBLOCK | CreateFlags::CLOEXEC)?);
            let waking = Some(crate::descriptor::readable(Arc::clone(&inotify))?);
            let mut watch = Self { inotify, waking, places: HashMap::new() };
            watch.add(places)?;
            Ok(watch)
        }

        /// Adds `places` and returns whether one of them is new. Existing watches continue, so no change is
        /// missed. Folders that were removed and created again are watched again.
        pub fn add(
            &mut self,
            places: impl IntoIterator<Item = impl Borrow<WatchedFolder>>,
        ) -> io::Result<bool> {
            let flags = WatchFlags::CLOSE_WRITE
                | WatchFlags::CREATE
                | WatchFlags::DELETE
                | WatchFlags::DELETE_SELF
                | WatchFlags::MOVE
                | WatchFlags::MOVE_SELF
                | WatchFlags::ATTRIB
                | WatchFlags::ONLYDIR;
            let mut new = false;
            for place in places {
                let place = place.borrow();
                let flags = match place {
                    WatchedFolder { only_itself: true, .. } => {
                        WatchFlags::DELETE_SELF | WatchFlags::MOVE_SELF | WatchFlags::ONLYDIR
                    }
                    WatchedFolder { writes: true, .. } => flags | WatchFlags::MODIFY,
                    _ => flags,
                };
                match inotify::add_watch(&*self.inotify, &place.folder, flags) {
                    Ok(watch) => match self.places.entry(watch) {
                        Entry::Vacant(vacant) => {
                            vacant.insert((place.folder.clone(), place.names.clone()));
                            new = true;
                        }
                        // Several places may share a folder.
                        Entry::Occupied(mut known) if known.get().1 != place.names => {
                            known.get_mut().1.add(&place.names);
                        }
                        Entry::Occupied(_) => {}
                    },
                    Err(Errno::NOENT | Errno::NOTDIR | Errno::ACCESS) => {}
                    Err(error) => return Err(error.into()),
                }
            }
            Ok(new)
        }

        /// The number of folders that are watched. Those that were removed don't count, once that was reported.
        #[must_use]
        pub fn folders(&self) -> usize {
            self.places.len()
        }

        /// Ends the watches on `gone` folders, which may have been moved, and on all folders in them.
        pub fn forget(&mut self, gone: &BTreeSet<PathBuf>) {
            self.places.retain(|watch, (folder, _)| {
                let is_gone = folder.ancestors().any(|part| gone.contains(part));
                // The system has removed those of removed folders.
                let _best_effort = is_gone.then(|| inotify::remove_watch(&*self.inotify, *watch));
                !is_gone
            });
        }

        /// Waits for a change.
        pub async fn changed(&mut self) -> io::Result<()> {
            self.changes().await.map(|_| ())
        }

        /// Lets changes pile up, without waking this process, until the next call of [`Self::changes`].
        pub fn rest(&mut self) {
            self.waking = None;
        }

        /// Waits for changes and returns them.
        pub async fn changes(&mut self) -> io::Result<Changes> {
            let waking = match &mut self.waking {
                Some(waking) => waking,
                resting => {
                    let changes = read(&self.inotify, &mut self.places)?;
                    if changes != Changes::default() {
                        return Ok(changes);
                    }
                    resting.insert(crate::descriptor::readable(Arc::clone(&self.inotify))?)
                }
            };
            loop {
                let mut ready = waking.readable().await?;
                let changes = read(&self.inotify, &mut self.places);
                ready.clear_ready();
                let changes = changes?;
                if changes != Changes::default() {
                    return Ok(changes);
                }
            }
        }
    }

    /// Reads all pending events and returns those that matter.
    fn read(inotify: &OwnedFd, places: &mut HashMap<i32, (PathBuf, Names)>) -> io::Result<Changes> {
        let mut buffer = [MaybeUninit::uninit(); 4096];
        let mut reader = Reader::new(inotify, &mut buffer);
        let mut changes = Changes::default();
        loop {
            match reader.next() {
                Ok(event) => {
                    let events = event.events();
                    if events.intersects(ReadFlags::DELETE_SELF | ReadFlags::MOVE_SELF) {
                        changes.more = true;
                        changes.gone.extend(places.get(&event.wd()).map(|(folder, _)| folder.clone()));
                    }
                    if events.contains(ReadFlags::QUEUE_OVERFLOW) {
                        (changes.more, changes.overflowed) = (true, true);
                    }
                    if events.contains(ReadFlags::IGNORED) {
                        places.remove(&event.wd());
                    }
                    let Some(name) = event.file_name() else { continue };
                    let place = places.get(&event.wd()).filter(|(_, names)| names.hold(name.to_bytes()));
                    changes.paths.extend(place.map(|(at, _)| at.join(OsStr::from_bytes(name.to_bytes()))));
                }
                Err(Errno::AGAIN) => return Ok(changes),
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod system {
    use super::{BTreeSet, Borrow, Changes, PathBuf, WatchedFolder, io};

    /// Watching is not implemented on this system; callers poll at their tick instead.
    #[derive(Debug)]
    pub struct Watch(());

    impl Watch {
        /// Always fails with [`io::ErrorKind::Unsupported`].
        pub fn new(_places: impl IntoIterator<Item = impl Borrow<WatchedFolder>>) -> io::Result<Self> {
            Err(io::ErrorKind::Unsupported.into())
        }

        /// Always fails with [`io::ErrorKind::Unsupported`].
        pub fn add(
            &mut self,
            _places: impl IntoIterator<Item = impl Borrow<WatchedFolder>>,
        ) -> io::Result<bool> {
            Err(io::ErrorKind::Unsupported.into())
        }

        /// There are none.
        #[must_use]
        pub fn folders(&self) -> usize {
            0
        }

        /// Does nothing.
        pub fn forget(&mut self, _gone: &BTreeSet<PathBuf>) {}

        /// Does nothing.
        pub fn rest(&mut self) {}

        /// Never returns.
        pub async fn changed(&mut self) -> io::Result<()> {
            std::future::pending().await
        }

        /// Never returns.
        pub async fn changes(&mut self) -> io::Result<Changes> {
            std::future::pending().await
        }
    }
}

pub use system::Watch;

impl Watch {
    /// Watches the places that `find` returns. Calls it again until it returns no new ones, because a folder may be
    /// created just before its parent is watched.
    pub fn settled<P: IntoIterator<Item: Borrow<WatchedFolder>>>(find: impl Fn() -> P) -> io::Result<Self> {
        let mut watch = Self::new(find())?;
        watch.settle(find)?;
        Ok(watch)
    }

    /// Adds the places that `find` returns, until it returns no new ones.
    pub fn settle<P: IntoIterator<Item: Borrow<WatchedFolder>>>(
        &mut self,
        find: impl Fn() -> P,
    ) -> io::Result<()> {
        while self.add(find())? {}
        Ok(())
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests;

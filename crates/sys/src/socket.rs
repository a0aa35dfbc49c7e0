//! Unix sockets by folder and name. Works in folders that are too deep for a socket address (108 bytes), and can
//! restrict peers to the same user.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};
use tokio::net::{UnixListener, UnixStream};

/// The longest path that fits into a socket address on every system, without the NUL.
const MAX_PATH: usize = 103;

/// A path to `name` in `folder` that is short enough, valid while its descriptor is open.
struct Address {
    path: PathBuf,
    _folder: Option<OwnedFd>,
}

fn address(folder: &Path, name: &str) -> io::Result<Address> {
    let path = folder.join(name);
    if path.as_os_str().len() <= MAX_PATH {
        return Ok(Address { path, _folder: None });
    }
    let flags = rustix::fs::OFlags::DIRECTORY | rustix::fs::OFlags::CLOEXEC;
    let folder = rustix::fs::open(folder, flags, rustix::fs::Mode::empty())?;
    let path = PathBuf::from(format!("/proc/self/fd/{}/{name}", folder.as_raw_fd()));
    Ok(Address { path, _folder: Some(folder) })
}

/// Listens on `name` in `folder`, replacing a socket left behind by a crash. The caller must hold the lock that
/// guarantees a single listener, and the folder must be private, because the socket's mode is initially the
/// umask's.
pub fn listen(folder: &Path, name: &str) -> io::Result<UnixListener> {
    // Bind under a temporary name: clients that connect between bind and listen would be refused.
    let new = format!(".{name}.new");
    let (at, new) = (address(folder, name)?, address(folder, &new)?);
    let listener = match UnixListener::bind(&new.path) {
        Err(error) if error.kind() == io::ErrorKind::AddrInUse => {
            std::fs::remove_file(&new.path)?;
            UnixListener::bind(&new.path)?
        }
        bound => bound?,
    };
    rustix::fs::chmod(&new.path, rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR)?;
    std::fs::rename(&new.path, &at.path)?;
    Ok(listener)
}

/// Listens on `name` in `inner`, a private subfolder of `folder`, and creates a symlink `name` to it in `folder`.
/// Creates `inner` if necessary and removes other users' permissions from it.
///
/// # Errors
/// Also fails if others can write to `inner`.
pub fn listen_within(folder: &Path, inner: &str, name: &str) -> io::Result<UnixListener> {
    let private = folder.join(inner);
    super::atomic::close_folder(&private)?;
    let listener = listen(&private, name)?;
    let _none = remove(folder, name);
    std::os::unix::fs::symlink(Path::new(inner).join(name), folder.join(name))?;
    Ok(listener)
}

/// Deletes the socket `name` in `folder`.
pub fn remove(folder: &Path, name: &str) -> io::Result<()> {
    std::fs::remove_file(folder.join(name))
}

/// Connects to `name` in `folder`.
pub async fn connect(folder: &Path, name: &str) -> io::Result<UnixStream> {
    let at = address(folder, name)?;
    UnixStream::connect(&at.path).await
}

/// Connects to `name` in `folder` without a runtime. Blocks while the server accepts no connections.
pub fn connect_blocking(folder: &Path, name: &str) -> io::Result<std::os::unix::net::UnixStream> {
    let at = address(folder, name)?;
    std::os::unix::net::UnixStream::connect(&at.path)
}

/// Whether `folder` has a socket `name` without a listener. Never blocks.
#[must_use]
pub fn is_stale(folder: &Path, name: &str) -> bool {
    try_connect(folder, name).is_err_and(|error| error == rustix::io::Errno::CONNREFUSED)
}

fn try_connect(folder: &Path, name: &str) -> rustix::io::Result<()> {
    use rustix::net::{AddressFamily, SocketAddrUnix, SocketType, connect, socket};
    let at = address(folder, name).map_err(|_| rustix::io::Errno::NOENT)?;
    let socket = socket(AddressFamily::UNIX, SocketType::STREAM, None)?;
    rustix::io::fcntl_setfd(&socket, rustix::io::FdFlags::CLOEXEC)?;
    rustix::io::ioctl_fionbio(&socket, true)?;
    connect(&socket, &SocketAddrUnix::new(&at.path)?)
}

/// Whether the process at the other end belongs to the same user or to root.
#[must_use]
pub fn is_same_user(stream: &UnixStream) -> bool {
    let us = rustix::process::geteuid().as_raw();
    stream.peer_cred().is_ok_and(|peer| peer.uid() == us || peer.uid() == 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    #[tokio::test(flavor = "current_thread")]
    async fn folders_too_deep_for_a_socket_address_work() {
        let top = tempfile::tempdir().unwrap();
        let folder = top.path().join("deep".repeat(40)).join("deeper".repeat(30));
        std::fs::create_dir_all(&folder).unwrap();
        let listener = listen(&folder, "murmur.sock").unwrap();
        let mut client = connect(&folder, "murmur.sock").await.unwrap();
        let (mut server, _) = listener.accept().await.unwrap();
        assert!(is_same_user(&server));
        server.write_all(b"hello").await.unwrap();
        drop(server);
        let mut received = String::new();
        client.read_to_string(&mut received).await.unwrap();
        assert_eq!(received, "hello");
        drop(listener);
        listen(&folder, "murmur.sock").unwrap();
    }
}

//! A folder held open, whose files are reached by name alone: nothing outside it is ever opened, whatever links
//! stand in it or are put there meanwhile.
//!
//! Names are single components, and are looked up in the folder's own handle, as `openat` does it. What is a reparse
//! point (a symbolic link, a junction, a mount point) is opened as what it is, seen, and refused. Who may read what is
//! made here is inherited from the folder: in the user's profile that is the user, the system and its administrators.

#[path = "folder/name.rs"]
mod name;
#[path = "folder/names.rs"]
mod names;

use name::{LONGEST, component};
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Seek, Write};
use std::os::windows::fs::{MetadataExt, OpenOptionsExt};
use std::os::windows::io::{AsRawHandle, FromRawHandle};
use std::path::{Path, PathBuf};
use windows_sys::Wdk::Foundation::OBJECT_ATTRIBUTES;
use windows_sys::Wdk::Storage::FileSystem::{
    FILE_CREATE, FILE_DIRECTORY_FILE, FILE_NON_DIRECTORY_FILE, FILE_OPEN, FILE_OPEN_IF,
    FILE_OPEN_REPARSE_POINT, FILE_RENAME_POSIX_SEMANTICS, FILE_RENAME_REPLACE_IF_EXISTS,
    FILE_SYNCHRONOUS_IO_NONALERT, FileRenameInformation, FileRenameInformationEx, NtCreateFile,
    NtSetInformationFile,
};
use windows_sys::Win32::Foundation::{
    ERROR_NO_SYSTEM_RESOURCES, ERROR_TOO_MANY_OPEN_FILES, HANDLE, NTSTATUS, OBJ_CASE_INSENSITIVE,
    RtlNtStatusToDosError, UNICODE_STRING,
};
use windows_sys::Win32::Storage::FileSystem::{
    BY_HANDLE_FILE_INFORMATION, DELETE, FILE_ATTRIBUTE_DIRECTORY, FILE_ATTRIBUTE_NORMAL,
    FILE_ATTRIBUTE_REPARSE_POINT, FILE_DISPOSITION_FLAG_DELETE, FILE_DISPOSITION_FLAG_POSIX_SEMANTICS,
    FILE_DISPOSITION_INFO, FILE_DISPOSITION_INFO_EX, FILE_FLAG_BACKUP_SEMANTICS, FILE_GENERIC_READ,
    FILE_GENERIC_WRITE, FILE_LIST_DIRECTORY, FILE_READ_ATTRIBUTES, FILE_SHARE_DELETE, FILE_SHARE_READ,
    FILE_SHARE_WRITE, FILE_TRAVERSE, FILE_WRITE_DATA, FileDispositionInfo, FileDispositionInfoEx,
    GetFileInformationByHandle, SYNCHRONIZE, SetFileInformationByHandle,
};
use windows_sys::Win32::System::IO::IO_STATUS_BLOCK;

/// What a folder is opened for: to list it and to go through it.
const ENTER: u32 = FILE_LIST_DIRECTORY | FILE_TRAVERSE | FILE_READ_ATTRIBUTES | SYNCHRONIZE;
/// Writing at the end alone: each write goes there, whoever else writes.
const APPEND: u32 = FILE_GENERIC_WRITE & !FILE_WRITE_DATA;
const SHARED: u32 = FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE;

/// An open folder.
#[derive(Debug)]
pub struct Folder {
    handle: File,
    path: PathBuf,
}

/// What [`Folder::look`] says of a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Seen {
    /// Whether it is a folder; a link is none.
    pub is_folder: bool,
    /// When it was last changed, in seconds since 1970.
    pub modified: i64,
}

impl Folder {
    /// Opens `path`, which is trusted: links in it are followed.
    ///
    /// # Errors
    /// What the system says, for example that it is no folder.
    pub fn open(path: &Path) -> io::Result<Self> {
        let mut options = File::options();
        options.access_mode(ENTER).share_mode(SHARED).custom_flags(FILE_FLAG_BACKUP_SEMANTICS);
        let handle = options.open(path)?;
        if !handle.metadata()?.is_dir() {
            return Err(io::ErrorKind::NotADirectory.into());
        }
        Ok(Self { handle, path: path.to_path_buf() })
    }

    /// The same folder, held open once more.
    ///
    /// # Errors
    /// What the system says, for example that no more can be open at once.
    pub fn try_clone(&self) -> io::Result<Self> {
        Ok(Self { handle: self.handle.try_clone()?, path: self.path.clone() })
    }

    /// Opens the folder `name` in this one.
    ///
    /// # Errors
    /// What the system says; a link is refused.
    pub fn open_folder(&self, name: impl AsRef<OsStr>) -> io::Result<Self> {
        let handle = self.beneath(name.as_ref(), ENTER, FILE_OPEN, FILE_DIRECTORY_FILE)?;
        refuse_link(&handle, name.as_ref())?;
        Ok(Self { handle, path: self.path.join(name.as_ref()) })
    }

    /// Makes the folder `name`.
    ///
    /// # Errors
    /// What the system says, for example that there is something of that name.
    pub fn create_folder(&self, name: impl AsRef<OsStr>) -> io::Result<()> {
        self.beneath(name.as_ref(), ENTER, FILE_CREATE, FILE_DIRECTORY_FILE).map(drop)
    }

    /// Opens the file `name` for reading.
    ///
    /// # Errors
    /// What the system says; anything but a regular file is refused.
    pub fn open_file(&self, name: &str) -> io::Result<File> {
        self.file(name, FILE_GENERIC_READ, FILE_OPEN)
    }

    /// Opens the file `name` to bring what was written to it to the disk, for which one must be allowed to write it.
    ///
    /// # Errors
    /// As [`Self::open_file`].
    pub fn open_to_sync(&self, name: &str) -> io::Result<File> {
        self.file(name, FILE_GENERIC_WRITE, FILE_OPEN)
    }

    /// Makes the file `name`, which must not exist, for writing from its beginning to its end.
    ///
    /// # Errors
    /// What the system says, for example that there is something of that name.
    pub fn create_file(&self, name: &str) -> io::Result<File> {
        self.file(name, FILE_GENERIC_WRITE, FILE_CREATE)
    }

    /// Makes the file `name`, which must not exist, with `size` bytes of room, to be written over from its beginning.
    ///
    /// # Errors
    /// What the system says, for example that there is no room.
    pub fn create_room(&self, name: &str, size: usize) -> io::Result<File> {
        let mut file = self.create_file(name)?;
        file.write_all(&vec![b' '; size])?;
        file.rewind()?;
        Ok(file)
    }

    /// Opens the file `name` for appending, and makes it where it does not exist.
    ///
    /// # Errors
    /// As [`Self::open_file`].
    pub fn append_file(&self, name: &str) -> io::Result<File> {
        self.file(name, FILE_GENERIC_READ | APPEND, FILE_OPEN_IF)
    }

    fn file(&self, name: &str, access: u32, disposition: u32) -> io::Result<File> {
        let file = self.beneath(OsStr::new(name), access, disposition, FILE_NON_DIRECTORY_FILE)?;
        refuse_link(&file, OsStr::new(name))?;
        Ok(file)
    }

    /// Opens `name`, and no other: what is a link is opened itself, and not what it stands for.
    fn beneath(&self, name: &OsStr, access: u32, disposition: u32, options: u32) -> io::Result<File> {
        let units = component(name)?;
        let bytes = u16::try_from(units.len() * 2).map_err(|_| io::ErrorKind::InvalidFilename)?;
        let name = UNICODE_STRING { Length: bytes, MaximumLength: bytes, Buffer: units.as_ptr().cast_mut() };
        let attributes = OBJECT_ATTRIBUTES {
            Length: size_of::<OBJECT_ATTRIBUTES>() as u32,
            RootDirectory: self.handle.as_raw_handle(),
            ObjectName: &raw const name,
            Attributes: OBJ_CASE_INSENSITIVE,
            ..Default::default()
        };
        let mut handle: HANDLE = std::ptr::null_mut();
        let mut status = IO_STATUS_BLOCK::default();
        // SAFETY: every pointer is to a local that outlives the call, the name's to `units`, which is only read; the
        // handle is ours alone, and its owner closes it.
        #[expect(unsafe_code, reason = "nothing else opens a name in a folder's handle")]
        unsafe {
            succeed(NtCreateFile(
                &raw mut handle,
                access,
                &raw const attributes,
                &raw mut status,
                std::ptr::null(),
                FILE_ATTRIBUTE_NORMAL,
                SHARED,
                disposition,
                options | FILE_OPEN_REPARSE_POINT | FILE_SYNCHRONOUS_IO_NONALERT,
                std::ptr::null(),
                0,
            ))?;
            Ok(File::from_raw_handle(handle))
        }
    }

    /// Replaces the file `name` by one that holds `bytes`, so that nobody ever sees half of it. `durable` says that it
    /// has to be there after a power failure as well.
    ///
    /// # Errors
    /// What the system says; the old file stays, and no temporary one is left.
    pub fn write(&self, name: &str, bytes: &[u8], durable: bool) -> io::Result<()> {
        let temporary = format!(".{name}.{:016x}", u64::from_le_bytes(crate::sys::random::bytes()?));
        let written = || {
            let mut file = self.create_file(&temporary)?;
            file.write_all(bytes)?;
            if durable {
                file.sync_all()?;
            }
            drop(file);
            self.rename(&temporary, name)
        };
        written().inspect_err(|_| {
            let _gone = self.remove_file(&temporary);
        })?;
        if durable { self.sync() } else { Ok(()) }
    }

    /// Gives the file `from` the name `to`, in place of what had it, also if somebody reads that.
    ///
    /// # Errors
    /// What the system says.
    pub fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        #[repr(C)]
        struct Rename {
            flags: u32,
            root: HANDLE,
            length: u32,
            name: [u16; LONGEST],
        }
        let units = component(OsStr::new(to))?;
        let file = self.beneath(OsStr::new(from), DELETE | SYNCHRONIZE, FILE_OPEN, 0)?;
        let mut rename = Rename {
            flags: FILE_RENAME_REPLACE_IF_EXISTS | FILE_RENAME_POSIX_SEMANTICS,
            root: self.handle.as_raw_handle(),
            length: units.len() as u32 * 2,
            name: [0; LONGEST],
        };
        rename.name[..units.len()].copy_from_slice(&units);
        let set = |rename: &Rename, class| {
            let mut status = IO_STATUS_BLOCK::default();
            // SAFETY: `Rename` is laid out as FILE_RENAME_INFORMATION is, and as long as is said.
            #[expect(unsafe_code, reason = "nothing else renames within a folder's handle")]
            unsafe {
                succeed(NtSetInformationFile(
                    file.as_raw_handle(),
                    &raw mut status,
                    std::ptr::from_ref(rename).cast(),
                    size_of::<Rename>() as u32,
                    class,
                ))
            }
        };
        set(&rename, FileRenameInformationEx).or_else(|_| {
            // A system or a file system that cannot do this while the old file is open.
            rename.flags = FILE_RENAME_REPLACE_IF_EXISTS;
            set(&rename, FileRenameInformation)
        })
    }

    /// What was made, renamed or removed here survives a power failure by the file system's own journal: there is
    /// nothing to ask for.
    ///
    /// # Errors
    /// None.
    pub fn sync(&self) -> io::Result<()> {
        Ok(())
    }

    /// Removes the file or link `name`.
    ///
    /// # Errors
    /// What the system says.
    pub fn remove_file(&self, name: impl AsRef<OsStr>) -> io::Result<()> {
        self.remove(name.as_ref(), FILE_NON_DIRECTORY_FILE)
    }

    /// Removes the folder `name`, which must be empty.
    ///
    /// # Errors
    /// What the system says.
    pub fn remove_folder(&self, name: impl AsRef<OsStr>) -> io::Result<()> {
        self.remove(name.as_ref(), FILE_DIRECTORY_FILE)
    }

    fn remove(&self, name: &OsStr, options: u32) -> io::Result<()> {
        let access = DELETE | FILE_READ_ATTRIBUTES | SYNCHRONIZE;
        let file = self.beneath(name, access, FILE_OPEN, options).or_else(|error| {
            // A link to a folder is removed as a folder is, but is none here.
            match self.look(name) {
                Ok(seen) if !seen.is_folder => self.beneath(name, access, FILE_OPEN, 0),
                _ => Err(error),
            }
        })?;
        let flags = FILE_DISPOSITION_FLAG_DELETE | FILE_DISPOSITION_FLAG_POSIX_SEMANTICS;
        let (now, later) =
            (FILE_DISPOSITION_INFO_EX { Flags: flags }, FILE_DISPOSITION_INFO { DeleteFile: true });
        let handle = file.as_raw_handle();
        let (now_size, later_size) = (size_of_val(&now) as u32, size_of_val(&later) as u32);
        // SAFETY: both structures are valid for reads and as long as is said.
        #[expect(
            unsafe_code,
            reason = "a file is removed by its handle, so that it is the one that was looked at"
        )]
        let removed = unsafe {
            // The name is free at once; a system or a file system that cannot do this frees it with the last handle.
            SetFileInformationByHandle(handle, FileDispositionInfoEx, (&raw const now).cast(), now_size) != 0
                || SetFileInformationByHandle(
                    handle,
                    FileDispositionInfo,
                    (&raw const later).cast(),
                    later_size,
                ) != 0
        };
        if removed { Ok(()) } else { Err(io::Error::last_os_error()) }
    }

    /// What is there under `name`, without following a link.
    ///
    /// # Errors
    /// What the system says.
    pub fn look(&self, name: impl AsRef<OsStr>) -> io::Result<Seen> {
        seen(&self.beneath(name.as_ref(), FILE_READ_ATTRIBUTES | SYNCHRONIZE, FILE_OPEN, 0)?)
    }

    /// Whether `name` stands for this very `file`, and not for another or for nothing by now.
    ///
    /// # Errors
    /// What the system says.
    pub fn is_named(&self, name: &str, file: &File) -> io::Result<bool> {
        match self.beneath(OsStr::new(name), FILE_READ_ATTRIBUTES | SYNCHRONIZE, FILE_OPEN, 0) {
            Ok(named) => Ok(number(&named)? == number(file)?),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// What this folder itself is.
    ///
    /// # Errors
    /// What the system says.
    pub fn look_at_itself(&self) -> io::Result<Seen> {
        seen(&self.handle)
    }

    /// Every name in this folder, in no order.
    ///
    /// # Errors
    /// What the system says.
    pub fn names(&self) -> io::Result<Vec<OsString>> {
        names::names(&self.handle)
    }

    /// A path that names this folder, as long as nothing above it is moved.
    #[must_use]
    pub fn path(&self) -> PathBuf {
        self.path.clone()
    }
}

/// By which a file is told apart from every other that is open.
fn number(file: &File) -> io::Result<(u32, u32, u32)> {
    let mut info = BY_HANDLE_FILE_INFORMATION::default();
    // SAFETY: the handle is borrowed, and `info` is valid for writes.
    #[expect(unsafe_code, reason = "std tells a file's number only in nightly")]
    let done = unsafe { GetFileInformationByHandle(file.as_raw_handle(), &raw mut info) };
    if done == 0 {
        return Err(io::Error::last_os_error());
    }
    Ok((info.dwVolumeSerialNumber, info.nFileIndexHigh, info.nFileIndexLow))
}

/// Whether `error` says that no more can be open at once, by us or by all.
#[must_use]
pub fn is_out_of_descriptors(error: &io::Error) -> bool {
    let code = error.raw_os_error().and_then(|code| u32::try_from(code).ok());
    matches!(code, Some(ERROR_TOO_MANY_OPEN_FILES | ERROR_NO_SYSTEM_RESOURCES))
}

fn seen(file: &File) -> io::Result<Seen> {
    // From 100 ns since 1601 to seconds since 1970.
    const UNIX_EPOCH: i64 = 11_644_473_600;
    let found = file.metadata()?;
    let attributes = found.file_attributes() & (FILE_ATTRIBUTE_DIRECTORY | FILE_ATTRIBUTE_REPARSE_POINT);
    let since_1601 = i64::try_from(found.last_write_time() / 10_000_000).unwrap_or(i64::MAX);
    Ok(Seen { is_folder: attributes == FILE_ATTRIBUTE_DIRECTORY, modified: since_1601 - UNIX_EPOCH })
}

fn refuse_link(file: &File, name: &OsStr) -> io::Result<()> {
    if file.metadata()?.file_attributes() & FILE_ATTRIBUTE_REPARSE_POINT == 0 {
        return Ok(());
    }
    Err(io::Error::new(io::ErrorKind::InvalidInput, format!("{} is a link", name.display())))
}

fn succeed(status: NTSTATUS) -> io::Result<()> {
    if status >= 0 {
        return Ok(());
    }
    // SAFETY: looks a number up in a table.
    #[expect(unsafe_code, reason = "the table is the system's")]
    let code = unsafe { RtlNtStatusToDosError(status) };
    Err(io::Error::from_raw_os_error(i32::try_from(code).unwrap_or(i32::MAX)))
}

#[cfg(test)]
#[path = "folder/tests.rs"]
mod tests;

//! An open folder whose entries are accessed by name. Nothing outside it is ever opened, even if somebody places
//! links in it.
//!
//! Names are single path components, looked up relative to the folder's handle like `openat` does. A reparse point
//! (symbolic link, junction, mount point) is opened itself, detected and refused. Permissions are inherited from
//! the folder: in the user's profile only the user, the system and its administrators have access.

#[path = "folder/name.rs"]
mod name;
#[path = "folder/names.rs"]
mod names;

use name::{MAX_NAME, component};
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

/// Access to list and traverse a folder.
const ENTER: u32 = FILE_LIST_DIRECTORY | FILE_TRAVERSE | FILE_READ_ATTRIBUTES | SYNCHRONIZE;
/// Append-only access: each write goes to the end, even with other writers.
const APPEND: u32 = FILE_GENERIC_WRITE & !FILE_WRITE_DATA;
const SHARED: u32 = FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE;

/// An open folder.
#[derive(Debug)]
pub struct Folder {
    handle: File,
    path: PathBuf,
}

/// The type and modification time of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileInfo {
    /// Whether it is a folder. False for a link to a folder.
    pub is_folder: bool,
    /// Modification time in seconds since 1970.
    pub modified: i64,
    /// Its size in bytes.
    pub size: u64,
}

impl Folder {
    /// Opens `path`. Links in it are followed, so the path must be trusted.
    pub fn open(path: &Path) -> io::Result<Self> {
        let mut options = File::options();
        options.access_mode(ENTER).share_mode(SHARED).custom_flags(FILE_FLAG_BACKUP_SEMANTICS);
        let handle = options.open(path)?;
        if !handle.metadata()?.is_dir() {
            return Err(io::ErrorKind::NotADirectory.into());
        }
        Ok(Self { handle, path: path.to_path_buf() })
    }

    /// Duplicates the handle.
    pub fn try_clone(&self) -> io::Result<Self> {
        Ok(Self { handle: self.handle.try_clone()?, path: self.path.clone() })
    }

    /// Opens the subfolder `name`. Links are refused.
    pub fn open_folder(&self, name: impl AsRef<OsStr>) -> io::Result<Self> {
        let handle = self.beneath(name.as_ref(), ENTER, FILE_OPEN, FILE_DIRECTORY_FILE)?;
        refuse_link(&handle, name.as_ref())?;
        Ok(Self { handle, path: self.path.join(name.as_ref()) })
    }

    /// Creates the subfolder `name`.
    pub fn create_folder(&self, name: impl AsRef<OsStr>) -> io::Result<()> {
        self.beneath(name.as_ref(), ENTER, FILE_CREATE, FILE_DIRECTORY_FILE).map(drop)
    }

    /// Opens the file `name` for reading.
    ///
    /// # Errors
    /// Fails for anything but a regular file.
    pub fn open_file(&self, name: &str) -> io::Result<File> {
        self.file(name, FILE_GENERIC_READ, FILE_OPEN)
    }

    /// Opens the file `name` to call `sync_all` on it, which needs write access.
    ///
    /// # Errors
    /// Same as [`Self::open_file`].
    pub fn open_to_sync(&self, name: &str) -> io::Result<File> {
        self.file(name, FILE_GENERIC_WRITE, FILE_OPEN)
    }

    /// Creates the file `name` for writing.
    ///
    /// # Errors
    /// [`io::ErrorKind::AlreadyExists`] if the name exists.
    pub fn create_file(&self, name: &str) -> io::Result<File> {
        self.file(name, FILE_GENERIC_WRITE, FILE_CREATE)
    }

    /// Creates the file `name` with `size` bytes of reserved space, positioned at its start.
    ///
    /// # Errors
    /// [`io::ErrorKind::AlreadyExists`] if the name exists.
    pub fn create_room(&self, name: &str, size: usize) -> io::Result<File> {
        let mut file = self.create_file(name)?;
        file.write_all(&vec![b' '; size])?;
        file.rewind()?;
        Ok(file)
    }

    /// Opens the file `name` for appending, and creates it if it doesn't exist.
    ///
    /// # Errors
    /// Same as [`Self::open_file`].
    pub fn append_file(&self, name: &str) -> io::Result<File> {
        self.file(name, FILE_GENERIC_READ | APPEND, FILE_OPEN_IF)
    }

    fn file(&self, name: &str, access: u32, disposition: u32) -> io::Result<File> {
        let file = self.beneath(OsStr::new(name), access, disposition, FILE_NON_DIRECTORY_FILE)?;
        refuse_link(&file, OsStr::new(name))?;
        Ok(file)
    }

    /// Opens `name`. A link is opened itself and not followed.
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
        // SAFETY: every pointer is to a local that outlives the call, and `units` is only read. The returned
        // handle is owned only by us.
        #[expect(unsafe_code, reason = "nothing else opens a name relative to a folder's handle")]
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

    /// Atomically replaces the file `name` with `bytes`. With `durable` it is on disk when this returns.
    ///
    /// On failure the old file is unchanged and no temporary file remains.
    pub fn write(&self, name: &str, bytes: &[u8], durable: bool) -> io::Result<()> {
        let temporary = format!(".{name}.{:016x}", u64::from_le_bytes(crate::random::bytes()?));
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

    /// Renames the file `from` to `to`, replacing `to` if it exists, even while it is open for reading.
    pub fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        #[repr(C)]
        struct Rename {
            flags: u32,
            root: HANDLE,
            length: u32,
            name: [u16; MAX_NAME],
        }
        let units = component(OsStr::new(to))?;
        let file = self.beneath(OsStr::new(from), DELETE | SYNCHRONIZE, FILE_OPEN, 0)?;
        let mut rename = Rename {
            flags: FILE_RENAME_REPLACE_IF_EXISTS | FILE_RENAME_POSIX_SEMANTICS,
            root: self.handle.as_raw_handle(),
            length: units.len() as u32 * 2,
            name: [0; MAX_NAME],
        };
        rename.name[..units.len()].copy_from_slice(&units);
        let set = |rename: &Rename, class| {
            let mut status = IO_STATUS_BLOCK::default();
            // SAFETY: `Rename` has the layout of FILE_RENAME_INFORMATION, and its length is given correctly.
            #[expect(unsafe_code, reason = "nothing else renames relative to a folder's handle")]
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
            // The system or file system cannot do this while the old file is open.
            rename.flags = FILE_RENAME_REPLACE_IF_EXISTS;
            set(&rename, FileRenameInformation)
        })
    }

    /// Does nothing: the file system's own journal protects folder entries.
    pub fn sync(&self) -> io::Result<()> {
        Ok(())
    }

    /// Removes the file or link `name`.
    pub fn remove_file(&self, name: impl AsRef<OsStr>) -> io::Result<()> {
        self.remove(name.as_ref(), FILE_NON_DIRECTORY_FILE)
    }

    /// Removes the empty subfolder `name`.
    pub fn remove_folder(&self, name: impl AsRef<OsStr>) -> io::Result<()> {
        self.remove(name.as_ref(), FILE_DIRECTORY_FILE)
    }

    fn remove(&self, name: &OsStr, options: u32) -> io::Result<()> {
        let access = DELETE | FILE_READ_ATTRIBUTES | SYNCHRONIZE;
        let file = self.beneath(name, access, FILE_OPEN, options).or_else(|error| {
            // A link to a folder is removed like a folder, but doesn't count as one.
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
        // SAFETY: both structures are valid for reads, and their lengths are given correctly.
        #[expect(unsafe_code, reason = "removing by handle guarantees that it is the checked file")]
        let removed = unsafe {
            // This frees the name at once. Without support for it, the name is freed with the last handle.
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

    /// Returns the metadata of the entry `name` without following links.
    pub fn look(&self, name: impl AsRef<OsStr>) -> io::Result<FileInfo> {
        seen(&self.beneath(name.as_ref(), FILE_READ_ATTRIBUTES | SYNCHRONIZE, FILE_OPEN, 0)?)
    }

    /// Whether `name` still refers to this open `file`.
    pub fn is_named(&self, name: &str, file: &File) -> io::Result<bool> {
        match self.beneath(OsStr::new(name), FILE_READ_ATTRIBUTES | SYNCHRONIZE, FILE_OPEN, 0) {
            Ok(named) => Ok(number(&named)? == number(file)?),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Returns the metadata of this folder.
    pub fn look_at_itself(&self) -> io::Result<FileInfo> {
        seen(&self.handle)
    }

    /// Lists all names in this folder, in no particular order.
    pub fn names(&self) -> io::Result<Vec<OsString>> {
        names::names(&self.handle)
    }

    /// Lists the names of the folders in this folder, and of the files whose names `is_wanted`, in no particular order.
    pub fn folders_and_files(&self, is_wanted: impl Fn(&OsStr) -> bool) -> io::Result<Vec<OsString>> {
        let mut names = self.names()?;
        names.retain(|name| is_wanted(name) || self.look(name).is_ok_and(|seen| seen.is_folder));
        Ok(names)
    }

    /// The path of this folder, valid until it or a parent is moved.
    #[must_use]
    pub fn path(&self) -> PathBuf {
        self.path.clone()
    }
}

/// The volume serial number and file index, which identify an open file.
fn number(file: &File) -> io::Result<(u32, u32, u32)> {
    let mut info = BY_HANDLE_FILE_INFORMATION::default();
    // SAFETY: the handle is borrowed, and `info` is valid for writes.
    #[expect(unsafe_code, reason = "the file index is unstable in std")]
    let done = unsafe { GetFileInformationByHandle(file.as_raw_handle(), &raw mut info) };
    if done == 0 {
        return Err(io::Error::last_os_error());
    }
    Ok((info.dwVolumeSerialNumber, info.nFileIndexHigh, info.nFileIndexLow))
}

/// Whether `error` means that the limit of open files of the process or the system is reached.
#[must_use]
pub fn is_out_of_descriptors(error: &io::Error) -> bool {
    let code = error.raw_os_error().and_then(|code| u32::try_from(code).ok());
    matches!(code, Some(ERROR_TOO_MANY_OPEN_FILES | ERROR_NO_SYSTEM_RESOURCES))
}

fn seen(file: &File) -> io::Result<FileInfo> {
    // Convert from 100 ns since 1601 to seconds since 1970.
    const UNIX_EPOCH: i64 = 11_644_473_600;
    let found = file.metadata()?;
    let attributes = found.file_attributes() & (FILE_ATTRIBUTE_DIRECTORY | FILE_ATTRIBUTE_REPARSE_POINT);
    let since_1601 = i64::try_from(found.last_write_time() / 10_000_000).unwrap_or(i64::MAX);
    let is_folder = attributes == FILE_ATTRIBUTE_DIRECTORY;
    Ok(FileInfo { is_folder, modified: since_1601 - UNIX_EPOCH, size: found.file_size() })
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
    // SAFETY: only a table lookup.
    #[expect(unsafe_code, reason = "Win32 call")]
    let code = unsafe { RtlNtStatusToDosError(status) };
    Err(io::Error::from_raw_os_error(i32::try_from(code).unwrap_or(i32::MAX)))
}

#[cfg(test)]
#[path = "folder/tests.rs"]
mod tests;

//! Folder listing by handle.

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::os::windows::ffi::OsStringExt;
use std::os::windows::io::AsRawHandle;
use windows_sys::Win32::Foundation::ERROR_NO_MORE_FILES;
use windows_sys::Win32::Storage::FileSystem::{
    FILE_ID_BOTH_DIR_INFO, FileIdBothDirectoryInfo, FileIdBothDirectoryRestartInfo,
    GetFileInformationByHandleEx,
};

/// Lists `folder`, from its beginning.
pub(super) fn names(folder: &File) -> io::Result<Vec<OsString>> {
    // u64 for the alignment of the entries.
    let mut buffer = vec![0_u64; 8192];
    let mut names = Vec::new();
    let mut class = FileIdBothDirectoryRestartInfo;
    loop {
        let size = size_of_val(&*buffer) as u32;
        // SAFETY: the buffer is valid for writes and has the given length.
        #[expect(unsafe_code, reason = "std cannot list a folder by its handle")]
        let filled = unsafe {
            GetFileInformationByHandleEx(folder.as_raw_handle(), class, buffer.as_mut_ptr().cast(), size)
        };
        if filled == 0 {
            let error = io::Error::last_os_error();
            let is_end = error.raw_os_error() == i32::try_from(ERROR_NO_MORE_FILES).ok();
            return if is_end { Ok(names) } else { Err(error) };
        }
        class = FileIdBothDirectoryInfo;
        entries(&buffer, &mut names);
    }
}

/// Parses a listing; each entry has the offset of the next.
fn entries(buffer: &[u64], names: &mut Vec<OsString>) {
    let mut at = 0;
    loop {
        // SAFETY: the system writes whole entries, each aligned to 8 bytes and followed by its name.
        #[expect(unsafe_code, reason = "the entries have different lengths")]
        let (next, name) = unsafe {
            let entry = buffer.as_ptr().cast::<u8>().add(at).cast::<FILE_ID_BOTH_DIR_INFO>();
            let length = (*entry).FileNameLength as usize / 2;
            let name = std::slice::from_raw_parts((&raw const (*entry).FileName).cast::<u16>(), length);
            ((*entry).NextEntryOffset as usize, OsString::from_wide(name))
        };
        if name != "." && name != ".." {
            names.push(name);
        }
        if next == 0 {
            return;
        }
        at += next;
    }
}

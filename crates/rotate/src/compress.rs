//! Compresses parts.

use crate::append::is_named;
use crate::part::{self, Part};
use std::fs::File;
use std::io;
use std::path::Path;
use sys::file::open_regular;

/// The compression level. Lines with many ids and numbers become smaller than with zstd's default, 3, and are
/// decompressed a quarter faster (measured with journals).
const LEVEL: i32 = 1;

/// Compresses the parts of the live file at `path`, except the newest. Leaves out a part that another process is
/// compressing.
pub fn compress(path: &Path) -> io::Result<()> {
    let parts = part::list(path)?;
    let Some((_newest, older)) = parts.split_last() else { return Ok(()) };
    older.iter().filter(|part| !part.is_compressed()).try_for_each(compress_part)
}

fn compress_part(part: &Part) -> io::Result<()> {
    let mut file = match open_regular(part.plain(), File::options().read(true)) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    };
    if file.try_lock().is_err() || !is_named(part.plain(), &file)? {
        return Ok(());
    }
    let folder = part.plain().parent().unwrap_or(part.plain());
    let found = file.metadata()?;
    let mut new = tempfile::Builder::new().prefix(".new-").tempfile_in(folder)?;
    let mut encoder = zstd::stream::write::Encoder::new(&mut new, LEVEL)?;
    encoder.include_checksum(true)?;
    encoder.set_pledged_src_size(Some(found.len()))?;
    // Not what is appended meanwhile: the size must be right.
    io::copy(&mut io::Read::take(&mut file, found.len()), &mut encoder)?;
    encoder.finish()?;
    new.as_file().set_modified(found.modified()?)?;
    new.as_file().sync_all()?;
    if file.metadata()?.len() != found.len() {
        // Some program still appends to it: the next time.
        return Ok(());
    }
    new.persist(part.compressed()).map_err(|failed| failed.error)?;
    File::open(folder)?.sync_all()?;
    std::fs::remove_file(part.plain())
}

//! Returning unneeded memory to the system.
//!
//! Measured with the release build on Linux, idle, the daemon with 1,000 heartbeats (resident; of it private and dirty;
//! proportional set size, in kB):
//!
//! | process | nothing released | free memory | file pages | both |
//! | --- | --- | --- | --- | --- |
//! | host, after a turn | 11,988; 2,588; 6,805 | 10,060; 928; 5,033 | 3,688; 2,084; 2,843 | 2,540; 936; 1,630 |
//! | daemon | 13,604; 4,096; 8,186 | 13,616; 4,080; 8,444 | 9,376; 4,084; 8,405 | 9,600; 4,088; 8,503 |
//!
//! A daemon that was asked for its status has free memory, too. Both release both.

/// Releases the allocator's free memory and the unused part of the stack, and drops the resident pages of the program's
/// files. Pages that are needed again are reloaded from the page cache, so an idle process keeps a few dozen pages
/// instead of everything that it has used.
pub fn release() {
    #[cfg(target_os = "linux")]
    let (files, stack) = {
        let smaps = std::fs::read_to_string("/proc/self/smaps").unwrap_or_default();
        (file_mappings(&smaps), stack(&smaps))
    };
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    {
        // SAFETY: releases only memory that is not allocated, so nothing points there.
        #[expect(unsafe_code, reason = "only the allocator can release its free memory")]
        unsafe {
            libc::malloc_trim(0);
        }
    }
    #[cfg(target_env = "musl")]
    crate::allocator::trim();
    #[cfg(target_os = "linux")]
    {
        release_stack(stack);
        release_file_pages(&files);
    }
}

/// Drops the pages of the main thread's stack below the current frame, which earlier calls have used.
#[cfg(target_os = "linux")]
fn release_stack(stack: Option<(usize, usize)>) {
    /// What this call and signal handlers may use, in bytes.
    const MARGIN: usize = 16 << 10;
    let here = std::ptr::from_ref(&stack).addr();
    // Other threads have their stacks elsewhere.
    let Some((start, _)) = stack.filter(|(start, end)| (*start..*end).contains(&here)) else { return };
    let end = here.saturating_sub(MARGIN) & !(rustix::param::page_size() - 1);
    if end <= start {
        return;
    }
    // SAFETY: the stack grows down, so everything that is live is above `end`. The range is part of the mapping that
    // the kernel has just listed, and pages that are needed again are zero, like those of a stack that grows.
    #[expect(unsafe_code, reason = "dropping pages is only safe below the current frame")]
    unsafe {
        drop_pages(start, end);
    }
}

#[cfg(target_os = "linux")]
fn release_file_pages(files: &[(usize, usize)]) {
    for &(start, end) in files {
        // SAFETY: the range is a whole mapping of this process that the kernel has just listed: private, backed by
        // a file, read-only, and without modified pages (`Anonymous: 0 kB` excludes what the loader has
        // relocated). Its pages equal the file, so dropping them loses nothing: the next access reads them again.
        // The mapping stays, since the program loads and unloads no libraries.
        #[expect(unsafe_code, reason = "dropping pages is only safe for unmodified file mappings")]
        unsafe {
            drop_pages(start, end);
        }
    }
}

/// Drops the resident pages of a range of addresses. Best effort.
///
/// # Safety
/// Nothing in the range may be lost: its pages equal those of a file, or nobody reads them again.
#[cfg(target_os = "linux")]
#[expect(unsafe_code, reason = "madvise may change what addresses hold")]
unsafe fn drop_pages(start: usize, end: usize) {
    let pages = std::ptr::with_exposed_provenance_mut(start);
    // SAFETY: the caller's promise.
    let _advice = unsafe { rustix::mm::madvise(pages, end - start, rustix::mm::Advice::LinuxDontNeed) };
}

/// The ranges in `/proc/PID/smaps` that only contain a file's unmodified bytes.
#[cfg(target_os = "linux")]
fn file_mappings(smaps: &str) -> Vec<(usize, usize)> {
    let mut found = Vec::new();
    let mut candidate = None;
    for line in smaps.lines() {
        if let Some(own) = line.strip_prefix("Anonymous:") {
            found.extend(candidate.take().filter(|_| own.trim() == "0 kB"));
        } else if !line.split_once(' ').is_some_and(|(key, _)| key.ends_with(':')) {
            candidate = read_only_file(line);
        }
    }
    found
}

/// The range of the main thread's stack in `/proc/PID/smaps`.
#[cfg(target_os = "linux")]
fn stack(smaps: &str) -> Option<(usize, usize)> {
    range(smaps.lines().find(|line| line.ends_with(" [stack]"))?.split_ascii_whitespace().next()?)
}

#[cfg(target_os = "linux")]
fn range(text: &str) -> Option<(usize, usize)> {
    let (start, end) = text.split_once('-')?;
    let address = |text| usize::from_str_radix(text, 16).ok();
    Some((address(start)?, address(end)?))
}

/// The range in a mapping's first line, if it is a read-only file mapping.
#[cfg(target_os = "linux")]
fn read_only_file(line: &str) -> Option<(usize, usize)> {
    let mut fields = line.split_ascii_whitespace();
    let (place, mode, file) = (fields.next()?, fields.next()?, fields.nth(3)?);
    if matches!(mode, "r-xp" | "r--p") && file.starts_with('/') { range(place) } else { None }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn only_unmodified_file_mappings_are_released() {
        let smaps = "\
00400000-00410000 r--p 00000000 fe:00 1 /usr/bin/murmur
Rss:                  64 kB
Anonymous:             0 kB
VmFlags: rd mr mw me sd
00410000-00420000 r-xp 00010000 fe:00 1 /usr/bin/murmur
Anonymous:             0 kB
00420000-00430000 r--p 00020000 fe:00 1 /usr/bin/murmur
Anonymous:            16 kB
00430000-00440000 rw-p 00030000 fe:00 1 /usr/bin/murmur
Anonymous:             0 kB
7f0000000000-7f0000001000 r-xp 00000000 00:00 0
Anonymous:             0 kB
7fff00000000-7fff00001000 r-xp 00000000 00:00 0 [vdso]
Anonymous:             0 kB
";
        assert_eq!(file_mappings(smaps), [(0x40_0000, 0x41_0000), (0x41_0000, 0x42_0000)]);
    }

    #[test]
    fn the_program_still_runs_afterwards() {
        release();
        assert_eq!((file_mappings(""), stack("")), (vec![], None));
        assert_eq!(
            stack("7ffd0000-7ffe0000 rw-p 00000000 00:00 0          [stack]\n"),
            Some((0x7ffd_0000, 0x7ffe_0000))
        );
    }
}

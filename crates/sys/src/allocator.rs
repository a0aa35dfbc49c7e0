//! The allocator of programs that are linked with musl, as static ones for Linux are: musl's own is slow, since it
//! often maps and unmaps memory.
//!
//! Large allocations are mappings of their own, so their memory is returned even if smaller ones lie behind them.

use dlmalloc::Dlmalloc;
use rustix::mm::{MapFlags, MremapFlags, ProtFlags};
use std::alloc::{GlobalAlloc, Layout};
use std::ptr;
use std::sync::{Mutex, MutexGuard, PoisonError};

#[global_allocator]
static ALLOCATOR: Allocator = Allocator(Mutex::new(Dlmalloc::new()));

/// The size from which an allocation has a mapping of its own, in bytes, as in glibc.
const LARGE: usize = 128 << 10;

/// The alignment of a mapping, at least.
const PAGE: usize = 4 << 10;

struct Allocator(Mutex<Dlmalloc>);

impl Allocator {
    fn lock(&self) -> MutexGuard<'_, Dlmalloc> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn is_large(layout: Layout) -> bool {
    layout.size() >= LARGE && layout.align() <= PAGE
}

/// Returns zeroed memory; null if there is none.
fn map(size: usize) -> *mut u8 {
    // SAFETY: a new mapping that nothing else uses.
    #[expect(unsafe_code, reason = "memory comes from the kernel")]
    let mapped = unsafe {
        let (access, kind) = (ProtFlags::READ | ProtFlags::WRITE, MapFlags::PRIVATE);
        rustix::mm::mmap_anonymous(ptr::null_mut(), size, access, kind)
    };
    mapped.map_or(ptr::null_mut(), |mapped| mapped.cast())
}

// SAFETY: Dlmalloc keeps the contract of an allocator, and the lock lets one thread at a time use it. Locking doesn't
// allocate. Whether an allocation is a mapping depends only on its layout, which the caller passes again to free it.
#[expect(unsafe_code, reason = "allocators are unsafe by definition")]
unsafe impl GlobalAlloc for Allocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if is_large(layout) {
            return map(layout.size());
        }
        // SAFETY: the caller keeps the contract.
        unsafe { self.lock().malloc(layout.size(), layout.align()) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        if is_large(layout) {
            return map(layout.size());
        }
        // SAFETY: the caller keeps the contract.
        unsafe { self.lock().calloc(layout.size(), layout.align()) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller keeps the contract, and a large allocation is a mapping of this size.
        unsafe {
            if is_large(layout) {
                let _unmapped = rustix::mm::munmap(pointer.cast(), layout.size());
            } else {
                self.lock().free(pointer, layout.size(), layout.align());
            }
        }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: the caller keeps the contract, so the new layout is valid, and the old one has this many bytes.
        unsafe {
            let new = Layout::from_size_align_unchecked(size, layout.align());
            match (is_large(layout), is_large(new)) {
                (true, true) => rustix::mm::mremap(pointer.cast(), layout.size(), size, MremapFlags::MAYMOVE)
                    .map_or(ptr::null_mut(), |moved| moved.cast()),
                (false, false) => self.lock().realloc(pointer, layout.size(), layout.align(), size),
                _ => {
                    let moved = self.alloc(new);
                    if !moved.is_null() {
                        ptr::copy_nonoverlapping(pointer, moved, layout.size().min(size));
                        self.dealloc(pointer, layout);
                    }
                    moved
                }
            }
        }
    }
}

/// Returns free memory to the system.
pub(crate) fn trim() {
    // SAFETY: releases only memory that is not allocated, so nothing points there.
    #[expect(unsafe_code, reason = "only the allocator can release its free memory")]
    unsafe {
        ALLOCATOR.lock().trim(0);
    }
}

#[cfg(test)]
mod tests {
    use super::LARGE;

    #[test]
    fn what_grows_and_shrinks_across_the_limit_keeps_its_bytes() {
        let sizes =
            [1, 100, LARGE - 1, LARGE, LARGE + 1, 3 * LARGE, 5 * LARGE + 7, LARGE, LARGE - 1, 10, 2 * LARGE];
        let mut bytes: Vec<u8> = Vec::new();
        for size in sizes {
            let kept = bytes.len().min(size);
            bytes.truncate(size);
            bytes.shrink_to(size);
            bytes.reserve_exact(size - bytes.len());
            bytes.extend((kept..size).map(|at| (at % 251) as u8));
            assert!(bytes.iter().enumerate().all(|(at, byte)| usize::from(*byte) == at % 251), "{size}");
        }
        assert!(vec![0u8; 4 * LARGE].iter().all(|byte| *byte == 0));
    }
}

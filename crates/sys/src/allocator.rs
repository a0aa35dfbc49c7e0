//! The allocator of programs that are linked with musl, as static ones for Linux are: musl's own is slow, since it maps
//! and unmaps memory all the time.

use dlmalloc::Dlmalloc;
use std::alloc::{GlobalAlloc, Layout};
use std::sync::{Mutex, MutexGuard, PoisonError};

#[global_allocator]
static ALLOCATOR: Allocator = Allocator(Mutex::new(Dlmalloc::new()));

struct Allocator(Mutex<Dlmalloc>);

impl Allocator {
    fn lock(&self) -> MutexGuard<'_, Dlmalloc> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

// SAFETY: Dlmalloc keeps the contract of an allocator, and the lock lets one thread at a time use it. Locking doesn't
// allocate.
#[expect(unsafe_code, reason = "allocators are unsafe by definition")]
unsafe impl GlobalAlloc for Allocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller keeps the contract.
        unsafe { self.lock().malloc(layout.size(), layout.align()) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller keeps the contract.
        unsafe { self.lock().calloc(layout.size(), layout.align()) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller keeps the contract.
        unsafe { self.lock().free(pointer, layout.size(), layout.align()) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: the caller keeps the contract.
        unsafe { self.lock().realloc(pointer, layout.size(), layout.align(), size) }
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

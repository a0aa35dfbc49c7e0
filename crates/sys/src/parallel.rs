//! Work on many elements, shared among the cores.

use std::num::NonZeroUsize;

/// For fewer elements, starting a thread takes longer than what it saves.
const LEAST: usize = 256;

/// Calls `work` with parts that together are all elements: one part for each core, or fewer if there are few elements.
pub fn in_parts<T: Send>(elements: &mut [T], work: impl Fn(&mut [T]) + Sync) {
    // Counting the cores takes 20 system calls.
    if elements.len() <= LEAST {
        return work(elements);
    }
    let cores = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
    let mut parts = elements.chunks_mut(elements.len().div_ceil(cores).max(LEAST));
    let own = parts.next();
    let work = &work;
    std::thread::scope(|scope| {
        parts.for_each(|part| _ = scope.spawn(move || work(part)));
        own.into_iter().for_each(work);
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_element_is_worked_on_once() {
        for count in [0, 1, LEAST, LEAST + 1, 10 * LEAST + 3] {
            let mut numbers: Vec<usize> = (0..count).collect();
            in_parts(&mut numbers, |part| part.iter_mut().for_each(|number| *number += 1));
            assert!(numbers.into_iter().eq(1..=count));
        }
    }
}

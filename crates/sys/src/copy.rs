//! `memcpy`, `memmove` and `memcmp` for programs that are linked with musl on x86-64. musl's own start a string
//! instruction for every copy, which takes longer than most copies, and compare byte by byte.
//!
//! In assembly, because a compiler may turn a loop that copies into a call of the function that it implements.

#![cfg(any(test, target_env = "musl"))]
#![expect(unsafe_code, reason = "assembly, and the functions have C's interface")]

/// Defines the functions with these names.
macro_rules! define {
    ($memcpy:literal, $memmove:literal, $memcmp:literal, $bcmp:literal) => {
        std::arch::global_asm!(
            ".pushsection .text.murmur_copy,\"ax\",@progbits",
            concat!(".globl ", $memcpy, "\n.globl ", $memmove, "\n.globl ", $memcmp, "\n.globl ", $bcmp),
            concat!(".type ", $memcpy, ",@function\n.type ", $memmove, ",@function"),
            concat!(".type ", $memcmp, ",@function\n.type ", $bcmp, ",@function"),
            // rdi: to, rsi: from, rdx: length. Up to 128 bytes, everything is loaded before anything is stored, so
            // overlaps don't matter; two accesses overlap instead of a loop.
            ".p2align 5",
            concat!($memcpy, ":\n", $memmove, ":"),
            "mov rax, rdi",
            "cmp rdx, 16",
            "jb 20f",
            "cmp rdx, 32",
            "ja 30f",
            "movups xmm0, [rsi]",
            "movups xmm1, [rsi + rdx - 16]",
            "movups [rdi], xmm0",
            "movups [rdi + rdx - 16], xmm1",
            "ret",
            // Fewer than 16.
            "20:",
            "cmp edx, 8",
            "jb 21f",
            "mov rcx, [rsi]",
            "mov rsi, [rsi + rdx - 8]",
            "mov [rdi], rcx",
            "mov [rdi + rdx - 8], rsi",
            "ret",
            "21:",
            "cmp edx, 4",
            "jb 22f",
            "mov ecx, [rsi]",
            "mov esi, [rsi + rdx - 4]",
            "mov [rdi], ecx",
            "mov [rdi + rdx - 4], esi",
            "ret",
            "22:",
            "cmp edx, 1",
            "jb 24f",
            "movzx ecx, byte ptr [rsi]",
            "je 23f",
            "movzx esi, word ptr [rsi + rdx - 2]",
            "mov [rdi + rdx - 2], si",
            "23:",
            "mov [rdi], cl",
            "24:",
            "ret",
            // 33 to 128.
            "30:",
            "cmp rdx, 64",
            "ja 31f",
            "movups xmm0, [rsi]",
            "movups xmm1, [rsi + 16]",
            "movups xmm2, [rsi + rdx - 32]",
            "movups xmm3, [rsi + rdx - 16]",
            "movups [rdi], xmm0",
            "movups [rdi + 16], xmm1",
            "movups [rdi + rdx - 32], xmm2",
            "movups [rdi + rdx - 16], xmm3",
            "ret",
            "31:",
            // The last 64 of it, and the first 64.
            "movups xmm4, [rsi + rdx - 64]",
            "movups xmm5, [rsi + rdx - 48]",
            "movups xmm6, [rsi + rdx - 32]",
            "movups xmm7, [rsi + rdx - 16]",
            "movups xmm0, [rsi]",
            "movups xmm1, [rsi + 16]",
            "movups xmm2, [rsi + 32]",
            "movups xmm3, [rsi + 48]",
            "cmp rdx, 128",
            "ja 40f",
            "movups [rdi], xmm0",
            "movups [rdi + 16], xmm1",
            "movups [rdi + 32], xmm2",
            "movups [rdi + 48], xmm3",
            "32:",
            "movups [rdi + rdx - 64], xmm4",
            "movups [rdi + rdx - 48], xmm5",
            "movups [rdi + rdx - 32], xmm6",
            "movups [rdi + rdx - 16], xmm7",
            "ret",
            // More than 128. Backward if the destination begins within the source.
            "40:",
            "mov rcx, rdi",
            "sub rcx, rsi",
            "cmp rcx, rdx",
            "jb 50f",
            "cmp rdx, 2048",
            "jb 41f",
            // A long copy without an overlap: the processor's own, and then the last 64 again.
            "neg rcx",
            "cmp rcx, rdx",
            "jb 41f",
            "mov rcx, rdx",
            "shr rcx, 3",
            "rep movsq",
            "mov rdi, rax",
            "jmp 32b",
            // Forward, in steps of 64, up to the last 64.
            "41:",
            "lea rcx, [rdi + rdx - 64]",
            "42:",
            "movups xmm0, [rsi]",
            "movups xmm1, [rsi + 16]",
            "movups xmm2, [rsi + 32]",
            "movups xmm3, [rsi + 48]",
            "movups [rdi], xmm0",
            "movups [rdi + 16], xmm1",
            "movups [rdi + 32], xmm2",
            "movups [rdi + 48], xmm3",
            "add rsi, 64",
            "add rdi, 64",
            "cmp rdi, rcx",
            "jb 42b",
            "mov rdi, rax",
            "jmp 32b",
            // Backward, in steps of 64, down to the first 64.
            "50:",
            "movups xmm4, [rsi + rdx - 64]",
            "movups xmm5, [rsi + rdx - 48]",
            "movups xmm6, [rsi + rdx - 32]",
            "movups xmm7, [rsi + rdx - 16]",
            "movups [rdi + rdx - 64], xmm4",
            "movups [rdi + rdx - 48], xmm5",
            "movups [rdi + rdx - 32], xmm6",
            "movups [rdi + rdx - 16], xmm7",
            "sub rdx, 64",
            "cmp rdx, 64",
            "ja 50b",
            "movups [rdi], xmm0",
            "movups [rdi + 16], xmm1",
            "movups [rdi + 32], xmm2",
            "movups [rdi + 48], xmm3",
            "ret",
            // rdi and rsi: what to compare, rdx: its length.
            ".p2align 5",
            concat!($memcmp, ":\n", $bcmp, ":"),
            "cmp rdx, 16",
            "jb 70f",
            "60:",
            "movups xmm0, [rdi]",
            "movups xmm1, [rsi]",
            "pcmpeqb xmm0, xmm1",
            "pmovmskb eax, xmm0",
            "sub eax, 65535",
            "jne 62f",
            "add rdi, 16",
            "add rsi, 16",
            "sub rdx, 16",
            "cmp rdx, 16",
            "jae 60b",
            "test edx, edx",
            "je 61f",
            // The last 16, of which some are known to be equal.
            "lea rdi, [rdi + rdx - 16]",
            "lea rsi, [rsi + rdx - 16]",
            "movups xmm0, [rdi]",
            "movups xmm1, [rsi]",
            "pcmpeqb xmm0, xmm1",
            "pmovmskb eax, xmm0",
            "sub eax, 65535",
            "jne 62f",
            "61:",
            "ret",
            // The lowest bit of eax is the first byte that differs.
            "62:",
            "bsf ecx, eax",
            "movzx eax, byte ptr [rdi + rcx]",
            "movzx ecx, byte ptr [rsi + rcx]",
            "sub eax, ecx",
            "ret",
            // Fewer than 16.
            "70:",
            "cmp edx, 8",
            "jb 72f",
            "mov rax, [rdi]",
            "mov rcx, [rsi]",
            "cmp rax, rcx",
            "jne 71f",
            "mov rax, [rdi + rdx - 8]",
            "mov rcx, [rsi + rdx - 8]",
            "cmp rax, rcx",
            "jne 71f",
            "xor eax, eax",
            "ret",
            // The first byte is the most significant one.
            "71:",
            "bswap rax",
            "bswap rcx",
            "cmp rax, rcx",
            "sbb eax, eax",
            "or eax, 1",
            "ret",
            "72:",
            "xor eax, eax",
            "cmp edx, 4",
            "jb 74f",
            "mov eax, [rdi]",
            "mov ecx, [rsi]",
            "cmp eax, ecx",
            "jne 73f",
            "mov eax, [rdi + rdx - 4]",
            "mov ecx, [rsi + rdx - 4]",
            "cmp eax, ecx",
            "jne 73f",
            "xor eax, eax",
            "ret",
            "73:",
            "bswap eax",
            "bswap ecx",
            "cmp eax, ecx",
            "sbb eax, eax",
            "or eax, 1",
            "ret",
            // Up to 3, one at a time.
            "74:",
            "test edx, edx",
            "je 75f",
            "movzx eax, byte ptr [rdi]",
            "movzx ecx, byte ptr [rsi]",
            "sub eax, ecx",
            "jne 75f",
            "inc rdi",
            "inc rsi",
            "dec edx",
            "jmp 74b",
            "75:",
            "ret",
            concat!(".size ", $memcpy, ", . - ", $memcpy, "\n.size ", $memmove, ", . - ", $memmove),
            concat!(".size ", $memcmp, ", . - ", $memcmp, "\n.size ", $bcmp, ", . - ", $bcmp),
            ".popsection",
        );
    };
}

#[cfg(target_env = "musl")]
define!("memcpy", "memmove", "memcmp", "bcmp");

#[cfg(all(test, not(target_env = "musl")))]
define!("murmur_memcpy", "murmur_memmove", "murmur_memcmp", "murmur_bcmp");

#[cfg(test)]
mod tests {
    use std::cmp::Ordering;

    unsafe extern "C" {
        #[cfg_attr(not(target_env = "musl"), link_name = "murmur_memmove")]
        fn memmove(to: *mut u8, from: *const u8, len: usize) -> *mut u8;
        #[cfg_attr(not(target_env = "musl"), link_name = "murmur_memcmp")]
        fn memcmp(one: *const u8, other: *const u8, len: usize) -> i32;
    }

    /// Every length at which the copy takes another branch, and the lengths next to it.
    fn lengths() -> impl Iterator<Item = usize> {
        (0..300).chain([511, 512, 513, 2046, 2047, 2048, 2049, 2055, 4096, 5001])
    }

    #[test]
    fn copies_are_exact_wherever_they_overlap() {
        const SIZE: usize = 11_000;
        let bytes = Vec::from_iter((0..SIZE).map(|at| (at * 7 + at / 251) as u8));
        for len in lengths() {
            let near = [0, 1, 2, 3, 7, 8, 15, 16, 17, 33, 63, 64, 65, 100, 129, 300];
            let apart =
                near.into_iter().chain([len.saturating_sub(1), len, len + 1]).filter(|apart| *apart <= 5_100);
            for apart in apart {
                for (from, to) in [(20, 20 + apart), (20 + apart, 20), (21 + apart, 20)] {
                    let mut wanted = bytes.clone();
                    wanted.copy_within(from..from + len, to);
                    let mut found = bytes.clone();
                    let start = found.as_mut_ptr();
                    // SAFETY: both places are within the vector.
                    let returned = unsafe { memmove(start.add(to), start.add(from), len) };
                    assert_eq!(returned, start.wrapping_add(to));
                    assert!(found == wanted, "{len} bytes from {from} to {to}");
                }
            }
        }
    }

    #[test]
    fn comparisons_find_the_first_byte_that_differs() {
        for len in lengths() {
            let one = Vec::from_iter((0..len).map(|at| (at * 31) as u8));
            let mut other = one.clone();
            // SAFETY: both have this length.
            let compare =
                |one: &[u8], other: &[u8]| unsafe { memcmp(one.as_ptr(), other.as_ptr(), len) }.cmp(&0);
            assert_eq!(compare(&one, &other), Ordering::Equal);
            for at in 0..len {
                for change in [1, 0x80, 0xff] {
                    other[at] ^= change;
                    // A later difference doesn't count.
                    let last = other[len - 1];
                    if at + 1 < len {
                        other[len - 1] ^= 0x55;
                    }
                    assert_eq!(compare(&one, &other), one[at].cmp(&other[at]), "byte {at} of {len}");
                    assert_eq!(compare(&other, &one), other[at].cmp(&one[at]), "byte {at} of {len}");
                    other[len - 1] = last;
                    other[at] ^= change;
                }
            }
        }
    }
}

//! Finds the start of the last lines by reading backwards, block by block, so the cost depends only on their size.

/// How much is read at once.
const BLOCK: u64 = 64 * 1024;

/// The cursor of the first byte of the last `lines` lines before `end`, but not before `least`. A newline at the very
/// end does not start another line. `read` returns the bytes between two cursors.
pub fn lines<E>(
    lines: u64,
    end: u64,
    least: u64,
    mut read: impl FnMut(u64, u64) -> Result<Vec<u8>, E>,
) -> Result<u64, E> {
    let mut left = lines;
    let mut to = end;
    if left == 0 {
        return Ok(end);
    }
    while to > least {
        let from = to.saturating_sub(BLOCK).max(least);
        let block = read(from, to)?;
        for newline in memchr::memrchr_iter(b'\n', &block) {
            let behind = from + newline as u64 + 1;
            if behind == end {
                continue;
            }
            left -= 1;
            if left == 0 {
                return Ok(behind);
            }
        }
        to = from;
    }
    Ok(least.min(end))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn tail(text: &[u8], count: u64, least: u64) -> u64 {
        let read = |from: u64, to: u64| Ok::<_, ()>(text[from as usize..to as usize].to_vec());
        lines(count, text.len() as u64, least, read).unwrap()
    }

    #[test]
    fn the_last_lines_are_found() {
        assert_eq!(tail(b"", 3, 0), 0);
        assert_eq!(tail(b"a\nb\nc\n", 1, 0), 4);
        assert_eq!(tail(b"a\nb\nc", 1, 0), 4);
        assert_eq!(tail(b"a\nb\nc\n", 2, 0), 2);
        assert_eq!(tail(b"a\nb\nc\n", 9, 0), 0);
        assert_eq!(tail(b"a\nb\nc\n", 9, 1), 1);
        assert_eq!(tail(b"\n\n\n", 2, 0), 1);
        assert_eq!(tail(b"a\n", 0, 0), 2);
        let long = [vec![b'x'; 200_000], b"\nlast\n".to_vec()].concat();
        assert_eq!(tail(&long, 1, 0), 200_001);
        assert_eq!(tail(&long, 2, 0), 0);
    }

    proptest! {
        #[test]
        fn the_result_matches_str_lines(text in "[a\n]{0,30}", count in 1_u64..6) {
            let all: Vec<&str> = text.lines().collect();
            let last = &all[all.len().saturating_sub(count as usize)..];
            let from = tail(text.as_bytes(), count, 0) as usize;
            prop_assert_eq!(text[from..].lines().collect::<Vec<_>>(), last);
        }
    }
}

//! `$((…))` on numbers: sums, products, parentheses.

/// The value of `text`, if it contains only numbers.
pub(super) fn value(text: &str) -> Option<i64> {
    if text.len() > 64 {
        return None;
    }
    let mut rest = text.trim();
    let value = sum(&mut rest, 0)?;
    rest.is_empty().then_some(value)
}

fn sum(rest: &mut &str, depth: u32) -> Option<i64> {
    let mut total = product(rest, depth)?;
    loop {
        match take(rest, &['+', '-']) {
            Some('+') => total = total.checked_add(product(rest, depth)?)?,
            Some(_) => total = total.checked_sub(product(rest, depth)?)?,
            None => return Some(total),
        }
    }
}

fn product(rest: &mut &str, depth: u32) -> Option<i64> {
    let mut total = number(rest, depth)?;
    loop {
        match take(rest, &['*', '/', '%']) {
            Some('*') => total = total.checked_mul(number(rest, depth)?)?,
            Some('/') => total = total.checked_div(number(rest, depth)?)?,
            Some(_) => total = total.checked_rem(number(rest, depth)?)?,
            None => return Some(total),
        }
    }
}

fn number(rest: &mut &str, depth: u32) -> Option<i64> {
    if depth > 8 {
        return None;
    }
    match take(rest, &['(', '-']) {
        Some('(') => {
            let total = sum(rest, depth + 1)?;
            take(rest, &[')']).map(|_| total)
        }
        Some(_) => number(rest, depth + 1)?.checked_neg(),
        None => {
            let length = rest.bytes().take_while(u8::is_ascii_digit).count();
            let (digits, after) = rest.split_at(length);
            *rest = after.trim_start();
            digits.parse().ok()
        }
    }
}

/// Consumes one of `characters` and the blanks after it.
fn take(rest: &mut &str, characters: &[char]) -> Option<char> {
    let first = rest.chars().next().filter(|first| characters.contains(first))?;
    *rest = rest[1..].trim_start();
    Some(first)
}

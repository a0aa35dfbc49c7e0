//! Human-readable time spans.

use jiff::SignedDuration;

/// The two largest units of a time span: `3h 5m`.
pub fn span(span: SignedDuration) -> String {
    let seconds = span.as_secs().max(0);
    let parts =
        [(seconds / 86_400, "d"), (seconds / 3600 % 24, "h"), (seconds / 60 % 60, "m"), (seconds % 60, "s")];
    let mut shown = parts.iter().skip_while(|(count, _)| *count == 0).take(2).filter(|(count, _)| *count > 0);
    match shown.next() {
        None => "0s".to_owned(),
        Some(first) => std::iter::once(first)
            .chain(shown)
            .map(|(n, unit)| format!("{n}{unit}"))
            .collect::<Vec<_>>()
            .join(" "),
    }
}

//! Time spans, short enough for a column.

use jiff::SignedDuration;
use sys::text::below_a_minute;

/// A span in its largest units; the same for the past and the future.
pub(super) fn span(span: SignedDuration) -> String {
    let seconds = span.as_secs().unsigned_abs();
    match seconds {
        0..60 => format!("{seconds}s"),
        60..3600 => format!("{}m", seconds / 60),
        3600..172_800 => format!("{}h{:02}m", seconds / 3600, seconds / 60 % 60),
        _ => format!("{}d", seconds / 86_400),
    }
}

/// How long something took, in milliseconds.
pub(super) fn took(ms: u64) -> String {
    let rounded = || SignedDuration::from_millis(i64::try_from(ms.saturating_add(50)).unwrap_or(i64::MAX));
    below_a_minute(ms).unwrap_or_else(|| span(rounded()))
}

/// How long [`span`] stays the same while time passes.
pub(super) fn changes_in(span: SignedDuration) -> SignedDuration {
    let seconds = span.as_secs();
    let left = match seconds {
        // A future time comes closer.
        ..-60 => -seconds % 60,
        -60..60 => 0,
        _ => 59 - seconds % 60,
    };
    SignedDuration::from_secs(left + 1)
}

/// An amount of money.
pub(super) fn dollars(usd: f64) -> String {
    match usd {
        usd if !(usd.is_finite() && usd >= 0.0) => "?".to_owned(),
        0.0 => "-".to_owned(),
        usd if usd < 0.01 => "<$0.01".to_owned(),
        usd if usd < 100.0 => format!("${usd:.2}"),
        usd => format!("${usd:.0}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_span_is_short_and_changes_when_it_says() {
        for (seconds, shown) in [(0, "0s"), (59, "59s"), (61, "1m"), (3_661, "1h01m"), (200_000, "2d")] {
            assert_eq!(span(SignedDuration::from_secs(seconds)), shown);
            assert_eq!(span(SignedDuration::from_secs(-seconds)), shown);
        }
        for seconds in [-7_200, -3_600, -61, -60, -5, 0, 5, 59, 60, 119, 3_600] {
            let from = SignedDuration::from_secs(seconds);
            let change = changes_in(from);
            assert!(change.as_secs() >= 1);
            let almost = from + change - SignedDuration::from_secs(1);
            assert_eq!(span(from), span(almost), "{seconds}");
        }
        assert_eq!(
            [0.0, 0.004, 0.01, 1.234, 1234.5].map(dollars),
            ["-", "<$0.01", "$0.01", "$1.23", "$1234"].map(str::to_owned)
        );
        for (ms, shown) in [(0, "0ms"), (340, "340ms"), (1_900, "1.9s"), (59_940, "59.9s"), (59_960, "1m")] {
            assert_eq!(took(ms), shown);
        }
    }
}

//! m4: `syscmd(…)`.

use super::Effect;

/// The commands that m4 runs.
pub(super) fn effects(code: &str) -> Vec<Effect> {
    let calls = code.split("syscmd(").skip(1).filter_map(|rest| rest.split(')').next());
    calls.map(|text| Effect::Shell(text.trim_matches(['`', '\'']).to_owned())).collect()
}

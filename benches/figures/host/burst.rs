//! 20 MB at once, to a client that follows, over the same agent read by a plain loop; and with another client that
//! reads nothing.

use super::super::measure::{Size, interleave, milliseconds, ms};
use super::super::table::{Row, Table};
use super::live::{Live, Seen};

const ROUNDS: usize = 9;
/// Of about 1,200 bytes each.
const LINES: Size<u64> = Size { full: 17_000, tiny: 170 };

pub(super) fn run(table: &mut Table) -> anyhow::Result<()> {
    let live = Live::start(Some(&LINES.get().to_string()))?;
    let mut bare = live.bare()?;
    let client = std::cell::RefCell::new(live.client(Some(0))?);
    let (mut bytes, mut seen, mut beside) = (0, Seen::default(), Seen::default());
    client.borrow_mut().until_idle(0)?;
    let take = |all: &mut Seen| {
        milliseconds(|| {
            let turn = client.borrow_mut().turn()?;
            anyhow::ensure!(turn.said + turn.lost >= LINES.get(), "a turn of {turn:?}");
            all.events += turn.events;
            all.lost += turn.lost;
            Ok(())
        })
    };
    let [floor, alone, stalled] = interleave(
        ROUNDS,
        [
            &mut || {
                milliseconds(|| {
                    bytes = bare.turn()?;
                    Ok(())
                })
            },
            &mut || take(&mut seen),
            &mut || {
                let mut other = live.client(None)?;
                other.tell("attach", &serde_json::json!({}))?;
                let taken = take(&mut beside);
                drop(other);
                taken
            },
        ],
    )?;
    let rate = |time: f64| format!("{}, {:.0} MB/s", ms(time), bytes as f64 / time / 1e3);
    for (how, ours, seen) in [("", alone, seen), (", while another takes nothing", stalled, beside)] {
        let what = format!("host, {:.0} MB at once to a client{how}", bytes as f64 / 1e6);
        table.add(Row {
            what: format!("{what}: time, over a plain loop"),
            floor: rate(floor),
            ours: rate(ours),
            ratio: Some(ours / floor),
            ..Row::default()
        });
        table.add(Row {
            what: format!("{what}: events lost, of {}", seen.events + seen.lost),
            ours: seen.lost.to_string(),
            wanted: "0".to_owned(),
            met: Some(seen.lost == 0),
            ..Row::default()
        });
    }
    Ok(())
}

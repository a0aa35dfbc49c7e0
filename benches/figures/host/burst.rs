//! 20 MB at once, to a client that follows, over the same agent read by a plain loop; and with another client that
//! reads nothing.

use super::super::measure::{Size, Spread, interleave, milliseconds};
use super::super::table::{Row, Table, Target, Unit};
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
    for (how, ours, seen) in [("", alone, seen), (", while another reads nothing", stalled, beside)] {
        let figure = format!("host: {:.0} MB at once to a client{how}", bytes as f64 / 1e6);
        table.add(Row::time(format!("{figure}, over a plain loop"), ours).over(floor));
        let lost = Spread::of(vec![seen.lost as f64]);
        table.add(Row::new(format!("{figure}: lost events"), Unit::Count, lost).target(Target::AtMost(0.0)));
    }
    Ok(())
}

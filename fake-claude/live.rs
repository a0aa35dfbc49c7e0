//! A live agent: it keeps reading messages from stdin, answers each with a turn, and ends when stdin does.
//!
//! In come the instructions and what is to be played; out goes how the process ends. What is said here about
//! the real one was measured on 2.1.329 and stands in `docs/fixtures.md`.

mod control;
pub(crate) mod inbox;
pub(crate) mod message;

use std::io::{self, Write};

use murmur::replay::{End, Fixture};

use crate::echo::Echo;
use crate::faults;
use crate::instructions::{Instructions, Wrong};
use crate::player::{self, Player};
use crate::turns;
use inbox::{Halt, Inbox};

/// Answers until stdin ends, and says how to end.
pub(crate) fn run(instructions: &Instructions, fixture: &Fixture, replay: bool) -> Result<End, Wrong> {
    said(converse(instructions, fixture, replay))
}

/// Plays one turn that nobody interrupts, and says how it ended.
pub(crate) fn beat(instructions: &Instructions, fixture: &Fixture) -> Result<End, Wrong> {
    let played = Player::open(instructions)?.play(fixture, &mut Inbox::closed());
    drop(io::stderr().write_all(&fixture.stderr));
    said(played.map(|_| fixture.run.end))
}

fn said(ended: Result<End, Halt>) -> Result<End, Wrong> {
    match ended {
        Ok(end) => Ok(end),
        Err(Halt::Wrong(wrong)) => Err(wrong),
        Err(Halt::Refused(said)) => {
            crate::complain(&said);
            Ok(End::Code(1))
        }
    }
}

fn converse(instructions: &Instructions, fixture: &Fixture, replay: bool) -> Result<End, Halt> {
    let faults = &instructions.faults;
    // Literal text is one turn, whatever it is.
    let turns = if instructions.stdout.is_some() { vec![fixture.clone()] } else { turns::cut(fixture) };
    let mut echo = instructions.echo.then(Echo::default);
    let (mut player, mut inbox) = (Player::open(instructions)?, Inbox::open());
    let (mut played, mut end) = (0, End::Code(0));
    while let Some(message) = inbox.next()? {
        let mut turn = match &mut echo {
            Some(echo) => {
                echo.turn(&fixture.run.version, &message.text(), replay.then_some(&message.content))
            }
            None => turns[turns.len().min(played + 1) - 1].clone(),
        };
        if played == 0 {
            faults::before(faults, &mut turn);
        }
        played += 1;
        let whole = player.play(&turn, &mut inbox)?;
        if !whole {
            player::print(&control::interrupted())?;
        }
        // The real one fails when its last result was an error.
        end = if whole { turn.run.end } else { End::Code(1) };
        inbox.turn_is_over();
        if played == 1 {
            faults::after(faults);
            if faults.end().is_some() {
                break;
            }
        }
    }
    if played == 0 {
        faults::after(faults);
    }
    // Whoever does not listen is not told.
    drop(io::stderr().write_all(&fixture.stderr));
    Ok(instructions.end(end))
}

//! A live agent: it reads messages from stdin, answers each with a turn, and ends at the end of stdin.
//!
//! Input: the instructions and a fixture. Output: how the process ends. Statements about the real Claude Code were
//! measured on 2.1.329 and are documented in `fixtures/acted/README.md`.

mod control;
pub(crate) mod inbox;
pub(crate) mod message;

use std::io::{self, Write};

use fake_claude::replay::{End, Fixture};
use sys::error::Failure;

use crate::echo::Echo;
use crate::faults;
use crate::instructions::Instructions;
use crate::player::{self, Player};
use crate::turns;
use inbox::{Halt, Inbox};

/// Answers until stdin ends and returns how to end.
pub(crate) fn run(instructions: &Instructions, fixture: &Fixture, replay: bool) -> Result<End, Failure> {
    print_refusal(converse(instructions, fixture, replay))
}

/// Plays one turn without interruptions and returns how it ended.
pub(crate) fn beat(instructions: &Instructions, fixture: &Fixture) -> Result<End, Failure> {
    let played = Player::open(instructions)?.play(fixture, &mut Inbox::closed());
    drop(io::stderr().write_all(&fixture.stderr));
    print_refusal(played.map(|_| fixture.run.end))
}

fn print_refusal(ended: Result<End, Halt>) -> Result<End, Failure> {
    match ended {
        Ok(end) => Ok(end),
        Err(Halt::Failed(failure)) => Err(failure),
        Err(Halt::Refused(refusal)) => {
            crate::print_error(&refusal.to_string());
            Ok(End::Code(1))
        }
    }
}

fn converse(instructions: &Instructions, fixture: &Fixture, replay: bool) -> Result<End, Halt> {
    let faults = &instructions.faults;
    // Literal text is a single turn.
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
        // Claude Code fails if its last result was an error.
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
    // The reader may be gone.
    drop(io::stderr().write_all(&fixture.stderr));
    Ok(instructions.end(end))
}

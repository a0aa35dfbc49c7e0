//! `murmur permission`: what agents may do, looked at from outside. Nothing here decides on a call that waits.

mod check;
mod found;
mod rules;
mod spelled;

use super::args::{Permission, PermissionCommand};
use super::place::Place;
use std::process::ExitCode;

pub(super) fn run(args: &Permission, place: &Place) -> anyhow::Result<ExitCode> {
    match &args.command {
        PermissionCommand::Check(args) => check::run(args, place),
        PermissionCommand::Rules(args) => rules::run(args, place),
    }
}

//! Tests the guard against its corpora and against commands built from its tables. No command is ever run.

#[cfg(test)]
mod command;
#[cfg(test)]
mod guard;

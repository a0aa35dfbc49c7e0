//! Recording and replaying runs of an agent's command line.
//!
//! `fake-claude` and `fake-model` are the programs in this package. murmur uses the library to record fixtures
//! (`murmur record`) and to replay those of its demo.

pub mod native;
pub mod replay;

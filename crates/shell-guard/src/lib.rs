//! Reads shell commands and refuses those that would do catastrophic damage, however they are spelled.
//!
//! A command and its [`CallPlace`](call::CallPlace) go in, a [`Finding`](guard::Finding) comes out:
//!
//! ```
//! use shell_guard::call::CallPlace;
//! use shell_guard::guard::{Finding, inspect};
//!
//! let place = CallPlace {
//!     cwd: "/home/user/project".into(),
//!     workspace: "/home/user/project".into(),
//!     home: "/home/user".into(),
//!     own: Default::default(),
//! };
//! assert_eq!(inspect("git status", &place), Finding::Clear);
//! assert!(matches!(inspect("bash -c 'sudo rm -rf /'", &place), Finding::Refused { .. }));
//! assert!(matches!(inspect("$(cat script)", &place), Finding::Doubt { .. }));
//! ```
//!
//! The crate is pure: it reads no files, runs nothing and doesn't depend on time. To follow symbolic links, pass a link
//! reader to [`guard::inspect_call_with_links`]. It is not a sandbox: it checks the command line, not what a program
//! does.
//!
//! # Modules
//!
//! Each module only depends on the ones above it.
//!
//! - [`call`]: a tool call and the place it would run in
//! - [`mod@line`]: the commands of a command line, as permission rules see them
//! - [`links`]: symbolic links on disk
//! - [`shell`]: what a command line would run: expansions, wrappers such as `env` and `xargs`, code for interpreters
//! - [`guard`]: what is refused: the table of dangers, and the files that control what runs next
//!
//! `corpus/` contains thousands of dangerous and harmless commands that the tests run through the guard.

mod agents;
pub mod call;
pub mod guard;
pub mod line;
pub mod links;
mod name_index;
pub mod shell;

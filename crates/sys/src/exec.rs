//! `execve` for programs that are linked with musl: it starts a script without `#!` with `/bin/sh`, as a shell does,
//! and as the `execvp` of other C libraries does. musl's `execvp` and `posix_spawn` call it.

#![cfg(any(test, target_env = "musl"))]
#![expect(unsafe_code, reason = "it replaces one of C's functions")]

use libc::{c_char, c_int};
use std::ptr;

/// Starts the program at `path` instead of this one. Returns -1 with the reason in `errno`.
///
/// It must not allocate: it runs in a child that may share this process's memory or a lock in it.
///
/// # Safety
/// As for C's function: `path` is a string, and the others are arrays of strings that end with a null pointer.
#[cfg_attr(target_env = "musl", unsafe(no_mangle))]
unsafe extern "C" fn execve(
    path: *const c_char,
    args: *const *const c_char,
    env: *const *const c_char,
) -> c_int {
    // SAFETY: the caller's promise.
    unsafe {
        libc::syscall(libc::SYS_execve, path, args, env);
        if *libc::__errno_location() == libc::ENOEXEC {
            with_shell(path, args, env);
            *libc::__errno_location() = libc::ENOEXEC;
        }
    }
    -1
}

/// Starts `/bin/sh` with the script at `path`, and with its arguments. Returns if that is impossible.
unsafe fn with_shell(path: *const c_char, args: *const *const c_char, env: *const *const c_char) {
    // SAFETY: the caller's promise. The new list has room for the shell, the path, each argument but the first, and the
    // null pointer at its end, which fresh memory has already.
    unsafe {
        let mut count = 1;
        while !args.add(count - 1).read().is_null() && !args.add(count).read().is_null() {
            count += 1;
        }
        let size = (count + 2) * size_of::<*const c_char>();
        let (access, kind) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
        let memory = libc::mmap(ptr::null_mut(), size, access, kind, -1, 0);
        if memory == libc::MAP_FAILED {
            return;
        }
        let list: *mut *const c_char = memory.cast();
        list.write(c"/bin/sh".as_ptr());
        list.add(1).write(path);
        ptr::copy_nonoverlapping(args.add(1), list.add(2), count - 1);
        libc::syscall(libc::SYS_execve, list.read(), list, env);
        libc::munmap(memory, size);
    }
}

#[cfg(test)]
mod tests {
    use super::execve;
    use crate::test_processes::start;
    use std::ffi::{CStr, CString};
    use std::fs;
    use std::io;
    use std::os::unix::fs::PermissionsExt as _;
    use std::os::unix::process::CommandExt as _;
    use std::process::{Command, Stdio};
    use std::ptr;

    /// What the file at `path` prints when [`execve`] starts it, or why it can't.
    fn printed(path: &CStr, args: &[&CStr]) -> io::Result<String> {
        let path = path.to_owned();
        let args = Vec::from_iter(args.iter().map(|arg| (*arg).to_owned()));
        // Made before the child, which must not allocate.
        let list = Vec::from_iter(args.iter().map(|arg| arg.as_ptr().expose_provenance()).chain([0]));
        let mut command = Command::new("/bin/false");
        // SAFETY: the list has the addresses of strings that live as long as the command.
        unsafe {
            command.pre_exec(move || {
                execve(path.as_ptr(), list.as_ptr().cast(), [c"A=1".as_ptr(), ptr::null()].as_ptr());
                Err(io::Error::last_os_error())
            });
        }
        let child = start(command.stdout(Stdio::piped()))?;
        Ok(String::from_utf8(child.wait_with_output()?.stdout).unwrap())
    }

    #[test]
    fn a_script_without_a_first_line_runs_in_a_shell() {
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str, text: &str| {
            let path = folder.path().join(name);
            fs::write(&path, text).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o700)).unwrap();
            CString::new(path.into_os_string().into_encoded_bytes()).unwrap()
        };
        let script = file("script", "echo \"$# <$1> <$2> $A\"; case $0 in */script) echo named;; esac\n");
        assert_eq!(
            printed(&script, &[c"script", c"one", c"two words"]).unwrap(),
            "2 <one> <two words> 1\nnamed\n"
        );
        assert_eq!(printed(&script, &[c"script"]).unwrap(), "0 <> <> 1\nnamed\n");
        assert_eq!(printed(&script, &[]).unwrap(), "0 <> <> 1\nnamed\n");
        let named = file("named", "#!/bin/sh\necho $1\n");
        assert_eq!(printed(&named, &[c"named", c"one"]).unwrap(), "one\n");
        let missing = printed(c"/nowhere/script", &[c"script"]).unwrap_err();
        assert_eq!(missing.kind(), io::ErrorKind::NotFound);
    }
}

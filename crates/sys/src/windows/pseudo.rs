//! A pseudoconsole and the process in it.

use super::spawn::{CommandLine, NotStarted};
use super::terminal::Size;
use super::words::{self, wide};
use std::ffi::{CStr, c_void};
use std::io;
use std::os::windows::io::{AsHandle, AsRawHandle, BorrowedHandle, FromRawHandle, OwnedHandle};
use std::sync::{Mutex, PoisonError};
use windows_sys::Win32::Foundation::{FARPROC, HANDLE};
use windows_sys::Win32::System::Console::{COORD, HPCON, PSEUDOCONSOLE_INHERIT_CURSOR};
use windows_sys::Win32::System::LibraryLoader::{GetModuleHandleW, GetProcAddress};
use windows_sys::Win32::System::Threading::{
    CreateProcessW, DeleteProcThreadAttributeList, EXTENDED_STARTUPINFO_PRESENT, GetExitCodeProcess,
    InitializeProcThreadAttributeList, PROC_THREAD_ATTRIBUTE_PSEUDOCONSOLE, PROCESS_INFORMATION,
    STARTUPINFOEXW, TerminateProcess, UpdateProcThreadAttribute,
};
use windows_sys::core::HRESULT;

type Create = unsafe extern "system" fn(COORD, HANDLE, HANDLE, u32, *mut HPCON) -> HRESULT;
type Resize = unsafe extern "system" fn(HPCON, COORD) -> HRESULT;
type Close = unsafe extern "system" fn(HPCON);

/// The functions of systems with pseudoconsoles (Windows 10 1809 and later).
#[derive(Debug, Clone, Copy)]
struct Calls {
    create: Create,
    resize: Resize,
    close: Close,
}

impl Calls {
    fn find() -> io::Result<Self> {
        let missing = || io::Error::from(io::ErrorKind::Unsupported);
        let find = |name: &CStr| -> FARPROC {
            // SAFETY: both names end with a NUL, and kernel32 is never unloaded.
            #[expect(unsafe_code, reason = "looked up at run time, because older systems lack them")]
            unsafe {
                GetProcAddress(GetModuleHandleW(wide("kernel32.dll".as_ref()).as_ptr()), name.as_ptr().cast())
            }
        };
        let create = find(c"CreatePseudoConsole").ok_or_else(missing)?;
        let resize = find(c"ResizePseudoConsole").ok_or_else(missing)?;
        let close = find(c"ClosePseudoConsole").ok_or_else(missing)?;
        // SAFETY: these are the documented types of the functions.
        #[expect(unsafe_code, reason = "a looked-up function has no type")]
        unsafe {
            Ok(Self {
                create: std::mem::transmute::<unsafe extern "system" fn() -> isize, Create>(create),
                resize: std::mem::transmute::<unsafe extern "system" fn() -> isize, Resize>(resize),
                close: std::mem::transmute::<unsafe extern "system" fn() -> isize, Close>(close),
            })
        }
    }
}

/// A pseudoconsole. Closed on drop, which ends the processes in it.
#[derive(Debug)]
pub struct Pseudo {
    calls: Calls,
    /// `None` once closed.
    console: Mutex<Option<HPCON>>,
}

impl Pseudo {
    /// Creates a pseudoconsole of `size` that reads input from `input` and writes terminal output to `output`.
    /// With `inherits_cursor` it first queries the cursor position and waits for the answer; otherwise it clears
    /// the screen.
    pub fn new(
        size: Size,
        input: BorrowedHandle<'_>,
        output: BorrowedHandle<'_>,
        inherits_cursor: bool,
    ) -> io::Result<Self> {
        let calls = Calls::find()?;
        let mut console: HPCON = 0;
        // SAFETY: the handles are borrowed for the call, which duplicates them; `console` is valid for writes.
        #[expect(unsafe_code, reason = "Win32 call")]
        let result = unsafe {
            (calls.create)(
                coordinates(size),
                input.as_raw_handle(),
                output.as_raw_handle(),
                if inherits_cursor { PSEUDOCONSOLE_INHERIT_CURSOR } else { 0 },
                &raw mut console,
            )
        };
        succeed(result)?;
        Ok(Self { calls, console: Mutex::new(Some(console)) })
    }

    fn console(&self) -> std::sync::MutexGuard<'_, Option<HPCON>> {
        self.console.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Resizes it, which notifies the processes in it.
    pub fn resize(&self, size: Size) {
        if let Some(console) = *self.console() {
            // SAFETY: the console is open while the lock is held.
            #[expect(unsafe_code, reason = "Win32 call")]
            let _gone = unsafe { (self.calls.resize)(console, coordinates(size)) };
        }
    }

    /// Closes it. Its processes are notified, and the output ends after everything has been read. Older systems
    /// block until then, so another thread has to read.
    pub fn close(&self) {
        let console = self.console().take();
        if let Some(console) = console {
            // SAFETY: it was open, and nothing uses it anymore.
            #[expect(unsafe_code, reason = "Win32 call")]
            unsafe {
                (self.calls.close)(console);
            }
        }
    }

    /// Starts `command` in it. Our own standard streams must be a console; otherwise the command would inherit
    /// them.
    pub fn start(&self, command: &CommandLine) -> Result<Process, NotStarted> {
        let console =
            (*self.console()).ok_or_else(|| NotStarted::Trouble(io::ErrorKind::BrokenPipe.into()))?;
        let program = words::program(&command.file()?, command.arguments()).map_err(NotStarted::Command)?;
        let (file, mut line) = program;
        let mut attributes = Attributes::new(console).map_err(NotStarted::Trouble)?;
        let mut start = STARTUPINFOEXW { lpAttributeList: attributes.pointer(), ..Default::default() };
        start.StartupInfo.cb = size_of::<STARTUPINFOEXW>() as u32;
        let mut started = PROCESS_INFORMATION::default();
        // SAFETY: both strings end with a NUL, the command line is writable, and everything outlives the call. The
        // two returned handles are owned only by us.
        #[expect(unsafe_code, reason = "std cannot start a process in a pseudoconsole")]
        unsafe {
            let done = CreateProcessW(
                file.as_ptr(),
                line.as_mut_ptr(),
                std::ptr::null(),
                std::ptr::null(),
                0,
                EXTENDED_STARTUPINFO_PRESENT,
                std::ptr::null(),
                std::ptr::null(),
                &raw const start.StartupInfo,
                &raw mut started,
            );
            if done == 0 {
                return Err(NotStarted::Command(io::Error::last_os_error()));
            }
            drop(OwnedHandle::from_raw_handle(started.hThread));
            Ok(Process { handle: OwnedHandle::from_raw_handle(started.hProcess), pid: started.dwProcessId })
        }
    }
}

impl Drop for Pseudo {
    fn drop(&mut self) {
        self.close();
    }
}

/// The attribute list that assigns a process to a pseudoconsole.
struct Attributes(Vec<usize>);

impl Attributes {
    fn new(console: HPCON) -> io::Result<Self> {
        let mut bytes = 0;
        // SAFETY: without a list, the call returns its size. Then the list has that size and a pointer's
        // alignment; the console is passed by value, as documented.
        #[expect(unsafe_code, reason = "the list is opaque")]
        unsafe {
            InitializeProcThreadAttributeList(std::ptr::null_mut(), 1, 0, &raw mut bytes);
            let mut list = vec![0_usize; bytes.div_ceil(size_of::<usize>())];
            if InitializeProcThreadAttributeList(list.as_mut_ptr().cast(), 1, 0, &raw mut bytes) == 0 {
                return Err(io::Error::last_os_error());
            }
            // From here on the list must be deleted on drop.
            let mut list = Self(list);
            let kind = PROC_THREAD_ATTRIBUTE_PSEUDOCONSOLE as usize;
            let (value, size) = (console as *const c_void, size_of::<HPCON>());
            let (none, nothing) = (std::ptr::null_mut(), std::ptr::null());
            if UpdateProcThreadAttribute(list.pointer(), 0, kind, value, size, none, nothing) == 0 {
                return Err(io::Error::last_os_error());
            }
            Ok(list)
        }
    }

    fn pointer(&mut self) -> *mut c_void {
        self.0.as_mut_ptr().cast()
    }
}

impl Drop for Attributes {
    fn drop(&mut self) {
        // SAFETY: the list is initialized and not used afterward.
        #[expect(unsafe_code, reason = "the list is opaque")]
        unsafe {
            DeleteProcThreadAttributeList(self.pointer());
        }
    }
}

/// A started process. Its handle is signaled when it ends.
#[derive(Debug)]
pub struct Process {
    handle: OwnedHandle,
    pid: u32,
}

impl Process {
    /// Its PID.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// Returns the exit code of the process, which must have ended.
    pub fn code(&self) -> io::Result<i32> {
        let mut code = 0;
        // SAFETY: we own the handle, and `code` is valid for writes.
        #[expect(unsafe_code, reason = "Win32 call")]
        let done = unsafe { GetExitCodeProcess(self.handle.as_raw_handle(), &raw mut code) };
        if done == 0 { Err(io::Error::last_os_error()) } else { Ok(code.cast_signed()) }
    }

    /// Terminates it with the exit code `code`.
    pub fn end(&self, code: i32) {
        // SAFETY: we own the handle.
        #[expect(unsafe_code, reason = "Win32 call")]
        unsafe {
            TerminateProcess(self.handle.as_raw_handle(), code.cast_unsigned());
        }
    }
}

impl AsHandle for Process {
    fn as_handle(&self) -> BorrowedHandle<'_> {
        self.handle.as_handle()
    }
}

fn coordinates(size: Size) -> COORD {
    COORD { X: size.columns, Y: size.rows }
}

fn succeed(result: HRESULT) -> io::Result<()> {
    if result >= 0 { Ok(()) } else { Err(io::Error::from_raw_os_error(result & 0xffff)) }
}

//! A pseudo console, and a process in it.

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

/// What a system has that has pseudo consoles (Windows 10 1809 and later).
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
            // SAFETY: both names end in zero, and kernel32 is never unloaded.
            #[expect(unsafe_code, reason = "an older system has no such calls, and must run us all the same")]
            unsafe {
                GetProcAddress(GetModuleHandleW(wide("kernel32.dll".as_ref()).as_ptr()), name.as_ptr().cast())
            }
        };
        let create = find(c"CreatePseudoConsole").ok_or_else(missing)?;
        let resize = find(c"ResizePseudoConsole").ok_or_else(missing)?;
        let close = find(c"ClosePseudoConsole").ok_or_else(missing)?;
        // SAFETY: these are the calls' types as the system documents them.
        #[expect(unsafe_code, reason = "a call that was looked up has no type")]
        unsafe {
            Ok(Self {
                create: std::mem::transmute::<unsafe extern "system" fn() -> isize, Create>(create),
                resize: std::mem::transmute::<unsafe extern "system" fn() -> isize, Resize>(resize),
                close: std::mem::transmute::<unsafe extern "system" fn() -> isize, Close>(close),
            })
        }
    }
}

/// A pseudo console. It is closed when this drops, which ends what is left in it.
#[derive(Debug)]
pub struct Pseudo {
    calls: Calls,
    /// `None` when it is closed.
    console: Mutex<Option<HPCON>>,
}

impl Pseudo {
    /// Makes one of `size` that reads keys from `input` and writes what a terminal is to show to `output`. With
    /// `inherits_cursor` it asks at first where the cursor is, and waits for the answer; else it clears the screen.
    ///
    /// # Errors
    /// What the system says, also that it has no pseudo consoles.
    pub fn new(
        size: Size,
        input: BorrowedHandle<'_>,
        output: BorrowedHandle<'_>,
        inherits_cursor: bool,
    ) -> io::Result<Self> {
        let calls = Calls::find()?;
        let mut console: HPCON = 0;
        // SAFETY: the handles are borrowed for the call, which duplicates them; `console` is valid for writes.
        #[expect(unsafe_code, reason = "a pseudo console is a handle")]
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

    /// Makes it as large as `size`, of which the processes in it are told.
    pub fn resize(&self, size: Size) {
        if let Some(console) = *self.console() {
            // SAFETY: the console is open for as long as it is locked.
            #[expect(unsafe_code, reason = "a pseudo console is a handle")]
            let _gone = unsafe { (self.calls.resize)(console, coordinates(size)) };
        }
    }

    /// Closes it: processes in it are told that their console is closed, and when all that was written has been read,
    /// the output ends. Older systems return only then, so somebody else has to read meanwhile.
    pub fn close(&self) {
        let console = self.console().take();
        if let Some(console) = console {
            // SAFETY: it was open, and is nobody's any more.
            #[expect(unsafe_code, reason = "a pseudo console is a handle")]
            unsafe {
                (self.calls.close)(console);
            }
        }
    }

    /// Starts `command` in it. Our own streams must be a console: what is none, the command would get in place of its
    /// console's.
    ///
    /// # Errors
    /// [`NotStarted`].
    pub fn start(&self, command: &CommandLine) -> Result<Process, NotStarted> {
        let console =
            (*self.console()).ok_or_else(|| NotStarted::Trouble(io::ErrorKind::BrokenPipe.into()))?;
        let program = words::program(&command.file()?, command.arguments()).map_err(NotStarted::Command)?;
        let (file, mut line) = program;
        let mut attributes = Attributes::new(console).map_err(NotStarted::Trouble)?;
        let mut start = STARTUPINFOEXW { lpAttributeList: attributes.pointer(), ..Default::default() };
        start.StartupInfo.cb = size_of::<STARTUPINFOEXW>() as u32;
        let mut started = PROCESS_INFORMATION::default();
        // SAFETY: both texts end in zero, the line may be written to, and everything outlives the call. The two
        // handles are ours alone, and their owners close them.
        #[expect(unsafe_code, reason = "std starts no process in a pseudo console")]
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

/// What says in which console a process is to be.
struct Attributes(Vec<usize>);

impl Attributes {
    fn new(console: HPCON) -> io::Result<Self> {
        let mut bytes = 0;
        // SAFETY: without a list, the call says how many bytes one has. Then the list is as long and aligned as any
        // pointer; the console is passed by value, as is documented.
        #[expect(unsafe_code, reason = "the list is the system's")]
        unsafe {
            InitializeProcThreadAttributeList(std::ptr::null_mut(), 1, 0, &raw mut bytes);
            let mut list = vec![0_usize; bytes.div_ceil(size_of::<usize>())];
            if InitializeProcThreadAttributeList(list.as_mut_ptr().cast(), 1, 0, &raw mut bytes) == 0 {
                return Err(io::Error::last_os_error());
            }
            // From here on it has to be taken down.
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
        // SAFETY: the list was made, and is used no more.
        #[expect(unsafe_code, reason = "the list is the system's")]
        unsafe {
            DeleteProcThreadAttributeList(self.pointer());
        }
    }
}

/// A process that was started here. It happens, as an event does, when it ends.
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

    /// The code that it ended with; it must have.
    ///
    /// # Errors
    /// What the system says.
    pub fn code(&self) -> io::Result<i32> {
        let mut code = 0;
        // SAFETY: the handle is ours, and `code` is valid for writes.
        #[expect(unsafe_code, reason = "the system is asked by pointer")]
        let done = unsafe { GetExitCodeProcess(self.handle.as_raw_handle(), &raw mut code) };
        if done == 0 { Err(io::Error::last_os_error()) } else { Ok(code.cast_signed()) }
    }

    /// Ends it with `code`.
    pub fn end(&self, code: i32) {
        // SAFETY: the handle is ours.
        #[expect(unsafe_code, reason = "a process is a handle")]
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

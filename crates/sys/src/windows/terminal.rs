//! Our console: its settings, its size and its input.

use std::io;
use std::os::windows::io::{AsHandle, AsRawHandle, BorrowedHandle};
use windows_sys::Win32::Foundation::HANDLE;
use windows_sys::Win32::Globalization::CP_UTF8;
use windows_sys::Win32::System::Console::{
    CONSOLE_SCREEN_BUFFER_INFO, DISABLE_NEWLINE_AUTO_RETURN, ENABLE_PROCESSED_OUTPUT,
    ENABLE_VIRTUAL_TERMINAL_INPUT, ENABLE_VIRTUAL_TERMINAL_PROCESSING, ENABLE_WINDOW_INPUT, GetConsoleMode,
    GetConsoleOutputCP, GetConsoleScreenBufferInfo, GetNumberOfConsoleInputEvents, INPUT_RECORD, KEY_EVENT,
    ReadConsoleInputW, SetConsoleMode, SetConsoleOutputCP,
};
use windows_sys::Win32::UI::Input::KeyboardAndMouse::VK_MENU;

/// Whether `stream` is a console, according to the system and not to the file type.
pub fn is_terminal(stream: impl AsHandle) -> bool {
    mode(stream.as_handle()).is_ok()
}

fn mode(console: BorrowedHandle<'_>) -> io::Result<u32> {
    let mut mode = 0;
    // SAFETY: the handle is borrowed, and `mode` is valid for writes.
    #[expect(unsafe_code, reason = "Win32 call")]
    let done = unsafe { GetConsoleMode(console.as_raw_handle(), &raw mut mode) };
    if done == 0 { Err(io::Error::last_os_error()) } else { Ok(mode) }
}

fn set_mode(console: BorrowedHandle<'_>, mode: u32) -> io::Result<()> {
    // SAFETY: the handle is borrowed, and no pointer is passed.
    #[expect(unsafe_code, reason = "Win32 call")]
    let done = unsafe { SetConsoleMode(console.as_raw_handle(), mode) };
    if done == 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

fn set_output_code_page(page: u32) {
    // SAFETY: takes an integer.
    #[expect(unsafe_code, reason = "Win32 call")]
    unsafe {
        SetConsoleOutputCP(page);
    }
}

/// Our console in raw mode. The original settings are restored on drop.
#[derive(Debug)]
pub struct OuterTerminal {
    input: u32,
    output: u32,
    code_page: u32,
}

impl OuterTerminal {
    /// Switches to raw mode.
    ///
    /// # Errors
    /// Fails, without changes, if there is no console or it doesn't support escape sequences.
    pub fn enter() -> io::Result<Self> {
        let (stdin, stdout) = (io::stdin(), io::stdout());
        // SAFETY: takes no arguments.
        #[expect(unsafe_code, reason = "Win32 call")]
        let code_page = unsafe { GetConsoleOutputCP() };
        let (input, output) = (mode(stdin.as_handle())?, mode(stdout.as_handle())?);
        let outer = Self { input, output, code_page };
        let escapes = ENABLE_PROCESSED_OUTPUT | ENABLE_VIRTUAL_TERMINAL_PROCESSING;
        // The pseudoconsole already writes carriage returns.
        set_mode(stdout.as_handle(), output | escapes | DISABLE_NEWLINE_AUTO_RETURN)
            .or_else(|_| set_mode(stdout.as_handle(), output | escapes))?;
        set_mode(stdin.as_handle(), ENABLE_VIRTUAL_TERMINAL_INPUT | ENABLE_WINDOW_INPUT)?;
        set_output_code_page(CP_UTF8);
        Ok(outer)
    }
}

impl Drop for OuterTerminal {
    fn drop(&mut self) {
        let _gone = set_mode(io::stdin().as_handle(), self.input);
        let _gone = set_mode(io::stdout().as_handle(), self.output);
        set_output_code_page(self.code_page);
    }
}

/// A size in characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Size {
    /// Width.
    pub columns: i16,
    /// Height.
    pub rows: i16,
}

/// The size of our console's window.
pub fn size() -> io::Result<Size> {
    let mut info = CONSOLE_SCREEN_BUFFER_INFO::default();
    // SAFETY: the handle is borrowed, and `info` is valid for writes.
    #[expect(unsafe_code, reason = "Win32 call")]
    let done = unsafe { GetConsoleScreenBufferInfo(io::stdout().as_raw_handle(), &raw mut info) };
    if done == 0 {
        return Err(io::Error::last_os_error());
    }
    let window = info.srWindow;
    let (columns, rows) = (window.Right - window.Left + 1, window.Bottom - window.Top + 1);
    Ok(Size { columns: columns.max(1), rows: rows.max(1) })
}

/// Reads input as the bytes that a terminal would send.
#[derive(Debug, Default)]
pub struct Keys {
    /// The first half of a surrogate pair.
    half: Option<u16>,
}

impl Keys {
    /// Returns all pending input; empty if there are no key events. Never blocks.
    pub fn read(&mut self) -> io::Result<Vec<u8>> {
        let mut records = [INPUT_RECORD::default(); 128];
        let stdin: HANDLE = io::stdin().as_raw_handle();
        let (mut there, mut read) = (0, 0);
        // SAFETY: every pointer is to a local that is valid for writes, and the number of records is given
        // correctly.
        #[expect(unsafe_code, reason = "std reads lines of text, not keys")]
        let done = unsafe {
            GetNumberOfConsoleInputEvents(stdin, &raw mut there) != 0
                && (there == 0
                    || ReadConsoleInputW(stdin, records.as_mut_ptr(), records.len() as u32, &raw mut read)
                        != 0)
        };
        if !done {
            return Err(io::Error::last_os_error());
        }
        let mut units = Vec::new();
        for record in &records[..read as usize] {
            if u32::from(record.EventType) != KEY_EVENT {
                continue;
            }
            // SAFETY: the event type says that it is a key event, whose union members are all integers.
            #[expect(unsafe_code, reason = "a C union")]
            let (key, unit) = unsafe {
                let key = record.Event.KeyEvent;
                (key, key.uChar.UnicodeChar)
            };
            // A character entered as Alt plus digits arrives when Alt is released.
            let is_typed = key.bKeyDown != 0 || key.wVirtualKeyCode == VK_MENU;
            if is_typed && (unit != 0 || is_null_character(key.wVirtualKeyCode)) {
                units.extend(std::iter::repeat_n(unit, usize::from(key.wRepeatCount.max(1))));
            }
        }
        Ok(self.text(&units))
    }

    /// Converts to UTF-8, keeping half a surrogate pair for the next call.
    fn text(&mut self, units: &[u16]) -> Vec<u8> {
        let mut whole: Vec<u16> = self.half.take().into_iter().chain(units.iter().copied()).collect();
        if let Some(last) = whole.pop_if(|last| (0xd800..0xdc00).contains(last)) {
            self.half = Some(last);
        }
        String::from_utf16_lossy(&whole).into_bytes()
    }
}

/// Whether a key event without a character stands for NUL: it belongs to an escape sequence and has no key code.
/// Ctrl-Space is sent this way.
fn is_null_character(key: u16) -> bool {
    key == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_surrogate_pair_becomes_one_character() {
        let mut keys = Keys::default();
        assert_eq!(keys.text(&[0x61, 0xd83d]), b"a");
        assert_eq!(keys.text(&[0xde00]), "😀".as_bytes());
    }

    #[test]
    fn a_pipe_is_not_a_console() {
        let (reader, writer) = io::pipe().unwrap();
        assert!(!is_terminal(&reader) && !is_terminal(&writer));
    }
}

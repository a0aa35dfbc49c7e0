//! The console that we are in: what it was like, how large it is, and what is typed.

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

/// Whether `stream` is a console, as the system answers and not by what kind of file it is.
pub fn is_terminal(stream: impl AsHandle) -> bool {
    mode(stream.as_handle()).is_ok()
}

fn mode(console: BorrowedHandle<'_>) -> io::Result<u32> {
    let mut mode = 0;
    // SAFETY: the handle is borrowed, and `mode` is valid for writes.
    #[expect(unsafe_code, reason = "the system is asked by pointer")]
    let done = unsafe { GetConsoleMode(console.as_raw_handle(), &raw mut mode) };
    if done == 0 { Err(io::Error::last_os_error()) } else { Ok(mode) }
}

fn set_mode(console: BorrowedHandle<'_>, mode: u32) -> io::Result<()> {
    // SAFETY: the handle is borrowed, and no pointer is passed.
    #[expect(unsafe_code, reason = "consoles are handles")]
    let done = unsafe { SetConsoleMode(console.as_raw_handle(), mode) };
    if done == 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

fn set_output_code_page(page: u32) {
    // SAFETY: takes a number.
    #[expect(unsafe_code, reason = "the console is asked")]
    unsafe {
        SetConsoleOutputCP(page);
    }
}

/// The console that we are in, which passes every byte and key as it is for as long as this lives, and is then what it
/// was before.
#[derive(Debug)]
pub struct Outer {
    input: u32,
    output: u32,
    code_page: u32,
}

impl Outer {
    /// Makes it so.
    ///
    /// # Errors
    /// That there is none, or that it does not know escape sequences; then it is as it was.
    pub fn enter() -> io::Result<Self> {
        let (stdin, stdout) = (io::stdin(), io::stdout());
        // SAFETY: takes nothing.
        #[expect(unsafe_code, reason = "the console is asked")]
        let code_page = unsafe { GetConsoleOutputCP() };
        let (input, output) = (mode(stdin.as_handle())?, mode(stdout.as_handle())?);
        let outer = Self { input, output, code_page };
        let escapes = ENABLE_PROCESSED_OUTPUT | ENABLE_VIRTUAL_TERMINAL_PROCESSING;
        // Whether a line break returns as well is the pseudo console's affair, which writes both.
        set_mode(stdout.as_handle(), output | escapes | DISABLE_NEWLINE_AUTO_RETURN)
            .or_else(|_| set_mode(stdout.as_handle(), output | escapes))?;
        set_mode(stdin.as_handle(), ENABLE_VIRTUAL_TERMINAL_INPUT | ENABLE_WINDOW_INPUT)?;
        set_output_code_page(CP_UTF8);
        Ok(outer)
    }
}

impl Drop for Outer {
    fn drop(&mut self) {
        let _gone = set_mode(io::stdin().as_handle(), self.input);
        let _gone = set_mode(io::stdout().as_handle(), self.output);
        set_output_code_page(self.code_page);
    }
}

/// A size in characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Size {
    /// How wide.
    pub columns: i16,
    /// How high.
    pub rows: i16,
}

/// How large our console's window is.
///
/// # Errors
/// What the system says.
pub fn size() -> io::Result<Size> {
    let mut info = CONSOLE_SCREEN_BUFFER_INFO::default();
    // SAFETY: the handle is borrowed, and `info` is valid for writes.
    #[expect(unsafe_code, reason = "the system is asked by pointer")]
    let done = unsafe { GetConsoleScreenBufferInfo(io::stdout().as_raw_handle(), &raw mut info) };
    if done == 0 {
        return Err(io::Error::last_os_error());
    }
    let window = info.srWindow;
    let (columns, rows) = (window.Right - window.Left + 1, window.Bottom - window.Top + 1);
    Ok(Size { columns: columns.max(1), rows: rows.max(1) })
}

/// What is typed, as the bytes that a terminal would send.
#[derive(Debug, Default)]
pub struct Keys {
    /// The first half of a character that comes in two.
    half: Option<u16>,
}

impl Keys {
    /// Takes all that is there; empty if none of it were keys. Never waits.
    ///
    /// # Errors
    /// What the system says.
    pub fn read(&mut self) -> io::Result<Vec<u8>> {
        let mut records = [INPUT_RECORD::default(); 128];
        let stdin: HANDLE = io::stdin().as_raw_handle();
        let (mut there, mut read) = (0, 0);
        // SAFETY: every pointer is to a local that is valid for writes, and there are as many records as is said.
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
            // SAFETY: the type says that it is a key, of which each reading is a number.
            #[expect(unsafe_code, reason = "a C union")]
            let (key, unit) = unsafe {
                let key = record.Event.KeyEvent;
                (key, key.uChar.UnicodeChar)
            };
            // A character typed by its number comes when Alt is let go of.
            let is_typed = key.bKeyDown != 0 || key.wVirtualKeyCode == VK_MENU;
            if is_typed && (unit != 0 || is_null_character(key.wVirtualKeyCode)) {
                units.extend(std::iter::repeat_n(unit, usize::from(key.wRepeatCount.max(1))));
            }
        }
        Ok(self.text(&units))
    }

    /// UTF-8, with what is half a character kept for the next time.
    fn text(&mut self, units: &[u16]) -> Vec<u8> {
        let mut whole: Vec<u16> = self.half.take().into_iter().chain(units.iter().copied()).collect();
        if let Some(last) = whole.pop_if(|last| (0xd800..0xdc00).contains(last)) {
            self.half = Some(last);
        }
        String::from_utf16_lossy(&whole).into_bytes()
    }
}

/// Whether a key that brings no character stands for the character 0: one that an escape sequence is made of, which
/// has no key of its own. Ctrl-Space is sent so.
fn is_null_character(key: u16) -> bool {
    key == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_character_in_two_halves_is_one() {
        let mut keys = Keys::default();
        assert_eq!(keys.text(&[0x61, 0xd83d]), b"a");
        assert_eq!(keys.text(&[0xde00]), "😀".as_bytes());
    }

    #[test]
    fn a_pipe_is_no_console() {
        let (reader, writer) = io::pipe().unwrap();
        assert!(!is_terminal(&reader) && !is_terminal(&writer));
    }
}

//! The lab as a WebAssembly module. Requests and replies are those of [`wifair_lab::Lab::ask`].
//!
//! The page writes a request into memory that `lab_alloc` gave, calls `lab_ask`, and reads the reply where that says:
//! four bytes with its length, lowest first, and the reply behind them, padded in front so that the reply begins at a
//! multiple of eight. `lab_free` gives both back.

use std::cell::RefCell;

use wifair_lab::Lab;

thread_local! {
    static LAB: RefCell<Lab> = RefCell::default();
}

/// Bytes before a reply: its length, and padding.
const HEAD: usize = 8;

/// Memory for `size` bytes, at a multiple of eight.
#[unsafe(no_mangle)]
pub extern "C" fn lab_alloc(size: usize) -> *mut u8 {
    let words = vec![0_u64; size.div_ceil(8)].into_boxed_slice();
    Box::into_raw(words).cast()
}

/// Gives back `size` bytes that [`lab_alloc`] gave.
///
/// # Safety
/// `at` came from [`lab_alloc`] with the same size, and is given back once.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lab_free(at: *mut u8, size: usize) {
    // SAFETY: `lab_alloc` made a slice of so many words there, and nobody else holds it.
    drop(unsafe { Box::from_raw(std::ptr::slice_from_raw_parts_mut(at.cast::<u64>(), size.div_ceil(8))) });
}

/// Answers the request of `size` bytes at `at`. The reply is given back by `lab_free(reply, 8 + its length)`.
///
/// # Safety
/// There are `size` bytes at `at`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lab_ask(at: *const u8, size: usize) -> *mut u8 {
    // SAFETY: the caller says so.
    let request = unsafe { std::slice::from_raw_parts(at, size) };
    let reply = LAB.with_borrow_mut(|lab| lab.ask(request));
    let start = lab_alloc(HEAD + reply.len());
    let length = u32::try_from(reply.len()).expect("a reply fits into the memory of a page");
    // SAFETY: `start` has room for head and reply, and nobody else knows of it.
    unsafe {
        std::ptr::copy_nonoverlapping(length.to_le_bytes().as_ptr(), start, 4);
        std::ptr::copy_nonoverlapping(reply.as_ptr(), start.add(HEAD), reply.len());
    }
    start
}

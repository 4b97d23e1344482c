//! The lab as a WebAssembly module. Requests and replies are those of [`wifair_lab::Lab::ask`].
//!
//! The page writes a request into memory from `lab_alloc`, calls `lab_ask`, and reads the reply at the address
//! returned: four bytes with its length (little-endian), four bytes of padding for alignment, and the reply. `lab_free`
//! frees both.

use std::cell::RefCell;

use wifair_lab::Lab;

thread_local! {
    static LAB: RefCell<Lab> = RefCell::default();
}

/// Bytes before a reply: its length and padding.
const HEAD: usize = 8;

/// Allocates `size` bytes, aligned to eight bytes.
#[unsafe(no_mangle)]
pub extern "C" fn lab_alloc(size: usize) -> *mut u8 {
    let words = vec![0_u64; size.div_ceil(8)].into_boxed_slice();
    Box::into_raw(words).cast()
}

/// Frees `size` bytes allocated by [`lab_alloc`].
///
/// # Safety
/// `at` must come from [`lab_alloc`] with the same size, and must not have been freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lab_free(at: *mut u8, size: usize) {
    // SAFETY: `lab_alloc` allocated a slice of this many words at `at`, and nothing else owns it.
    drop(unsafe { Box::from_raw(std::ptr::slice_from_raw_parts_mut(at.cast::<u64>(), size.div_ceil(8))) });
}

/// Answers the request of `size` bytes at `at`. The caller frees the reply with `lab_free(reply, 8 + its length)`.
///
/// # Safety
/// `at` must point to `size` readable bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lab_ask(at: *const u8, size: usize) -> *mut u8 {
    // SAFETY: guaranteed by the caller.
    let request = unsafe { std::slice::from_raw_parts(at, size) };
    let reply = LAB.with_borrow_mut(|lab| lab.ask(request));
    let start = lab_alloc(HEAD + reply.len());
    let length = u32::try_from(reply.len()).expect("a reply fits into the memory of a page");
    // SAFETY: `start` points to new memory with room for the length and the reply.
    unsafe {
        std::ptr::copy_nonoverlapping(length.to_le_bytes().as_ptr(), start, 4);
        std::ptr::copy_nonoverlapping(reply.as_ptr(), start.add(HEAD), reply.len());
    }
    start
}

//! An anonymous memory mapping for a very large message, returned to the system as soon as it is
//! dropped.
//!
//! Allocators keep freed memory for a while. With bodies of many megabytes, that would soon exceed
//! what is in use.

use std::{ffi::c_void, io, ptr, slice};

use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous, munmap};

/// Exclusively owned, zero-initialised bytes.
pub(super) struct Mapping {
    start: *mut c_void,
    length: usize,
}

// SAFETY: the bytes belong to this value alone, like those of a `Box<[u8]>`.
unsafe impl Send for Mapping {}
// SAFETY: as above; a shared reference only reads.
unsafe impl Sync for Mapping {}

impl Mapping {
    /// `length` must not be zero.
    pub(super) fn new(length: usize) -> io::Result<Self> {
        let (access, kind) = (ProtFlags::READ | ProtFlags::WRITE, MapFlags::PRIVATE);
        // SAFETY: without an address to be placed at, nothing that exists is replaced.
        let start = unsafe { mmap_anonymous(ptr::null_mut(), length, access, kind) }?;
        Ok(Self { start, length })
    }
}

impl AsRef<[u8]> for Mapping {
    fn as_ref(&self) -> &[u8] {
        // SAFETY: mapped for reading as long as `self` lives, and initialised by the system.
        unsafe { slice::from_raw_parts(self.start.cast(), self.length) }
    }
}

impl AsMut<[u8]> for Mapping {
    fn as_mut(&mut self) -> &mut [u8] {
        // SAFETY: as in `as_ref`, mapped for writing, and borrowed for as long as the result.
        unsafe { slice::from_raw_parts_mut(self.start.cast(), self.length) }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: it is what was mapped, and no reference to it outlives `self`.
        _ = unsafe { munmap(self.start, self.length) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_holds_what_was_written_and_no_more() {
        let mut mapping = Mapping::new(5000).expect("memory");

        mapping.as_mut()[4999] = 7;

        assert_eq!(mapping.as_ref().len(), 5000);
        assert_eq!(mapping.as_ref()[..4999], [0; 4999]);
        assert_eq!(mapping.as_ref()[4999], 7);
    }
}

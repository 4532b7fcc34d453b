//! Texts of any length in entries of limited size.

use std::sync::{Mutex, PoisonError};

use keyring_core::Result;

use super::entries::Entries;
use super::head::{Head, Slot, Split, Text};

/// How many bytes fit into an entry: 2,560 on Windows, 32,767 in the kernel of Linux.
const ENTRY_BYTES: usize = if cfg!(windows) { 2_560 } else { 32_000 };

/// The texts of one application. Long ones are split, but still replaced atomically.
#[derive(Clone, Debug)]
pub(super) struct Texts {
    entries: Entries,
    entry_bytes: usize,
}

impl Texts {
    pub(super) fn of(service: String) -> Self {
        Self {
            entries: Entries::of(service),
            entry_bytes: ENTRY_BYTES,
        }
    }

    pub(super) fn read(&self, key: &str) -> Result<Option<String>> {
        let mut torn = None;
        loop {
            let Some(bytes) = self.entries.read(key)? else {
                return Ok(None);
            };
            match Head::parse(&bytes) {
                None => return Ok(None),
                Some(Head::Whole(Text(text))) => return Ok(String::from_utf8(text.to_vec()).ok()),
                Some(Head::Split(split)) => {
                    if let Some(text) = self.join(key, &split)? {
                        return Ok(Some(text));
                    }
                    // Another process may have replaced it meanwhile; otherwise it is damaged.
                    if torn.as_ref() == Some(&split) {
                        return Ok(None);
                    }
                    torn = Some(split);
                }
            }
        }
    }

    fn join(&self, key: &str, split: &Split) -> Result<Option<String>> {
        let mut text = Vec::new();
        for number in 1..=split.count {
            match self.entries.read(&split.slot.part(key, number))? {
                Some(part) => text.extend(part),
                None => return Ok(None),
            }
        }
        let is_it = split.is_of(&text);
        Ok(is_it.then(|| String::from_utf8(text).ok()).flatten())
    }

    /// The header is written last: until then the old text is current.
    pub(super) fn write(&self, key: &str, text: &[u8]) -> Result<()> {
        let _alone = alone();
        let whole = Head::Whole(Text(text)).to_bytes();
        if whole.len() <= self.entry_bytes {
            self.entries.write(key, &whole)?;
            return self.remove_parts(key, &Slot::BOTH);
        }
        let slot = self.free_slot(key)?;
        // A longer write may have been interrupted here.
        self.remove_parts(key, &[slot])?;
        let parts = text.chunks(self.entry_bytes);
        let head = Head::Split(Split::of(text, slot, parts.len()));
        for (number, part) in (1..).zip(parts) {
            self.entries.write(&slot.part(key, number), part)?;
        }
        self.entries.write(key, &head.to_bytes())?;
        self.remove_parts(key, &[slot.other()])
    }

    fn free_slot(&self, key: &str) -> Result<Slot> {
        let bytes = self.entries.read(key)?.unwrap_or_default();
        Ok(match Head::parse(&bytes) {
            Some(Head::Split(split)) => split.slot.other(),
            _ => Slot::A,
        })
    }

    pub(super) fn remove(&self, key: &str) -> Result<()> {
        let _alone = alone();
        self.entries.remove(key)?;
        self.remove_parts(key, &Slot::BOTH)
    }

    /// From last to first, so that no part is left behind a gap.
    fn remove_parts(&self, key: &str, slots: &[Slot]) -> Result<()> {
        for slot in slots {
            let mut count = 0;
            while self.entries.read(&slot.part(key, count + 1))?.is_some() {
                count += 1;
            }
            for number in (1..=count).rev() {
                self.entries.remove(&slot.part(key, number))?;
            }
        }
        Ok(())
    }
}

/// Two concurrent writers could choose the same free slot.
fn alone() -> impl Drop {
    static WRITING: Mutex<()> = Mutex::new(());
    WRITING.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
pub(super) mod tests {
    use std::io::Write as _;

    use super::*;

    /// Texts under a name of their own, removed at the end. `None`, and a message about it, where
    /// the kernel keeps its keyring to itself, as it does in many containers.
    pub(in super::super) struct Scratch(pub(in super::super) String);

    impl Scratch {
        pub(in super::super) fn new(test: &str) -> Option<Self> {
            let service = format!("plinth-client-test-{test}-{}", std::process::id());
            match Entries::of(service.clone()).read(KEY) {
                Ok(_) => Some(Self(service)),
                Err(error @ keyring_core::Error::NoStorageAccess(_)) => {
                    // Past the test harness, which would swallow it.
                    let word = format!("SKIPPED {test}: this system denies its keyring: {error}");
                    _ = writeln!(std::io::stderr(), "{word}");
                    None
                }
                Err(error) => panic!("{error}"),
            }
        }

        /// Entries hold little, so that short texts are split.
        fn texts(&self) -> Texts {
            Texts {
                entry_bytes: SMALL,
                ..Texts::of(self.0.clone())
            }
        }

        fn entries(&self) -> Entries {
            Entries::of(self.0.clone())
        }

        /// How many parts there are in both places.
        fn parts(&self) -> [usize; 2] {
            let entries = self.entries();
            Slot::BOTH.map(|slot| {
                let numbers = 1..20;
                let is_there = |number: &usize| {
                    let part = entries.read(&slot.part(KEY, *number));
                    part.unwrap().is_some()
                };
                numbers.filter(is_there).count()
            })
        }
    }

    impl Drop for Scratch {
        fn drop(&mut self) {
            _ = self.texts().remove(KEY);
        }
    }

    const KEY: &str = "k";
    const SMALL: usize = 96;

    /// A text that starts with this letter and ends in the middle of an entry; characters lie across
    /// the edges.
    fn long(first: char, entries: usize) -> String {
        format!("{first}{}", "é".repeat(SMALL * entries / 2))
    }

    #[test]
    fn texts_of_every_length_come_back_and_leave_nothing_behind() {
        let Some(scratch) = Scratch::new("lengths") else {
            return;
        };
        let texts = scratch.texts();
        let edge = SMALL - Head::Whole(Text(b"")).to_bytes().len();
        let lengths = [0, 1, edge, edge + 1, 3 * SMALL + 1, 2 * SMALL, 3];
        for length in lengths {
            let text = "y".repeat(length);
            texts.write(KEY, text.as_bytes()).unwrap();

            assert_eq!(texts.read(KEY).unwrap(), Some(text));
            let parts = if length > edge {
                length.div_ceil(SMALL)
            } else {
                0
            };
            assert_eq!(scratch.parts().iter().sum::<usize>(), parts, "{length}");
        }
        texts.write(KEY, long('a', 2).as_bytes()).unwrap();
        assert_eq!(texts.read(KEY).unwrap(), Some(long('a', 2)));

        texts.remove(KEY).unwrap();

        assert_eq!(texts.read(KEY).unwrap(), None);
        assert_eq!(scratch.parts(), [0, 0]);
    }

    #[test]
    fn a_text_as_long_as_a_session_fits_into_the_entries_of_this_system() {
        let Some(scratch) = Scratch::new("session") else {
            return;
        };
        let texts = Texts::of(scratch.0.clone());
        let text = "z".repeat(6_000);

        texts.write(KEY, text.as_bytes()).unwrap();

        assert_eq!(texts.read(KEY).unwrap(), Some(text));
        assert_eq!(scratch.parts(), if cfg!(windows) { [3, 0] } else { [0, 0] });
    }

    #[test]
    fn a_write_that_was_cut_short_leaves_the_old_text() {
        let Some(scratch) = Scratch::new("cut-short") else {
            return;
        };
        let (texts, entries) = (scratch.texts(), scratch.entries());
        texts.write(KEY, long('a', 2).as_bytes()).unwrap();
        for number in 1..=4 {
            entries.write(&Slot::B.part(KEY, number), b"new").unwrap();
        }

        assert_eq!(texts.read(KEY).unwrap(), Some(long('a', 2)));

        texts.write(KEY, long('b', 2).as_bytes()).unwrap();
        assert_eq!(texts.read(KEY).unwrap(), Some(long('b', 2)));
        assert_eq!(scratch.parts()[0], 0);
    }

    #[test]
    fn parts_that_do_not_belong_together_are_no_text() {
        let Some(scratch) = Scratch::new("mixed") else {
            return;
        };
        let (texts, entries) = (scratch.texts(), scratch.entries());
        texts.write(KEY, long('a', 2).as_bytes()).unwrap();

        entries.write(&Slot::A.part(KEY, 2), b"other").unwrap();
        assert_eq!(texts.read(KEY).unwrap(), None);
        entries.remove(&Slot::A.part(KEY, 3)).unwrap();
        assert_eq!(texts.read(KEY).unwrap(), None);
        entries.write(KEY, b"somebody else's").unwrap();
        assert_eq!(texts.read(KEY).unwrap(), None);

        texts.write(KEY, b"new").unwrap();
        assert_eq!(texts.read(KEY).unwrap().as_deref(), Some("new"));
    }

    #[test]
    fn concurrent_readers_see_the_old_text_or_the_new_one() {
        let Some(scratch) = Scratch::new("together") else {
            return;
        };
        let text = |round: usize| format!("{round} {}", "y".repeat(SMALL * (round % 3)));
        // Few: removed keys count against the 200 of a user until the kernel has swept them up.
        let all: Vec<String> = (0..12).map(text).collect();
        scratch.texts().write(KEY, all[0].as_bytes()).unwrap();

        std::thread::scope(|scope| {
            let writers = [0, 1].map(|writer| {
                let (all, texts) = (&all, scratch.texts());
                scope.spawn(move || {
                    for text in all.iter().skip(writer).step_by(2) {
                        texts.write(KEY, text.as_bytes()).unwrap();
                    }
                })
            });
            while !writers.iter().all(|writer| writer.is_finished()) {
                let seen = scratch.texts().read(KEY).unwrap();
                assert!(seen.is_some_and(|seen| all.contains(&seen)));
            }
        });
    }
}

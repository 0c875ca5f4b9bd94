//! Channels that are carried from one side of a run to the other.

use std::collections::HashMap;

/// The open channels that one peer opened here and that were opened again towards the other, under numbers of our own.
#[derive(Debug, Default)]
pub struct Relay {
    theirs: HashMap<u32, u32>,
    ours: HashMap<u32, u32>,
    first: u32,
    next: u32,
    lowest: bool,
}

impl Relay {
    /// No channels; the first one that is opened gets the number `first`, and later ones the next number that is free,
    /// or the `lowest`.
    #[must_use]
    pub fn new(first: u32, lowest: bool) -> Self {
        Self {
            first,
            next: first,
            lowest,
            ..Self::default()
        }
    }

    /// Whether the opener has its channel `theirs` open.
    #[must_use]
    pub fn has(&self, theirs: u32) -> bool {
        self.theirs.contains_key(&theirs)
    }

    /// Carries the opener's channel `theirs` on: the number to open it under, which no open channel of ours has.
    pub fn open(&mut self, theirs: u32) -> u32 {
        if self.lowest {
            self.next = self.first;
        }
        while self.ours.contains_key(&self.next) {
            self.next = self.next.wrapping_add(1);
        }
        let ours = self.next;
        self.next = ours.wrapping_add(1);
        self.theirs.insert(theirs, ours);
        self.ours.insert(ours, theirs);
        ours
    }

    /// The opener's number of our channel `ours`, while that is open.
    #[must_use]
    pub fn opener_of(&self, ours: u32) -> Option<u32> {
        self.ours.get(&ours).copied()
    }

    /// Ends our channel `ours`, and gives the opener's number of it if it was open.
    pub fn finish(&mut self, ours: u32) -> Option<u32> {
        let theirs = self.ours.remove(&ours)?;
        self.theirs.remove(&theirs);
        Some(theirs)
    }

    /// The opener's numbers of all open channels.
    pub fn open_channels(&self) -> impl Iterator<Item = u32> {
        self.theirs.keys().copied()
    }
}

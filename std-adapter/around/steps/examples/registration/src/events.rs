// SPDX-License-Identifier: MIT OR Apache-2.0
//! The diaries of all processes, merged.

use std::io;
use std::path::Path;

/// A line of a diary.
pub(crate) struct Event {
    pub(crate) at_us: u64,
    pub(crate) process: u32,
    pub(crate) words: Vec<String>,
}

impl Event {
    /// The remaining words, if the line is about this event.
    pub(crate) fn is(&self, what: &str) -> Option<&[String]> {
        let (first, rest) = self.words.split_first()?;
        (first == what).then_some(rest)
    }
}

/// All diaries of a folder, merged in the order of time.
pub(crate) fn read(folder: &Path) -> io::Result<Vec<Event>> {
    let mut events = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path
            .extension()
            .is_some_and(|extension| extension == "diary")
        {
            let text = std::fs::read_to_string(path)?;
            // The last line may have been cut off.
            let whole = text.lines().filter_map(|line| line.strip_suffix(" ."));
            events.extend(whole.filter_map(event));
        }
    }
    events.sort_by_key(|event| event.at_us);
    Ok(events)
}

fn event(line: &str) -> Option<Event> {
    let mut words = line.split(' ').map(str::to_owned);
    Some(Event {
        at_us: words.next()?.parse().ok()?,
        process: words.next()?.parse().ok()?,
        words: words.collect(),
    })
}

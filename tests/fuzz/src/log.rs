// SPDX-License-Identifier: MIT OR Apache-2.0
//! A log of calls.

use atomic_breaker::{Failure, Outcome};
use atomic_breaker_tune::{LogReader, LoggedCall, ReadError};

use crate::calls::{Read, read as read_again};
use crate::lines::End;
use crate::text;

/// Everything that is read is what the lines say, and a line that is not understood is an error or counted as skipped.
pub(crate) fn read(bytes: &[u8]) {
    for (reader, one_key) in [
        (LogReader::new(), false),
        (LogReader::new().one_key(), true),
    ] {
        let said = text(bytes).map(|text| read_again(text, one_key));
        match reader.read(bytes) {
            Ok(read) => {
                let calls = read.log.calls();
                let is_in_order = calls.is_sorted_by_key(|call| call.start_us);
                assert!(is_in_order, "calls in the order in which they began");
                let summary = (read.summary.lines, read.summary.skipped);
                let calls = all(calls);
                if let Some(Ok(said)) = said {
                    assert_eq!(said, Some((calls.clone(), summary.0, summary.1)));
                }
                let mut stream = reader.stream(bytes).expect("a log");
                let streamed = all(&stream.by_ref().collect::<Vec<_>>());
                assert_eq!(streamed, calls, "the same, call by call");
                assert_eq!(stream.end().ok(), Some(read.summary));
            }
            Err(ReadError::Io(error)) => panic!("{error}: it is in memory"),
            Err(error) => {
                assert!(!error.to_string().is_empty());
                if let Some(Ok(said)) = said {
                    assert_eq!(said, None, "{error}");
                }
            }
        }
    }
}

/// In an order of their own, as calls that begin at once have none.
fn all(calls: &[LoggedCall]) -> Vec<Read> {
    let each = calls.iter().map(|call| {
        let completion = call.completion();
        let (took, end) = match completion.outcome {
            // As its neighbour would have.
            _ if call.was_rejected() => (0, (End::Rejected, 0)),
            Outcome::Success => (completion.duration_us, (End::Ok, 0)),
            Outcome::Ignored => (completion.duration_us, (End::Ignored, 0)),
            Outcome::Failure(failure) => {
                let asked = failure.min_open_time().unwrap_or_default();
                let plain = [Failure::new(), Failure::retry_after(asked)];
                assert!(plain.contains(&failure), "{failure:?}");
                (
                    completion.duration_us,
                    (End::Failed, asked.as_millis() as u32),
                )
            }
        };
        (call.start_us, call.key, took, end, call.is_retry())
    });
    let mut each: Vec<_> = each.collect();
    each.sort_unstable();
    each
}

// SPDX-License-Identifier: MIT OR Apache-2.0
//! Files that are no logs, or not meant to be.
#![expect(clippy::format_collect, reason = "files of a test")]

use atomic_breaker_tune::{LogFormat, LogReader};
use std::io::{self, BufReader, Read};

/// A line of ten gigabytes, after a call and before another.
struct Endless {
    left: u64,
    parts: [&'static [u8]; 2],
    place: usize,
}

impl Read for Endless {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.place == 1 && self.left > 0 {
            let most = usize::try_from(self.left)
                .unwrap_or(usize::MAX)
                .min(buffer.len());
            buffer[..most].fill(b'7');
            self.left -= most as u64;
            return Ok(most);
        }
        let Some(part) = self.parts.get(self.place) else {
            return Ok(0);
        };
        self.place += 1;
        buffer[..part.len()].copy_from_slice(part);
        Ok(part.len())
    }
}

#[test]
fn a_line_of_gigabytes_is_skipped_without_being_kept() {
    let endless = Endless {
        left: 2 << 30,
        parts: [b"start_ms,duration_ms,outcome\n0,1,ok\n", b"\n5,1,ok\n"],
        place: 0,
    };
    let read = LogReader::new()
        .read(BufReader::with_capacity(1 << 16, endless))
        .unwrap();
    assert_eq!(read.log.calls().len(), 2);
    assert_eq!(
        read.summary.first,
        [(3, "is longer than 16 MiB".to_owned())]
    );
}

#[test]
fn hostile_files_are_borne() {
    let deep = format!("{}{}", "{\"a\":".repeat(100_000), "}".repeat(100_000));
    let keys: String = (0..1_100_000)
        .map(|key| format!("{key},1,ok,{key}\n"))
        .collect();
    let keys = LogReader::new()
        .read(format!("start_ms,duration_ms,outcome,key\n{keys}").as_bytes())
        .unwrap();
    assert_eq!(keys.log.keys().len(), 1 << 20);
    assert_eq!(keys.summary.skipped, 1_100_000 - (1 << 20));
    let long = format!(
        "start_ms,duration_ms,outcome,key\n0,1,ok,{}\n1,1,ok,a\n",
        "k".repeat(2_000)
    );
    assert_eq!(
        LogReader::new()
            .read(long.as_bytes())
            .unwrap()
            .summary
            .skipped,
        1
    );
    for file in [
        deep.as_bytes(),
        b"\xff\xfe\x00",
        b"start_ms,duration_ms,outcome\n\xff,1,ok\n",
        b"start_ms,duration_ms,outcome\n\"0,1,ok\n",
        b"{\"start_ms\":0,\"duration_ms\":1,\"outcome\":\"ok\"}\n[1]\n\"x\"\n{]",
        b",,,\n,,,\n",
    ] {
        for format in [
            None,
            Some(LogFormat::Csv),
            Some(LogFormat::JsonLines),
            Some(LogFormat::Nginx),
            Some(LogFormat::Envoy),
            Some(LogFormat::Otlp),
        ] {
            let reading = format.map_or(LogReader::new(), |format| LogReader::new().format(format));
            let _ = reading.read(file);
        }
    }
}

#[test]
fn times_at_the_end_of_128_bits_are_skipped() {
    let most = "170141183460469231731687303715884105.999"; // i128::MAX nanoseconds, and a few more, in microseconds
    for line in [
        format!("{most},1,ok"),
        format!("-{most},1,ok"),
        format!("0,{most},ok"),
    ] {
        let file = format!("start_us,duration_us,outcome\n{line}\n5,1,ok\n");
        let read = LogReader::new().read(file.as_bytes()).unwrap();
        assert_eq!((read.summary.skipped, read.log.calls().len()), (1, 1));
    }
}

#[test]
fn a_time_that_nobody_has_set_does_not_make_the_others_unreadable() {
    // Of Go and .NET.
    let file = "time,duration_ms,outcome\n0001-01-01T00:00:00Z,1,ok\n2026-11-28T10:00:00Z,1,ok\n2026-11-28T10:00:01Z,1,ok\n";
    let read = LogReader::new().read(file.as_bytes()).unwrap();
    assert_eq!(read.log.calls().len(), 2, "{}", read.summary);
    assert_eq!(
        read.summary.first[0].1,
        "its start is \"0001-01-01T00:00:00Z\", which is before 1970"
    );
}

/// A valid log, with bytes changed, removed, doubled.
fn mutated(random: &mut fastrand::Rng) -> Vec<u8> {
    let logs: [&[u8]; 5] = [
        b"msec=1.5 request_time=0.5 upstream=a:1, b:2 status=502, 200 time=0.2, 0.3\nmsec=2 request_time=0 upstream=- status=- time=-\n",
        b"[2026-01-01T00:00:00Z] \"GET / HTTP/2\" 503 UF 0 91 30 - \"-\" \"c\" \"id\" \"a\" \"b:1\"\n",
        b"{\"resourceSpans\":[{\"scopeSpans\":[{\"spans\":[{\"kind\":3,\"startTimeUnixNano\":\"1\",\"endTimeUnixNano\":\"5\"}]}]}]}\n",
        b"start_ms,duration_ms,outcome,key,attempt,request,retry_after_ms\n0,1,ok,a,1,x,\n5,2.5,503,b,2,x,100\n9,,rejected,a,,,\n",
        b"{\"start_ms\":0,\"duration_ms\":1,\"outcome\":\"ok\",\"key\":\"a\"}\n{\"start_ms\":2,\"duration_ms\":1,\"outcome\":500}\n",
    ];
    let mut log = logs[random.usize(..5)].to_vec();
    for _ in 0..random.usize(..8) {
        if log.is_empty() {
            break;
        }
        let at = random.usize(..log.len());
        match random.u32(..5) {
            0 => log[at] = random.u8(..),
            1 => drop(log.remove(at)),
            2 => log.insert(at, log[random.usize(..log.len())]),
            3 => log.truncate(at.max(1)),
            _ => log.insert(at, b"-+.,:\"{}e9\n\r"[random.usize(..12)]),
        }
    }
    log
}

#[test]
fn no_file_makes_reading_panic_or_lose_a_line() {
    let seed =
        std::env::var("SEED").map_or_else(|_| fastrand::u64(..), |seed| seed.parse().unwrap());
    println!("SEED={seed}");
    let mut random = fastrand::Rng::with_seed(seed);
    for _ in 0..20_000 {
        let log = mutated(&mut random);
        if let Ok(read) = LogReader::new().read(&log[..]) {
            let found = read.log.calls().len() as u64;
            // A line of some formats has several calls, or none.
            assert!(found > 0 || read.summary.skipped <= read.summary.lines);
        }
        if let Ok(mut stream) = LogReader::new().stream(&log[..]) {
            let found = stream.by_ref().count() as u64;
            let whole = LogReader::new().read(&log[..]);
            let whole = whole.map_or(0, |read| read.log.calls().len() as u64);
            assert!(found >= whole);
            let _ = stream.end();
        }
    }
}

// SPDX-License-Identifier: MIT OR Apache-2.0
//! The file is a public format, which other languages read: docs/shared-file.md. A test that fails here has found another
//! format, which needs another version.

use std::fs;
use std::path::Path;
use std::time::Duration;

use atomic_breaker_mapped::{self as mapped, MappedBuilder, MappedSlab};
use atomic_breaker_mapped::{Config, ManualClock, MappedBreaker};
use atomic_breaker_std::Failure;

use super::support::{Dir, set_word, word};

const fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

/// Rules of a database, with most settings.
const DATABASE: Config = Config::new()
    .failures_within(20, ms(10_000))
    .slow_call(ms(2_000))
    .open_for(ms(1_000))
    .exponential_percent(150, ms(60_000))
    .jitter_percent(20)
    .max_retry_after(ms(120_000))
    .probes(3)
    .close_after(5)
    .probe_lease(ms(15_000))
    .cancel_limit(ms(100))
    .gradual_return(10, ms(30_000));

const LINEAR: Config = Config::new()
    .consecutive_failures(3)
    .linear(ms(5_000), ms(20_000))
    .seed(7);

const LASTING: Config = Config::new()
    .consecutive_failures(4)
    .lasting(ms(100))
    .exponential(2, ms(60_000))
    .gradual_return(10, ms(80_000));

const FINGERPRINTS: [(Config, u64); 4] = [
    (Config::new(), 0x7280_ACAD_56ED_7AA2),
    (DATABASE, 0xC707_3A83_0869_A26E),
    (LINEAR, 0x1BCF_1A26_F1D1_B4CD),
    (LASTING, 0xF07D_3B62_A0D5_B11B),
];

type Mapped<'a> = MappedBreaker<&'a ManualClock>;

/// As the page lists them.
const WORDS: [u64; 14] = [
    0x0000_0000_0000_0100,
    0x0000_00B9_8C00_0100,
    0x0000_00B9_8C00_0200,
    0x0080_00BD_7406_7105,
    0x0080_00BD_72C6_7185,
    0x0100_00BF_E500_8086,
    0x0200_00C2_5640_8087,
    0x0180_00BF_6800_0084,
    0x0180_00C3_4FE7_0F84,
    0x0080_0000_0000_0083,
    0x0080_0000_0000_0103,
    0x0100_0000_0000_0183,
    0x0100_0000_0000_0203,
    0x0100_0000_0000_0002,
];

/// The numbers of `/proc` that are the machine's.
fn boot() -> [u64; 2] {
    let text = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap();
    let digits = text.trim().replace('-', "");
    [&digits[..16], &digits[16..]].map(|half| u64::from_str_radix(half, 16).unwrap())
}

fn time_namespace() -> u64 {
    use std::os::unix::fs::MetadataExt;
    fs::metadata("/proc/self/ns/time").map_or(0, |found| found.ino())
}

fn bytes(words: impl IntoIterator<Item = u64>) -> Vec<u8> {
    words.into_iter().flat_map(u64::to_ne_bytes).collect()
}

fn page() -> String {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    fs::read_to_string(package.join("../docs/shared-file.md")).unwrap()
}

#[track_caller]
fn assert_on_page(number: u64) {
    assert!(
        page().contains(&format!("`0x{number:016X}`")),
        "{number:#018X} is not on the page"
    );
}

#[test]
fn the_file_of_a_single_breaker_is_byte_for_byte_that_of_the_page() {
    let dir = Dir::new();
    let path = dir.file("database");
    let breaker = mapped::open(&path, Config::new()).unwrap();
    breaker.acquire().unwrap().failure();
    let found = fs::read(&path).unwrap();
    let mut words = [0; 32];
    words[0] = 0x4174_6F6D_4272_6B72;
    words[1] = 2;
    words[2..4].copy_from_slice(&boot());
    words[6] = 1;
    words[7] = FINGERPRINTS[0].1;
    words[8] = time_namespace();
    words[9] = word(&path, 9);
    words[10] = word(&path, 10);
    words[24] = 1 << 7;
    assert_eq!(found, bytes(words));
    if cfg!(target_endian = "little") {
        assert_eq!(found[..16], *b"rkrBmotA\x02\0\0\0\0\0\0\0");
    }
    assert_ne!((words[9], words[10]), (0, 0), "a secret was drawn");
}

#[test]
fn files_have_the_length_of_the_page() {
    let dir = Dir::new();
    for (keys, bytes, length) in [
        (1, 1, 384),
        (4, 30, 768),
        (4, 42, 768),
        (4, 43, 1_280),
        (1_024, 98, 262_400),
        (2, 1_000, 5_120),
    ] {
        let path = dir.file(&format!("{keys}-{bytes}"));
        let builder = MappedSlab::builder(Config::new());
        let builder = builder.capacity(keys).max_key_bytes(bytes);
        drop(builder.open(&path).unwrap());
        assert_eq!(fs::metadata(&path).unwrap().len(), length);
    }
}

#[test]
fn fingerprints_are_those_of_the_page() {
    let dir = Dir::new();
    for (index, (rules, fingerprint)) in FINGERPRINTS.into_iter().enumerate() {
        let path = dir.file(&index.to_string());
        drop(mapped::open(&path, rules).unwrap());
        assert_eq!(
            format!("{:#018X}", word(&path, 7)),
            format!("{fingerprint:#018X}")
        );
        assert_on_page(fingerprint);
    }
}

/// Rules that do the same have one fingerprint, so that a language whose settings always have a value opens the files of one
/// whose settings may be left out.
#[test]
fn a_default_that_is_written_out_is_the_same_rules() {
    let written = Config::new()
        .consecutive_failures(5)
        .open_for(ms(5_000))
        .jitter_percent(0)
        .max_retry_after(ms(300_000))
        .probes(1)
        .close_after(1)
        .probe_lease(ms(30_000))
        .cancel_limit(ms(250));
    let dir = Dir::new();
    let path = dir.file("database");
    let one = mapped::open(&path, Config::new()).unwrap();
    let other = mapped::open(&path, written).unwrap();
    one.trip();
    assert_eq!(other.state(), mapped::State::Open);
}

#[test]
fn a_slot_is_byte_for_byte_that_of_the_page() {
    const TAG: u64 = 0x812D_1545_2F72_A04A;
    const KEY: [u64; 2] = [0x8770_6D61_7865_2E61, 0x8200_0000_0000_656C];
    let dir = Dir::new();
    let path = dir.file("hosts");
    let clock = ManualClock::starting_at(97_000);
    let builder = MappedSlab::builder(Config::new()).clock(&clock);
    let hosts = builder.capacity(4).max_key_bytes(30).open(&path).unwrap();
    set_word(&path, 9, 1);
    set_word(&path, 10, 2);
    hosts.breaker("a.example").unwrap().trip();
    let mut slots = [0; 8 * 8];
    slots[8..12].copy_from_slice(&[TAG, WORDS[3], KEY[0], KEY[1]]);
    assert_eq!(fs::read(&path).unwrap()[256..], bytes(slots));
    assert_eq!(
        [4, 5, 6, 16, 17].map(|at| word(&path, at)),
        [4, 30, 3, 1, 0]
    );
    for word in [TAG, KEY[0], KEY[1]] {
        assert_on_page(word);
    }
}

/// Each state by the shortest way, and the word on the page.
#[test]
fn words_in_every_state_are_those_of_the_page() {
    let clock = ManualClock::new();
    let after_play = |rules: Config, begun_ms: u32, play: &dyn Fn(&Mapped<'_>)| {
        let dir = Dir::new();
        let path = dir.file("word");
        clock.set_ms(begun_ms);
        let breaker = MappedBuilder::new(rules).clock(&clock).open(&path).unwrap();
        play(&breaker);
        word(&path, 24)
    };
    let fail = |breaker: &Mapped<'_>| {
        breaker.acquire().unwrap().failure();
    };
    let probe = |breaker: &Mapped<'_>| {
        let _ = breaker.acquire().unwrap().into_token();
    };
    let succeed = |breaker: &Mapped<'_>| {
        breaker.acquire().unwrap().success();
    };
    let after = |time| clock.advance(ms(time));
    let probes = Config::new().probes(2).close_after(3).probe_lease(ms(500));
    let window = Config::new().failures_within(9, ms(10_000));
    let back = Config::new().gradual_return(10, ms(4_000));
    let found = [
        after_play(Config::new(), 0, &|it| (0..2).for_each(|_| fail(it))),
        after_play(window, 95_000, &|it| {
            fail(it);
            after(1_000);
            fail(it);
        }),
        after_play(LASTING, 95_000, &|it| {
            fail(it);
            after(99);
            (0..5).for_each(|_| fail(it));
        }),
        after_play(Config::new(), 97_000, &|it| {
            it.trip();
        }),
        after_play(Config::new(), 97_000, &|it| {
            let failure = Failure::tripping_for(ms(5_001));
            it.acquire().unwrap().report(failure);
        }),
        after_play(probes, 93_000, &|it| {
            it.trip();
            after(5_000);
            succeed(it);
            after(250);
            probe(it);
        }),
        after_play(probes, 93_000, &|it| {
            it.trip();
            after(5_000);
            succeed(it);
            probe(it);
            probe(it);
            after(500);
            probe(it);
            after(1_000);
            probe(it);
        }),
        after_play(back, 93_000, &|it| {
            it.trip();
            after(5_000);
            succeed(it);
            after(4_000 - 1);
            fail(it);
        }),
        after_play(LASTING, 15_000, &|it| {
            it.trip();
            after(5_000);
            succeed(it);
            after(79_999);
            (0..4).for_each(|_| fail(it));
        }),
        after_play(Config::new(), 0, &|it| {
            it.force_open();
        }),
        after_play(Config::new(), 0, &|it| {
            it.disable();
        }),
        after_play(Config::new(), 0, &|it| {
            it.force_open();
            it.disable();
        }),
        after_play(Config::new(), 0, &|it| {
            it.disable();
            it.force_open();
        }),
        after_play(Config::new(), 0, &|it| {
            it.force_open();
            it.release();
        }),
    ];
    let [found_hex, hex] = [found, WORDS].map(|words| words.map(|word| format!("{word:#018X}")));
    assert_eq!(found_hex, hex);
    for word in WORDS {
        assert_on_page(word);
    }
}
